import type { ScriptedAnswer } from '../../../src/upstream/script.js';
import { inPieces } from '../framing.js';

/** What every scripted answer says, in the pieces of a stream. */
export const WORDS = ['Hello', ' from', ' afar', ', 日本', ' 😀.'];
export const TEXT = WORDS.join('');

/**
 * What every scripted answer tells, in the terms of the ledger: `input` includes `cached` and `cacheWrite`, `output` includes
 * `reasoning`. An API that can't tell a kind leaves it out, and then it is part of the others.
 */
export const TOLD = { input: 31, cached: 8, cacheWrite: 3, output: 17, reasoning: 5 } as const;

/** An event of a stream that tells its own type. */
export interface TypedEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A JSON answer, whole. */
export function whole(body: unknown, status = 200): ScriptedAnswer {
  const bytes = Buffer.from(JSON.stringify(body));
  return { kind: 'answer', status, headers: { 'content-type': 'application/json', 'content-length': String(bytes.length) }, pieces: [bytes] };
}

/** A stream in pieces that are cut anywhere. */
export function streamed(bytes: Buffer, contentType = 'text/event-stream; charset=utf-8'): ScriptedAnswer {
  return { kind: 'answer', headers: { 'content-type': contentType }, pieces: inPieces(bytes) };
}

/** A member of a value that came as JSON; undefined where it is none. */
export function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
