import type { Api, ParsedRequest, PromptSink } from '../../domain/request.js';
import { MAX_COUNT, type Fields } from '../json/fields.js';
import { isObject, type Json } from '../json/json.js';
import { messagesOf } from '../prompt/messages.js';
import { readBody, takePrompts, type Told } from './body.js';

/** Most answers one request may ask for (`n`, `best_of`); servers take far fewer. */
const MAX_CHOICES = 4096;

/** Reads a body of `POST /v1/chat/completions`. `model`: named by the path. Never throws. */
export function parseChatRequest(body: Buffer, model: string | null = null, sink?: PromptSink): ParsedRequest {
  return readBody(body, { api: 'openai-chat', named: model, sink }, (fields, prompt) => {
    const told = generation(fields, 'openai-chat');
    prompt.tools(fields.body['tools']);
    prompt.tools(fields.body['functions']);
    prompt.schema(responseSchema(fields.body['response_format']));
    // What vLLM lets a request bring besides its messages; it ends up in the prompt.
    prompt.value('documents', fields.body['documents']);
    for (const name of ['chat_template', 'chat_template_kwargs']) prompt.value(name, fields.body[name]);
    for (const message of messagesOf(fields, 'messages')) prompt.message(message);
    return told;
  });
}

/** Reads a body of `POST /v1/completions`. `model`: named by the path. Never throws. */
export function parseCompletionsRequest(body: Buffer, model: string | null = null, sink?: PromptSink): ParsedRequest {
  return readBody(body, { api: 'openai-completions', named: model, sink }, (fields, prompt) => {
    const told = generation(fields, 'openai-completions');
    prompt.schema(responseSchema(fields.body['response_format']));
    prompt.value('suffix', fields.body['suffix']);
    // vLLM takes a prompt as a tensor too, with a text or without one: it counts as a file.
    const { prompt_embeds: tensors } = fields.body;
    prompt.media('file', tensors);
    const given = fields.body['prompt'] ?? undefined;
    if (given === undefined && tensors !== undefined && tensors !== null) return told;
    const value = fields.required('prompt');
    if (value === undefined) return told;
    const prompts = takePrompts(value, prompt);
    if (prompts === null) fields.fail('wrong_type', 'prompt', 'The field `prompt` must be a string, a list of strings, or a list of token ids.');
    return { ...told, choices: told.choices * (prompts ?? 1) };
  });
}

/** What both APIs say of the answer. */
function generation(fields: Fields, api: Api): Told {
  const outputCapTokens = outputCap(fields, api);
  const choices = Math.max(1, fields.count('n', 1, MAX_CHOICES) ?? 1, fields.count('best_of', 1, MAX_CHOICES) ?? 1);
  const stream = fields.flag('stream');
  const options = fields.object('stream_options');
  const includeUsage = options !== null && fields.flag('include_usage', options, 'stream_options.include_usage');
  return { outputCapTokens, choices, stream, usageRequested: stream && includeUsage };
}

/**
 * The largest cap in the body. A chat cap of zero is none: servers either refuse it or take it for "no limit"; for
 * completions it is a true zero (scoring a prompt).
 */
function outputCap(fields: Fields, api: Api): number | null {
  const caps = ['max_tokens', 'max_completion_tokens'].map((field) => fields.count(field, 0, MAX_COUNT)).filter((cap) => cap !== null);
  const cap = caps.length > 0 ? Math.max(...caps) : null;
  return raised(cap === 0 && api === 'openai-chat' ? null : cap, fields.body['n_predict']);
}

/**
 * llama.cpp's own cap goes before the others there, and below zero it is none; other servers pass over it. So it may raise a
 * cap and never sets one: a small one beside no other must not make a request look small to a server that does not know it.
 */
function raised(cap: number | null, predict: Json): number | null {
  if (cap === null || typeof predict !== 'number') return cap;
  return predict < 0 ? null : Math.max(cap, Math.min(MAX_COUNT, Math.floor(predict)));
}

/** The schema an answer must follow, which is shown to the model; the plain word `json_object` is not one. */
function responseSchema(format: Json): Json {
  return isObject(format) ? format['json_schema'] : undefined;
}
