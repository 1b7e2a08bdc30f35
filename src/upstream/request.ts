import { countTokens, seedOf } from './tokens.js';

/** A request for an answer, as the engine needs it. */
export interface GenerationRequest {
  readonly api: 'chat' | 'completions';
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly choices: number;
  /** Cap of one choice; null without one. */
  readonly maxTokens: number | null;
  readonly promptTokens: number;
  readonly seed: number;
}

/** What is wrong with a request, as OpenAI says it. */
export interface RequestError {
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
}

type Json = Record<string, unknown>;

/** Reads a request's JSON body; as strict as real servers in what concerns token counts. */
export function readRequest(api: 'chat' | 'completions', json: unknown): GenerationRequest | RequestError {
  if (!isObject(json)) return bad('the body is not a JSON object', null);
  if (typeof json['model'] !== 'string' || json['model'] === '') return bad('you must provide a model parameter', 'model');
  const prompt = api === 'chat' ? chatPrompt(json) : completionPrompt(json['prompt']);
  if (prompt === null) return bad(api === 'chat' ? 'messages must be a list of messages' : 'prompt must be text', api === 'chat' ? 'messages' : 'prompt');
  const stream = json['stream'] === true;
  const options = json['stream_options'];
  if (isObject(options) && !stream) return bad('stream_options is only allowed when stream is true', 'stream_options');
  const maxTokens = json['max_completion_tokens'] ?? json['max_tokens'] ?? null;
  if (maxTokens !== null && !isWhole(maxTokens, 1)) return bad('max_tokens must be a whole number of at least 1', 'max_tokens');
  const choices = json['n'] ?? 1;
  if (!isWhole(choices, 1) || choices > 128) return bad('n must be 1 to 128', 'n');
  return {
    api,
    model: json['model'],
    stream,
    includeUsage: isObject(options) && options['include_usage'] === true,
    choices,
    maxTokens,
    promptTokens: prompt.tokens,
    seed: seedOf(prompt.text),
  };
}

export function isRequestError(value: GenerationRequest | RequestError): value is RequestError {
  return 'status' in value;
}

interface Prompt {
  readonly tokens: number;
  /** The last text in it. */
  readonly text: string;
}

/** Four tokens for each message beside its text, three for the answer's start; tools count as their JSON. */
function chatPrompt(json: Json): Prompt | null {
  const messages = json['messages'];
  if (!Array.isArray(messages) || messages.length === 0) return null;
  let tokens = 3 + (json['tools'] === undefined ? 0 : countTokens(JSON.stringify(json['tools'])));
  let text = '';
  for (const message of messages as unknown[]) {
    if (!isObject(message)) return null;
    const texts = textsOf(message['content']);
    tokens += 4 + texts.reduce((sum, part) => sum + countTokens(part), 0);
    text = texts.at(-1) ?? text;
  }
  return { tokens, text };
}

function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return (content as unknown[]).flatMap((part) => (isObject(part) && typeof part['text'] === 'string' ? [part['text']] : []));
}

/** Text, several texts, or token ids. */
function completionPrompt(prompt: unknown): Prompt | null {
  if (typeof prompt === 'string') return { tokens: countTokens(prompt), text: prompt };
  if (!Array.isArray(prompt) || prompt.length === 0) return null;
  const parts = (prompt as unknown[]).map((part) => (typeof part === 'number' ? { tokens: 1, text: '' } : completionPrompt(part)));
  if (parts.some((part) => part === null)) return null;
  return { tokens: parts.reduce((sum, part) => sum + (part?.tokens ?? 0), 0), text: parts.at(-1)?.text ?? '' };
}

function bad(message: string, param: string | null): RequestError {
  return { status: 400, message, param };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isWhole(value: unknown, atLeast: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= atLeast;
}
