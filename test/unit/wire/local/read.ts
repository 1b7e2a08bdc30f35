import type { LimitRefusal, PlainRefusal, Refusal } from '../../../../src/domain/refusal.js';
import type { RequestFacts, RequestFault } from '../../../../src/domain/request.js';
import type { Framing, ResponseReading, WireApi } from '../../../../src/domain/wire.js';
import { feed } from '../feed.js';

export function bytesOf(body: unknown): Buffer {
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

export function factsOf(api: WireApi, body: unknown): RequestFacts {
  const parsed = api.parseRequest(bytesOf(body));
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.facts;
}

export function faultOf(api: WireApi, body: unknown): RequestFault {
  const parsed = api.parseRequest(bytesOf(body));
  if (parsed.ok) throw new Error('taken');
  return parsed.fault;
}

/** What an answer told once all of it came. */
export function readingOf(api: WireApi, framing: Framing, ...pieces: readonly (Buffer | string)[]): ResponseReading {
  const reader = api.responseReader({ framing, hideUsage: false });
  feed(reader, pieces);
  return reader.reading;
}

/** The prompt's text as an engine sees it, in its order. */
export function promptOf(api: WireApi, body: unknown): string {
  const pieces: string[] = [];
  const parsed = api.parseRequest(bytesOf(body), { add: (piece) => void pieces.push(piece), media: () => undefined });
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return pieces.join('');
}

/** Whether anything was counted there. */
export function isEmpty(text: RequestFacts['prompt']['text']): boolean {
  return text.every((count) => count === 0);
}

export const LIMITED: LimitRefusal = {
  kind: 'limited', limit: 'tokens_per_minute', scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 590, needed: 20, retryAfterMs: 1250, exact: true, requestId: 'r1', message: 'Too much.',
};
export const TOO_LARGE: Refusal = { kind: 'too_large', limit: 'request_too_large', scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 0, needed: 900, requestId: 'r1', message: 'Too large.' };

/** What every refusal has of ours. */
export const OURS = { limit: 'tokens_per_minute', scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 590, needed: 20, retryAfterMs: 1250, retryAfterKind: 'exact', requestId: 'r1' };

export function plain(kind: PlainRefusal['kind'], field: string | null = null): Refusal {
  return { kind, field, requestId: 'r1', message: 'No.' };
}

/** Pieces of a body: whole, cut at every byte of a short one (at some of a long one), and byte by byte. */
export function* cuts(bytes: Buffer): Generator<Buffer[]> {
  yield [bytes];
  const step = bytes.length <= 4000 ? 1 : 7;
  for (let cut = 1; cut < bytes.length; cut += step) yield [bytes.subarray(0, cut), bytes.subarray(cut)];
  yield Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}
