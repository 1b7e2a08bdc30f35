import { isUtf8 } from 'node:buffer';
import type { RequestFault } from '../../domain/request.js';
import { bomLength, shapeFault } from './scan.js';

/** Whatever JSON can say. */
export type Json = string | number | boolean | null | undefined | Json[] | JsonObject;

/** An object of unknown members. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Levels of nesting that are read. Real requests stay below 40; recursion over parsed values is bounded by this. */
export const MAX_DEPTH = 100;

/**
 * Lists, objects and members that are read in one body: what JSON.parse is slow at, above all members of many names (200 ms
 * for 2 MB of those). A million tokens of conversation with hundreds of tools have fewer.
 */
const MAX_PARTS = 100_000;

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
  if (!isUtf8(bytes)) return refused('invalid_json', 'The body is not valid UTF-8.');
  const shape = shapeFault(bytes, MAX_DEPTH, MAX_PARTS);
  if (shape === 'too_deep') return refused('too_deep', `The body is nested deeper than ${MAX_DEPTH} levels.`);
  if (shape === 'too_many') return refused('too_many', `The body holds more than ${MAX_PARTS} lists, objects and members.`);
  const value = parseText(bytes.toString('utf8', bomLength(bytes)));
  if (value === undefined) return refused('invalid_json', 'The body is not valid JSON.');
  if (!isObject(value)) return refused('not_an_object', 'The body must be a JSON object.');
  return { ok: true, value };
}

/** `JSON.parse` without the exception; undefined for what is no JSON. */
export function parseText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function refused(kind: RequestFault['kind'], message: string): ParsedObject {
  return { ok: false, fault: { kind, field: null, message } };
}
