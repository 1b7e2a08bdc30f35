import type { ParsedRequest, PromptSink } from '../../domain/request.js';
import { MAX_COUNT, MAX_MODEL_LENGTH, type Fields } from '../json/fields.js';
import { isObject, type Json, type JsonObject } from '../json/json.js';
import { isMarker } from '../json/texts.js';
import type { PromptCollector } from '../prompt/collector.js';
import { messagesOf } from '../prompt/messages.js';
import { readBody } from './body.js';

/** Before the id of a stored prompt where the request names no model of its own: such requests are limited and learned of under that name. */
const STORED_PROMPT = 'prompt:';

/** Reads a body of `POST /v1/responses` or `/v1/responses/compact`. `model`: named by the path. Never throws. */
export function parseResponsesRequest(body: Buffer, model: string | null = null, sink?: PromptSink): ParsedRequest {
  return readBody(body, { api: 'openai-responses', named: model ?? storedPrompt, sink }, (fields, prompt) => {
    const cap = fields.count('max_output_tokens', 0, MAX_COUNT);
    const stream = fields.flag('stream');
    const background = fields.flag('background');
    takePrompt(fields, prompt);
    // A cap of zero is none: servers refuse it.
    return { outputCapTokens: cap === 0 ? null : cap, choices: 1, stream, background };
  });
}

/** A request may leave the model to the stored prompt that it names. Null where it does not. */
function storedPrompt({ model, prompt }: JsonObject): string | null {
  if ((model !== undefined && model !== null) || !isObject(prompt)) return null;
  const { id } = prompt;
  return typeof id === 'string' && id !== '' && !isMarker(id) && id.length <= MAX_MODEL_LENGTH - STORED_PROMPT.length ? STORED_PROMPT + id : null;
}

/** In the order in which the model sees it. */
function takePrompt(fields: Fields, prompt: PromptCollector): void {
  const { body } = fields;
  prompt.tools(body['tools']);
  prompt.schema(schemaOf(body['text']));
  prompt.system(body['instructions']);
  takeReferences(body, prompt);
  if (isObject(body['prompt'])) takeStored(body['prompt'], prompt);
  const { input } = body;
  // Nothing new to say is fine where the request goes on from a response or a stored prompt; else the upstream refuses it.
  if (input === undefined || input === null) return;
  if (typeof input === 'string') prompt.message({ role: 'user', content: input });
  else if (Array.isArray(input)) takeItems(messagesOf(fields, 'input'), prompt);
  else fields.fail('wrong_type', 'input', 'The field `input` must be a string or a list.');
}

/** The text of a stored prompt is not in the body, only what is put into it. */
function takeStored({ id, variables }: JsonObject, prompt: PromptCollector): void {
  prompt.reference('file', id);
  prompt.value('variables', variables);
}

/** Of items that the server keeps only the last is named: all of them are of one conversation, and are remembered as one. */
function takeItems(items: readonly JsonObject[], prompt: PromptCollector): void {
  for (const item of items) if (!isReference(item)) takeItem(item, prompt);
  prompt.reference('response', items.filter(isReference).at(-1)?.['id']);
}

/** One item of the conversation: a message, a call with what came of it, or reasoning. */
function takeItem(item: JsonObject, prompt: PromptCollector): void {
  const { type, tools, result } = item;
  if (Array.isArray(tools)) prompt.tools(tools);
  // The picture that a call made stands under a name that is text elsewhere.
  else if (type === 'image_generation_call') prompt.message({ ...item, result: undefined, data: result });
  else prompt.message(item);
}

function isReference({ type, id, role }: JsonObject): boolean {
  return type === 'item_reference' || ((type === undefined || type === null) && role === undefined && typeof id === 'string');
}

/** The schema that the answer must follow. */
function schemaOf(text: Json): Json {
  const format = isObject(text) ? text['format'] : null;
  return isObject(format) && format['type'] === 'json_schema' ? format : undefined;
}

function takeReferences({ previous_response_id: previous, conversation }: JsonObject, prompt: PromptCollector): void {
  prompt.reference('response', previous);
  prompt.reference('conversation', isObject(conversation) ? conversation['id'] : conversation);
}
