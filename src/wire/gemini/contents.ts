import { MAX_REFERENCE_LENGTH } from '../../domain/request.js';
import { isObject, type Json, type JsonObject } from '../json/json.js';
import type { PromptCollector } from '../prompt/collector.js';
import { member } from './proto.js';

/** Kinds of parts that the collector does not know as they are. */
const REWRITTEN = new Set(['inlineData', 'inline_data', 'fileData', 'file_data', 'functionResponse', 'function_response', 'toolResponse', 'tool_response']);

/** Adds one turn of the conversation, or whatever the client sent in its place. */
export function takeContent(content: Json, prompt: PromptCollector): void {
  if (isObject(content)) prompt.message({ role: content['role'], parts: partsOf(content['parts'], prompt) });
  else prompt.value('text', content);
}

/** What stands in a `Content` that is no turn: of the system, or to be embedded. Texts and lists of parts are taken as well. */
export function shownContent(content: Json, prompt: PromptCollector): Json {
  if (Array.isArray(content)) return content.map((item) => shownContent(item, prompt));
  if (!isObject(content)) return { text: content };
  return content['parts'] === undefined ? shownPart(content, prompt) : partsOf(content['parts'], prompt);
}

function partsOf(parts: Json, prompt: PromptCollector): Json {
  return Array.isArray(parts) ? parts.map((part) => shownPart(part, prompt)) : shownPart(parts, prompt);
}

/** A part as the collector knows it: media under a kind, results of tools as JSON. Parts of unknown kinds stay as they are. */
function shownPart(part: Json, prompt: PromptCollector): Json {
  if (!isObject(part) || !Object.keys(part).some((key) => REWRITTEN.has(key))) return part;
  const blob = member(part, 'inlineData');
  if (isObject(blob)) return { ...part, inline_data: null, inlineData: { ...blob, type: 'file' } };
  const file = member(part, 'fileData');
  if (isObject(file)) return takeFile({ ...part, file_data: null, fileData: null }, file, prompt);
  const result = member(part, 'functionResponse') ?? member(part, 'toolResponse');
  if (!isObject(result)) return part;
  const more = Array.isArray(result['parts']) ? result['parts'].map((inner) => shownPart(inner, prompt)) : undefined;
  return { ...part, function_response: null, toolResponse: null, tool_response: null, functionResponse: { name: result['name'], json: result['response'], parts: more } };
}

/**
 * A file that lies elsewhere. A picture costs about the same whatever its size; how long a sound, film or document is can only be
 * remembered, so those are references.
 */
function takeFile(rest: JsonObject, file: JsonObject, prompt: PromptCollector): JsonObject {
  const uri = member(file, 'fileUri');
  const type = member(file, 'mimeType');
  const isImage = typeof type === 'string' && type.startsWith('image/');
  const isTooLong = typeof uri === 'string' && uri.length > MAX_REFERENCE_LENGTH;
  if (isImage || isTooLong) return { ...rest, fileData: { mimeType: type, type: 'file', fileUri: uri } };
  prompt.reference('file', uri);
  return rest;
}
