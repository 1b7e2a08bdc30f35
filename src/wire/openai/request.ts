import type { Api, ParsedRequest, PromptSink } from '../../domain/request.js';
import { Fields, MAX_COUNT } from '../json/fields.js';
import { isObject, listOf, parseObject, type Json } from '../json/json.js';
import { labelsOf } from '../prompt/labels.js';
import { PromptCollector } from '../prompt/collector.js';

/** Most answers one request may ask for (`n`, `best_of`); servers take far fewer. */
const MAX_CHOICES = 4096;

/** Reads a body of `POST /v1/chat/completions`. `model`: named by the path. Never throws. */
export function parseChatRequest(body: Buffer, model: string | null = null, sink?: PromptSink): ParsedRequest {
  return parseRequest('openai-chat', body, model, sink, (fields, prompt) => {
    const messages = fields.required('messages');
    if (messages !== undefined && !Array.isArray(messages)) fields.fail('wrong_type', 'messages', 'The field `messages` must be a list.');
    const strange = listOf(messages).findIndex((message) => !isObject(message));
    if (strange >= 0) fields.fail('wrong_type', `messages[${strange}]`, `The field \`messages[${strange}]\` must be an object.`);
    if (fields.fault !== null) return 1;
    for (const message of listOf(messages)) if (isObject(message)) prompt.message(message);
    prompt.tools(fields.body['tools']);
    prompt.tools(fields.body['functions']);
    // What vLLM lets a request bring besides its messages; it ends up in the prompt.
    prompt.value('documents', fields.body['documents']);
    prompt.value('chat_template', fields.body['chat_template']);
    return 1;
  });
}

/** Reads a body of `POST /v1/completions`. `model`: named by the path. Never throws. */
export function parseCompletionsRequest(body: Buffer, model: string | null = null, sink?: PromptSink): ParsedRequest {
  return parseRequest('openai-completions', body, model, sink, (fields, prompt) => {
    prompt.value('suffix', fields.body['suffix']);
    const value = fields.required('prompt');
    if (value === undefined) return 1;
    const prompts = takePrompt(value, prompt);
    if (prompts === null) fields.fail('wrong_type', 'prompt', 'The field `prompt` must be a string, a list of strings, or a list of token ids.');
    return prompts ?? 1;
  });
}

/** `take` collects the prompt and returns how many prompts there are. */
function parseRequest(
  api: Api,
  body: Buffer,
  named: string | null,
  sink: PromptSink | undefined,
  take: (fields: Fields, prompt: PromptCollector) => number,
): ParsedRequest {
  const parsed = parseObject(body);
  if (!parsed.ok) return parsed;
  const fields = new Fields(named === null ? parsed.value : { ...parsed.value, model: named });
  const prompt = new PromptCollector(sink);
  const model = fields.model();
  const outputCapTokens = outputCap(fields, api);
  const choices = Math.max(1, fields.count('n', 1, MAX_CHOICES) ?? 1, fields.count('best_of', 1, MAX_CHOICES) ?? 1);
  const stream = fields.flag('stream');
  const options = fields.object('stream_options');
  const includeUsage = options !== null && fields.flag('include_usage', options, 'stream_options.include_usage');
  const prompts = take(fields, prompt);
  prompt.schema(responseSchema(fields.body['response_format']));
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  const usageRequested = stream && includeUsage;
  return { ok: true, facts: { api, model, stream, usageRequested, outputCapTokens, choices: choices * prompts, prompt: prompt.content, ...labelsOf(fields.body), background: false } };
}

/**
 * The largest cap in the body. A chat cap of zero is none: servers either refuse it or take it for "no limit"; for
 * completions it is a true zero (scoring a prompt).
 */
function outputCap(fields: Fields, api: Api): number | null {
  const caps = ['max_tokens', 'max_completion_tokens'].map((field) => fields.count(field, 0, MAX_COUNT)).filter((cap) => cap !== null);
  const cap = caps.length > 0 ? Math.max(...caps) : null;
  return cap === 0 && api === 'openai-chat' ? null : cap;
}

/** Adds a `prompt` of any of its forms; returns the number of prompts, null where it has none of those forms. */
function takePrompt(value: Json, prompt: PromptCollector): number | null {
  if (typeof value === 'string') {
    prompt.text(value);
    return 1;
  }
  if (!Array.isArray(value)) return null;
  if (typeof value[0] === 'number') return takeTokenIds(value, prompt) ? 1 : null;
  const taken = value.every((item) => {
    if (typeof item === 'string') prompt.text(item);
    return typeof item === 'string' || takeTokenIds(item, prompt);
  });
  return taken ? Math.max(1, value.length) : null;
}

function takeTokenIds(value: Json, prompt: PromptCollector): boolean {
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'number')) return false;
  prompt.tokens(value.length);
  return true;
}

/** The schema an answer must follow, which is shown to the model; the plain word `json_object` is not one. */
function responseSchema(format: Json): Json {
  return isObject(format) ? format['json_schema'] : undefined;
}
