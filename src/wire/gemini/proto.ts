import { MAX_COUNT, type Fields } from '../json/fields.js';
import type { Json, JsonObject } from '../json/json.js';

/** A member under the name that Google's documents give it, or under its name in the protocol, which Google takes as well. */
export function member(object: JsonObject, name: string): Json {
  return object[name] ?? object[snakeCase(name)];
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

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
