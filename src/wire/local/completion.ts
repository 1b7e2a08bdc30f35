import type { ParsedRequest, PromptSink } from '../../domain/request.js';
import { Fields } from '../json/fields.js';
import { parseBody } from '../json/json.js';
import { PromptCollector } from '../prompt/collector.js';
import { labelsOf } from '../prompt/labels.js';
import { largestCap, MAX_CHOICES } from './caps.js';
import { modelOf } from './model.js';
import { takePrompts } from './prompts.js';

/** Adds what is in the body; returns the number of prompts. */
type Take = (fields: Fields, prompt: PromptCollector) => number;

/** Reads a body of llama.cpp's `POST /completion`. Never throws. */
export function parseCompletion(body: Buffer, sink?: PromptSink): ParsedRequest {
  return parse(body, sink, (fields, prompt) => {
    const value = fields.required('prompt');
    const prompts = value === undefined ? 1 : takePrompts(value, prompt);
    if (prompts === null) fields.fail('wrong_type', 'prompt', 'The field `prompt` must be a string, a list of token ids and strings, or a list of those.');
    return prompts ?? 1;
  });
}

/** Reads a body of llama.cpp's `POST /infill`: text around a gap, and what other files hold. Never throws. */
export function parseInfill(body: Buffer, sink?: PromptSink): ParsedRequest {
  return parse(body, sink, (fields, prompt) => {
    prompt.value('text', fields.body['input_extra']);
    for (const field of ['input_prefix', 'input_suffix', 'prompt']) {
      const value = fields.body[field] ?? undefined;
      if (value !== undefined && takePrompts(value, prompt) === null) fields.fail('wrong_type', field, `The field \`${field}\` must be a string or a list of token ids.`);
    }
    return 1;
  });
}

function parse(body: Buffer, sink: PromptSink | undefined, take: Take): ParsedRequest {
  const parsed = parseBody(body);
  if (!parsed.ok) return parsed;
  const fields = new Fields(parsed.value);
  const prompt = new PromptCollector(sink, parsed.texts);
  const { n_predict, max_tokens, max_completion_tokens, json_schema } = parsed.value;
  const model = modelOf(fields);
  const stream = fields.flag('stream');
  const outputCapTokens = largestCap(fields, { n_predict, max_tokens, max_completion_tokens });
  const choices = Math.max(1, ...['n', 'n_cmpl'].map((field) => fields.count(field, 0, MAX_CHOICES) ?? 1));
  const prompts = take(fields, prompt);
  prompt.schema(json_schema);
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  const facts = { api: 'llamacpp-completion', model, stream, usageRequested: false, outputCapTokens, choices: choices * prompts, prompt: prompt.content } as const;
  return { ok: true, facts: { ...facts, ...labelsOf(parsed.value), background: false } };
}
