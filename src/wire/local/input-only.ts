import type { Api, ParsedRequest, PromptSink } from '../../domain/request.js';
import { NO_USAGE } from '../../domain/usage.js';
import { Fields } from '../json/fields.js';
import { isObject, listOf, parseBody, type Json, type JsonObject } from '../json/json.js';
import { PromptCollector } from '../prompt/collector.js';
import { Answer, idOf, nameOf, tokenCount } from '../stream/answer.js';
import { modelOf } from './model.js';
import { takePrompts } from './prompts.js';

/** Members of which one must be there: the same thing under the names of several servers. */
type Names = readonly string[];

/** What is ranked, and by what. */
export const RERANK: readonly Names[] = [['query'], ['documents', 'texts']];
/** What is compared with what: vLLM's names, the older ones first. */
export const SCORE: readonly Names[] = [['text_1', 'data_1', 'queries'], ['text_2', 'data_2', 'documents', 'items']];
/** What is embedded, classified or pooled: names of vLLM, llama.cpp, TEI and Cohere's API. */
export const EMBEDDING: readonly Names[] = [['input', 'content', 'inputs', 'texts', 'messages', 'images', 'prompt']];

/** Reads a body of an API that reads texts and writes none: one of each of `wanted` must be in it. Never throws. */
export function parseInputOnly(api: Api, wanted: readonly Names[], body: Buffer, sink?: PromptSink): ParsedRequest {
  const parsed = parseBody(body);
  if (!parsed.ok) return parsed;
  const fields = new Fields(parsed.value);
  const prompt = new PromptCollector(sink, parsed.texts);
  const model = modelOf(fields);
  for (const names of wanted) {
    const given = names.filter((name) => parsed.value[name] !== undefined && parsed.value[name] !== null);
    if (given.length === 0) fields.required(names[0]!);
    for (const name of given) takeTexts(name, parsed.value[name], prompt);
  }
  prompt.value('text', parsed.value['instruction']);
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  const facts = { api, model, stream: false, usageRequested: false, outputCapTokens: 0, choices: 1, prompt: prompt.content };
  return { ok: true, facts: { ...facts, session: null, work: null, background: false } };
}

/** Texts or token ids, messages, or objects that hold texts and pictures. */
function takeTexts(name: string, value: Json, prompt: PromptCollector): void {
  if (name === 'images') prompt.media('image', value);
  else if (name === 'messages') for (const message of listOf(value)) takeMessage(message, prompt);
  else if (isTexts(value)) takePrompts(value, prompt);
  else prompt.value('text', value);
}

function takeMessage(message: Json, prompt: PromptCollector): void {
  if (isObject(message)) prompt.message(message);
}

function isTexts(value: Json): boolean {
  return Array.isArray(value) ? value.every((item) => typeof item === 'string' || typeof item === 'number' || isNumbers(item)) : typeof value === 'string';
}

function isNumbers(value: Json): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'number');
}

/** What an answer without generated text tells: OpenAI's `usage`, or Cohere's `meta`; nothing at all with some servers. */
export class InputOnlyAnswer extends Answer {
  #input: number | null = null;

  get usage(): Answer['usage'] {
    return this.#input === null ? null : { ...NO_USAGE, inputTokens: this.#input };
  }

  take(part: JsonObject): void {
    this.responseId = idOf(part['id']) ?? this.responseId;
    this.model = nameOf(part['model']) ?? this.model;
    this.error(part['error']);
    const { usage, meta } = part;
    const told = isObject(usage) ? (tokenCount(usage['prompt_tokens']) ?? tokenCount(usage['total_tokens'])) : null;
    this.#input = told ?? (isObject(meta) ? inputOfMeta(meta) : null) ?? this.#input;
  }
}

function inputOfMeta({ tokens, billed_units: billed }: JsonObject): number | null {
  const read = isObject(tokens) ? tokenCount(tokens['input_tokens']) : null;
  return read ?? (isObject(billed) ? (tokenCount(billed['input_tokens']) ?? tokenCount(billed['total_tokens'])) : null);
}
