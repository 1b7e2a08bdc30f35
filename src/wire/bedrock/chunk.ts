import { isObject, MAX_DEPTH, parseText, type JsonObject } from '../json/json.js';
import { deeperThan } from '../json/scan.js';

/** Member that Bedrock puts into the last chunk of a stream. */
export const METRICS = 'amazon-bedrock-invocationMetrics';

/**
 * What the model's own API says in a part of an answer of InvokeModel: the part itself, or for a stream what the `bytes` of its event
 * hold in base64. Null where that can't be read.
 */
export function modelPart(part: JsonObject, event: string | null): JsonObject | null {
  const { bytes } = part;
  if (event === null || typeof bytes !== 'string') return part;
  const json = Buffer.from(bytes, 'base64');
  const inner = deeperThan(json, MAX_DEPTH) ? undefined : parseText(json.toString('utf8'));
  return isObject(inner) ? inner : null;
}
