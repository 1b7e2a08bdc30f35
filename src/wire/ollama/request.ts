import type { Api, ParsedRequest, PromptSink } from '../../domain/request.js';
import { Fields, MAX_COUNT } from '../json/fields.js';
import { isObject, parseBody, type Json } from '../json/json.js';
import { PromptCollector } from '../prompt/collector.js';
import { messagesOf } from '../prompt/messages.js';
import { refuseSecondMeanings } from '../second-meanings.js';

type Take = (fields: Fields, prompt: PromptCollector) => void;

/** Reads a body of `POST /api/chat`. Without messages it only loads the model, or unloads it. Never throws. */
export function parseChat(body: Buffer, sink?: PromptSink): ParsedRequest {
  return parse('ollama-chat', body, sink, (fields, prompt) => {
    const { tools, messages } = fields.body;
    if (Array.isArray(tools)) prompt.tools(tools);
    if (messages !== undefined && messages !== null) for (const message of messagesOf(fields, 'messages')) prompt.message(message);
  });
}

/** Reads a body of `POST /api/generate`. Without a prompt it only loads the model, or unloads it. Never throws. */
export function parseGenerate(body: Buffer, sink?: PromptSink): ParsedRequest {
  return parse('ollama-generate', body, sink, (fields, prompt) => {
    const { context } = fields.body;
    prompt.value('text', textOf(fields, 'template'));
    prompt.system({ text: textOf(fields, 'system') });
    // The conversation so far, by the numbers of its tokens.
    if (context !== undefined && context !== null && !prompt.tokenPrompt(context)) fields.fail('wrong_type', 'context', 'The field `context` must be a list of numbers.');
    prompt.media('image', fields.body['images']);
    for (const field of ['prompt', 'suffix']) prompt.value('text', textOf(fields, field));
  });
}

/** Reads a body of `POST /api/embed` or `/api/embeddings`, the older one. Never throws. */
export function parseEmbed(body: Buffer, sink?: PromptSink): ParsedRequest {
  return parse('ollama-embed', body, sink, (fields, prompt) => {
    const { input } = fields.body;
    prompt.value('text', textOf(fields, 'prompt'));
    if (input === undefined || input === null) return;
    const texts = Array.isArray(input) ? input : [input];
    if (!texts.every((text) => typeof text === 'string')) fields.fail('wrong_type', 'input', 'The field `input` must be a string or a list of strings.');
    else for (const text of texts) prompt.value('text', text);
  });
}

function parse(api: Api, body: Buffer, sink: PromptSink | undefined, take: Take): ParsedRequest {
  const parsed = parseBody(body);
  if (!parsed.ok) return parsed;
  const fields = new Fields(parsed.value);
  const prompt = new PromptCollector(sink, parsed.texts);
  const model = fields.model();
  const embeds = api === 'ollama-embed';
  const outputCapTokens = embeds ? 0 : outputCap(fields);
  const stream = !embeds && streams(fields);
  refuseSecondMeanings(fields);
  take(fields, prompt);
  if (isObject(fields.body['format'])) prompt.schema(fields.body['format']);
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  return { ok: true, facts: { api, model, stream, usageRequested: false, outputCapTokens, choices: 1, prompt: prompt.content, session: null, work: null, background: false } };
}

/** Ollama streams unless it is told not to. */
function streams(fields: Fields): boolean {
  const { stream } = fields.body;
  return stream === undefined || stream === null || fields.flag('stream');
}

/** `options.num_predict`; null where it is no cap: absent, zero, or negative (without an end). */
function outputCap(fields: Fields): number | null {
  const cap = fields.object('options')?.['num_predict'];
  if (cap === undefined || cap === null) return null;
  if (typeof cap !== 'number') {
    fields.fail('wrong_type', 'options.num_predict', 'The field `options.num_predict` must be a number.');
    return null;
  }
  // Ollama cuts off what follows the point.
  return cap < 1 ? null : Math.min(MAX_COUNT, Math.trunc(cap));
}

function textOf(fields: Fields, field: string): Json {
  const value = fields.body[field];
  if (value !== undefined && value !== null && typeof value !== 'string') fields.fail('wrong_type', field, `The field \`${field}\` must be a string.`);
  return value;
}
