import { MAX_COUNT, type Fields } from '../json/fields.js';
import { isObject, type Json, type JsonObject } from '../json/json.js';
import { tokenCount } from '../stream/answer.js';

/** Names of the output cap in the bodies of all model families. A budget for thinking is within it. */
const NAMES = [
  'max_tokens', 'maxTokens', 'max_completion_tokens', 'max_output_tokens', 'max_tokens_to_sample', 'max_new_tokens', 'max_gen_len', 'max_length', 'maxTokenCount',
];
/** Members that may hold one of them. */
const AROUND = ['inferenceConfig', 'textGenerationConfig', 'additionalModelRequestFields', 'parameters'];

/**
 * The largest output cap in a body, by whatever name; null without one. A cap of no number or out of range is a fault, and none counts
 * where there is a fault; zero is no cap: the models refuse it.
 */
export function outputCap(fields: Fields): number | null {
  const caps = [...capsIn(fields, fields.body, ''), ...AROUND.flatMap((name) => within(fields, name))];
  const cap = Math.max(0, ...caps);
  return cap === 0 ? null : cap;
}

function within(fields: Fields, name: string): readonly number[] {
  const object = fields.body[name];
  if (!isObject(object)) return [];
  const deeper = object['inferenceConfig'];
  return [...capsIn(fields, object, `${name}.`), ...(isObject(deeper) ? capsIn(fields, deeper, `${name}.inferenceConfig.`) : [])];
}

function capsIn(fields: Fields, object: JsonObject, path: string): readonly number[] {
  return NAMES.map((name) => capOf(fields, object[name], path + name)).filter((cap) => cap !== null);
}

function capOf(fields: Fields, value: Json, path: string): number | null {
  if (value === undefined || value === null) return null;
  const cap = tokenCount(value);
  if (typeof value !== 'number') fields.fail('wrong_type', path, `The field \`${path}\` must be a number.`);
  else if (cap === null) fields.fail('out_of_range', path, `The field \`${path}\` must be a whole number from 0 to ${MAX_COUNT}.`);
  return cap;
}
