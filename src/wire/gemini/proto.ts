import { MAX_COUNT, type Fields } from '../json/fields.js';
import type { Json, JsonObject } from '../json/json.js';

/** Names as Google's documents have them, and as the protocol has them, which Google takes as well. */
const IN_PROTOCOL = {
  inlineData: 'inline_data',
  fileData: 'file_data',
  fileUri: 'file_uri',
  mimeType: 'mime_type',
  functionResponse: 'function_response',
  toolResponse: 'tool_response',
  functionDeclarations: 'function_declarations',
  systemInstruction: 'system_instruction',
  generationConfig: 'generation_config',
  maxOutputTokens: 'max_output_tokens',
  candidateCount: 'candidate_count',
  responseSchema: 'response_schema',
  responseJsonSchema: 'response_json_schema',
  cachedContent: 'cached_content',
  serviceTier: 'service_tier',
} as const;

type Name = keyof typeof IN_PROTOCOL;

/** A member under either of its names. */
export function member(object: JsonObject, name: Name): Json {
  return object[name] ?? object[IN_PROTOCOL[name]];
}

/** Both of them, where both are there. */
export function members(object: JsonObject, name: Name): Json[] {
  return [object[name], object[IN_PROTOCOL[name]]];
}

/**
 * A whole number from `min` that Google would take: its JSON may write numbers as texts. Null where absent or at fault.
 * `path`: the field's name in the message.
 */
export function protoCount(fields: Fields, value: Json, path: string, min: number, max = MAX_COUNT): number | null {
  if (value === undefined || value === null) return null;
  const number = typeof value === 'string' && /^[0-9.eE+-]{1,20}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) fields.fail('wrong_type', path, `The field \`${path}\` must be a number.`);
  else if (Number.isInteger(number) && number >= min && number <= max) return number;
  else fields.fail('out_of_range', path, `The field \`${path}\` must be a whole number from ${min} to ${max}.`);
  return null;
}
