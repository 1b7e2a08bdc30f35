import type { ParsedRequest, PromptSink, RequestFacts } from '../../domain/request.js';
import type { Fields } from '../json/fields.js';
import { isObject, listOf, type Json } from '../json/json.js';
import type { PromptCollector } from '../prompt/collector.js';
import { messagesOf } from '../prompt/messages.js';
import { readBody, takePrompts } from './body.js';

/** Nothing is generated, whatever the number of inputs. */
const NO_OUTPUT: Pick<RequestFacts, 'outputCapTokens' | 'choices'> = { outputCapTokens: 0, choices: 1 };

/** Names under which servers take what is to be embedded: OpenAI's, and llama.cpp's. */
const INPUTS = ['input', 'content'];

/** Reads a body of `POST /v1/embeddings`. `model`: named by the path. Never throws. */
export function parseEmbeddingsRequest(body: Buffer, model: string | null = null, sink?: PromptSink): ParsedRequest {
  return readBody(body, { api: 'openai-embeddings', named: model, sink }, (fields, prompt) => {
    const { messages } = fields.body;
    if (messages !== undefined && messages !== null) for (const message of messagesOf(fields, 'messages')) prompt.message(message);
    // Where both are there it is the server's to say which counts: so both do.
    const name = INPUTS.find((field) => fields.body[field] !== undefined && fields.body[field] !== null);
    if (name !== undefined || messages === undefined || messages === null) takeInput(fields, name ?? 'input', prompt);
    return NO_OUTPUT;
  });
}

function takeInput(fields: Fields, name: string, prompt: PromptCollector): void {
  const value = fields.required(name);
  if (value === undefined || takePrompts(value, prompt) !== null || takeBlocks(value, prompt)) return;
  fields.fail('wrong_type', name, `The field \`${name}\` must be a string, a list of strings, or a list of token ids.`);
}

/** Servers of models that see pictures take blocks of content, or one of them. */
function takeBlocks(value: Json, prompt: PromptCollector): boolean {
  const blocks = isObject(value) ? [value] : listOf(value);
  if (blocks.length === 0 || !blocks.every(isObject)) return false;
  for (const block of blocks) prompt.value('content', block);
  return true;
}
