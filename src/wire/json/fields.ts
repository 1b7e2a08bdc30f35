import type { RequestFault } from '../../domain/request.js';
import { isObject, type Json, type JsonObject } from './json.js';
import { isMarker } from './texts.js';

/** Longest model name that is taken, in UTF-16 units. */
export const MAX_MODEL_LENGTH = 256;
/** Largest number of tokens that is taken for a cap: what fits into 31 bits, as in the servers behind. */
export const MAX_COUNT = 2 ** 31 - 1;

/**
 * Reads typed fields of a request and keeps the first fault, so that a parser reads straight on and asks once at its
 * end. A field that is `null` counts as absent, as it does for the OpenAI API.
 */
export class Fields {
  #fault: RequestFault | null = null;

  constructor(readonly body: JsonObject) {}

  /** The first thing that was wrong; null while nothing was. */
  get fault(): RequestFault | null {
    return this.#fault;
  }

  fail(kind: RequestFault['kind'], field: string, message: string): void {
    this.#fault ??= { kind, field, message };
  }

  /** The model's name; empty after a fault. */
  model(): string {
    const value = this.body['model'];
    if (value === undefined || value === null || value === '') this.fail('missing_field', 'model', 'The field `model` is missing.');
    else if (typeof value !== 'string') this.fail('wrong_type', 'model', 'The field `model` must be a string.');
    else if (value.length > MAX_MODEL_LENGTH || isMarker(value)) {
      this.fail('out_of_range', 'model', `The field \`model\` is longer than ${MAX_MODEL_LENGTH} characters.`);
    } else return value;
    return '';
  }

  /** A whole number from `min` to `max`; null where absent. */
  count(field: string, min: number, max: number): number | null {
    const value = this.body[field];
    if (value === undefined || value === null) return null;
    if (typeof value !== 'number') {
      this.fail('wrong_type', field, `The field \`${field}\` must be a number.`);
      return null;
    }
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    this.fail('out_of_range', field, `The field \`${field}\` must be a whole number from ${min} to ${max}.`);
    return null;
  }

  /** True or false; false where absent. `path` is the field's name in the message where `object` is not the body. */
  flag(field: string, object: JsonObject = this.body, path = field): boolean {
    const value = object[field];
    if (value === undefined || value === null || typeof value === 'boolean') return value === true;
    this.fail('wrong_type', path, `The field \`${path}\` must be true or false.`);
    return false;
  }

  /** An object; null where absent. */
  object(field: string): JsonObject | null {
    const value = this.body[field];
    if (isObject(value)) return value;
    if (value !== undefined && value !== null) this.fail('wrong_type', field, `The field \`${field}\` must be an object.`);
    return null;
  }

  /** A field that must be there; undefined after a fault. */
  required(field: string): Json {
    const value = this.body[field] ?? undefined;
    if (value === undefined) this.fail('missing_field', field, `The field \`${field}\` is missing.`);
    return value;
  }
}
