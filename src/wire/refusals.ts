import type { LimitRefusal, Refusal, TooLargeRefusal } from '../domain/refusal.js';
import { reasonOf } from '../domain/refusal.js';

/** From this wait on SDKs ignore the told time and retry at once, so they are told not to. */
const LONGEST_OBEYED_WAIT_MS = 60_000;
/** What a client is told to wait where we can't know when it gets better. */
const UNKNOWN_WAIT_MS = 1000;

/** `retry-after` and its like: when to come again, or that it is of no use. The official SDKs obey all of them. */
export function retryHeaders(refusal: Refusal): [string, string][] {
  if (refusal.kind === 'limited') return waitHeaders(refusal.retryAfterMs);
  return refusal.kind === 'store_unavailable' || refusal.kind === 'draining' ? waitHeaders(UNKNOWN_WAIT_MS) : [['x-should-retry', 'false']];
}

/** `retry-after` in whole seconds and `retry-after-ms`, both rounded up and never 0. */
function waitHeaders(waitMs: number): [string, string][] {
  const wholeMs = Math.max(1, Math.ceil(waitMs));
  const headers: [string, string][] = [
    ['retry-after', String(Math.ceil(wholeMs / 1000))],
    ['retry-after-ms', String(wholeMs)],
  ];
  if (wholeMs >= LONGEST_OBEYED_WAIT_MS) headers.push(['x-should-retry', 'false']);
  return headers;
}

/** Our own member `tokenweir` of a refusal's body, the same in all APIs. */
export function ours(refusal: Refusal): Record<string, unknown> {
  if (refusal.kind === 'limited') {
    return { ...limitOf(refusal), retryAfterMs: Math.max(1, Math.ceil(refusal.retryAfterMs)), retryAfterKind: refusal.exact ? 'exact' : 'estimate', requestId: refusal.requestId };
  }
  if (refusal.kind === 'too_large') return { ...limitOf(refusal), retryAfterMs: null, requestId: refusal.requestId };
  return { reason: reasonOf(refusal), requestId: refusal.requestId };
}

function limitOf({ limit, scope, limitValue, used, needed }: LimitRefusal | TooLargeRefusal): Record<string, unknown> {
  return { limit, scope: { kind: scope.kind, id: scope.id }, limitValue, used, needed };
}
