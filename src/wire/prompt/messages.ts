import type { Fields } from '../json/fields.js';
import { isObject, listOf, type JsonObject } from '../json/json.js';

/** The objects of a list such as `messages`; a fault names the field, or the first element that is none. Empty after a fault. */
export function messagesOf(fields: Fields, field: string): readonly JsonObject[] {
  const value = fields.required(field);
  if (value !== undefined && !Array.isArray(value)) fields.fail('wrong_type', field, `The field \`${field}\` must be a list.`);
  const messages = listOf(value);
  const objects = messages.filter(isObject);
  if (objects.length === messages.length) return objects;
  const strange = `${field}[${messages.findIndex((message) => !isObject(message))}]`;
  fields.fail('wrong_type', strange, `The field \`${strange}\` must be an object.`);
  return [];
}
