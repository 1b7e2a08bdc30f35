import type { LimitRefusal, LocalAnswer, PlainRefusal, Refusal, TooLargeRefusal } from '../domain/refusal.js';
import { reasonOf } from '../domain/refusal.js';

/** From this wait on SDKs ignore the told time and retry at once, so they are told not to. */
const LONGEST_OBEYED_WAIT_MS = 60_000;
/** What a client is told to wait where we can't know when it gets better. */
const UNKNOWN_WAIT_MS = 1000;

interface Shape {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly param: string | null;
}

const PLAIN: Record<PlainRefusal['kind'], Omit<Shape, 'param'>> = {
  unauthenticated: { status: 401, type: 'authentication_error', code: 'invalid_api_key' },
  model_not_allowed: { status: 403, type: 'invalid_request_error', code: 'model_not_found' },
  bad_request: { status: 400, type: 'invalid_request_error', code: 'invalid_request' },
  unknown_path: { status: 404, type: 'invalid_request_error', code: 'unknown_url' },
  body_too_large: { status: 413, type: 'invalid_request_error', code: 'body_too_large' },
  unsupported_encoding: { status: 415, type: 'invalid_request_error', code: 'unsupported_encoding' },
  store_unavailable: { status: 503, type: 'server_error', code: 'service_unavailable' },
};

/**
 * A refusal as the OpenAI API would word it, ours in a member of its own beside `error`. Also the shape for paths of no
 * known API. What a retry can't help says so in `x-should-retry`, which the official SDKs obey.
 */
export function openAiRefusal(refusal: Refusal): LocalAnswer {
  const { status, ...error } = shapeOf(refusal);
  return {
    status,
    headers: [['content-type', 'application/json'], ...retryHeaders(refusal)],
    body: JSON.stringify({ error: { message: refusal.message, ...error }, tokenweir: ours(refusal) }),
  };
}

function shapeOf(refusal: Refusal): Shape {
  if (refusal.kind === 'limited') return { status: 429, type: limitedType(refusal), param: null, code: 'rate_limit_exceeded' };
  if (refusal.kind === 'too_large') return { status: 400, type: 'invalid_request_error', param: null, code: refusal.limit };
  return { ...PLAIN[refusal.kind], param: refusal.field };
}

function limitedType(refusal: LimitRefusal): 'tokens' | 'requests' {
  return refusal.limit === 'requests_per_minute' || refusal.limit === 'concurrency' ? 'requests' : 'tokens';
}

function retryHeaders(refusal: Refusal): [string, string][] {
  if (refusal.kind === 'limited') return waitHeaders(refusal.retryAfterMs);
  return refusal.kind === 'store_unavailable' ? waitHeaders(UNKNOWN_WAIT_MS) : [['x-should-retry', 'false']];
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

function ours(refusal: Refusal): Record<string, unknown> {
  if (refusal.kind === 'limited') {
    return { ...limitOf(refusal), retryAfterMs: Math.max(1, Math.ceil(refusal.retryAfterMs)), retryAfterKind: refusal.exact ? 'exact' : 'estimate', requestId: refusal.requestId };
  }
  if (refusal.kind === 'too_large') return { ...limitOf(refusal), retryAfterMs: null, requestId: refusal.requestId };
  return { reason: reasonOf(refusal), requestId: refusal.requestId };
}

function limitOf({ limit, scope, limitValue, used, needed }: LimitRefusal | TooLargeRefusal): Record<string, unknown> {
  return { limit, scope: { kind: scope.kind, id: scope.id }, limitValue, used, needed };
}
