import type { ParsedRequest, PromptSink } from '../../domain/request.js';
import { fallbackModels } from '../fallbacks.js';
import { Fields, MAX_COUNT } from '../json/fields.js';
import { isObject, parseBody, type Json, type JsonObject } from '../json/json.js';
import { PromptCollector } from '../prompt/collector.js';
import { labelsOf } from '../prompt/labels.js';
import { messagesOf } from '../prompt/messages.js';
import { refuseSecondMeanings } from '../second-meanings.js';

/** What the path tells of a request, where the API is served by another provider; null: the body tells. */
export interface InPath {
  readonly model: string | null;
  readonly stream: boolean | null;
}

const NOTHING_IN_PATH: InPath = { model: null, stream: null };

/**
 * Reads a body of `POST /v1/messages`. Never throws. A missing `max_tokens` is the upstream's to refuse; a budget for thinking
 * is within it.
 */
export function parseMessagesRequest(bytes: Buffer, inPath: InPath = NOTHING_IN_PATH, sink?: PromptSink): ParsedRequest {
  const parsed = parseBody(bytes);
  if (!parsed.ok) return parsed;
  const body = inPath.model === null ? parsed.value : { ...parsed.value, model: inPath.model };
  const fields = new Fields(body);
  const prompt = new PromptCollector(sink, parsed.texts);
  const model = fields.model();
  const stream = inPath.stream ?? fields.flag('stream');
  // Zero is a true zero: it fills the cache and generates nothing.
  const outputCapTokens = fields.count('max_tokens', 0, MAX_COUNT);
  prompt.tools(body['tools']);
  prompt.schema(schemaOf(body));
  prompt.system(body['system']);
  for (const message of messagesOf(fields, 'messages')) prompt.message(withoutSealed(message));
  takeReferences(body, prompt);
  refuseSecondMeanings(fields);
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  const labels = labelsOf(body, ['session_id', 'user_id']);
  return { ok: true, facts: { api: 'anthropic-messages', model, stream, usageRequested: false, outputCapTokens, choices: 1, prompt: prompt.content, ...labels, background: false, reasoning: switchesReasoningOn(body['thinking']), otherModels: fallbackModels(body) } };
}

/** Claude gets instructions for reasoning where it is switched on by a budget. */
export function switchesReasoningOn(thinking: Json): boolean {
  return isObject(thinking) && thinking['type'] === 'enabled';
}

/** The schema that the answer must follow, under its present name or the one before. */
function schemaOf(body: JsonObject): Json {
  const { output_config: config, output_format: format } = body;
  const present = isObject(config) ? config['format'] : null;
  for (const one of [present, format]) if (isObject(one)) return one['schema'];
  return undefined;
}

/** A container keeps files, and a thread goes on from a message of before. */
function takeReferences({ container, thread }: JsonObject, prompt: PromptCollector): void {
  prompt.reference('file', isObject(container) ? container['id'] : container);
  if (isObject(thread)) prompt.reference('response', thread['previous_message_id']);
}

/** Sealed thinking is no text, and says nothing of its length in tokens. */
function withoutSealed(message: JsonObject): JsonObject {
  const { content } = message;
  if (!Array.isArray(content) || !content.some(isSealed)) return message;
  return { ...message, content: content.filter((block) => !isSealed(block)) };
}

function isSealed(block: Json): boolean {
  return isObject(block) && block['type'] === 'redacted_thinking';
}
