import { isUtf8 } from 'node:buffer';
import type { RequestFault } from '../../domain/request.js';
import { condense, shapeOf } from './condense.js';
import { bomLength } from './scan.js';
import { NO_TEXTS, type Texts } from './texts.js';

/** Whatever JSON can say. */
export type Json = string | number | boolean | null | undefined | Json[] | JsonObject;

/** An object of unknown members. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Levels of nesting that are read. Real requests stay below 40; recursion over parsed values is bounded by this. */
export const MAX_DEPTH = 100;

/**
 * What JSON.parse is slow at, in one body: 2 MB of members with many names take 200 ms, and objects of ever new keys fill V8's
 * tables for the requests that follow. A million tokens of conversation with hundreds of tools have fewer of each.
 */
const MAX_PARTS = 60_000;
const MAX_SHAPES = 10_000;

/** Bodies of more bytes are parsed without their long strings; below, that takes longer than it saves. */
const CONDENSE_ABOVE = 32 * 1024;

export function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as a list; an empty one where it is none. */
export function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

export type ParsedObject = { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly fault: RequestFault };

/**
 * Reads bytes as one JSON object. Never throws; deep nesting is found before it is parsed. A byte order mark is skipped:
 * Python's servers take it, so a request with one must be counted.
 */
export function parseObject(bytes: Buffer): ParsedObject {
  return parseBody(bytes, Infinity);
}

/** An object some of whose strings stand for long ones (and for lists of many numbers), which `texts` finds. */
export type ParsedBody = { readonly ok: true; readonly value: JsonObject; readonly texts: Texts } | { readonly ok: false; readonly fault: RequestFault };

/**
 * Reads a request's body as one JSON object, in a time that hardly grows with the length of its texts: in one of more than
 * `condenseAbove` bytes, strings and lists of numbers that are too long for anything but a prompt are not parsed. In their places
 * are short strings that only `texts` understands: a parser gives them, and `texts`, to the `PromptCollector`. Else as `parseObject`.
 */
export function parseBody(bytes: Buffer, condenseAbove = CONDENSE_ABOVE): ParsedBody {
  if (!isUtf8(bytes)) return refused('invalid_json', 'The body is not valid UTF-8.');
  const shape = shapeOf(bytes, { depth: MAX_DEPTH, parts: MAX_PARTS, shapes: MAX_SHAPES });
  if (shape === 'too_deep') return refused('too_deep', `The body is nested deeper than ${MAX_DEPTH} levels.`);
  if (shape === 'too_many') return refused('too_many', `The body holds more than ${MAX_PARTS} lists, objects and members, or more than ${MAX_SHAPES} different ones.`);
  const whole = bytes.length <= condenseAbove || shape.length === 0;
  const { json, texts } = whole ? { json: bytes.toString('utf8', bomLength(bytes)), texts: NO_TEXTS } : condense(bytes, shape);
  const value = parseText(json);
  if (value === undefined) return refused('invalid_json', 'The body is not valid JSON.');
  if (!isObject(value)) return refused('not_an_object', 'The body must be a JSON object.');
  return { ok: true, value, texts };
}

/** `JSON.parse` without the exception; undefined for what is no JSON. */
export function parseText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function refused(kind: RequestFault['kind'], message: string): { readonly ok: false; readonly fault: RequestFault } {
  return { ok: false, fault: { kind, field: null, message } };
}
