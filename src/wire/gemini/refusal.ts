import type { LocalAnswer, PlainRefusal, Refusal } from '../../domain/refusal.js';
import { ours, retryHeaders } from '../refusals.js';

interface Shape {
  /** Of the answer, and `error.code`. */
  readonly code: number;
  /** Name of a `google.rpc.Code`. */
  readonly status: string;
}

const PLAIN: Record<PlainRefusal['kind'], Shape> = {
  unauthenticated: { code: 401, status: 'UNAUTHENTICATED' },
  model_not_allowed: { code: 403, status: 'PERMISSION_DENIED' },
  bad_request: { code: 400, status: 'INVALID_ARGUMENT' },
  not_metered: { code: 403, status: 'PERMISSION_DENIED' },
  unknown_path: { code: 404, status: 'NOT_FOUND' },
  body_too_large: { code: 413, status: 'INVALID_ARGUMENT' },
  unsupported_encoding: { code: 415, status: 'INVALID_ARGUMENT' },
  store_unavailable: { code: 503, status: 'UNAVAILABLE' },
  draining: { code: 503, status: 'UNAVAILABLE' },
};

/** A refusal as Google's APIs word it (`google.rpc.Status` as JSON), ours in a member of its own beside `error`. */
export function geminiRefusal(refusal: Refusal): LocalAnswer {
  const { code, status } = shapeOf(refusal);
  const headers = retryHeaders(refusal);
  const details = detailsOf(refusal, headers);
  const error = { code, message: refusal.message, status, ...(details.length > 0 && { details }) };
  return { status: code, headers: [['content-type', 'application/json'], ...headers], body: JSON.stringify({ error, tokenweir: ours(refusal) }) };
}

function shapeOf(refusal: Refusal): Shape {
  if (refusal.kind === 'limited') return { code: 429, status: 'RESOURCE_EXHAUSTED' };
  return refusal.kind === 'too_large' ? PLAIN.bad_request : PLAIN[refusal.kind];
}

/** When to come again, and which field is at fault. */
function detailsOf(refusal: Refusal, headers: readonly (readonly [string, string])[]): object[] {
  const wait = headers.find(([name]) => name === 'retry-after-ms')?.[1];
  if (wait !== undefined) return [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${Number(wait) / 1000}s` }];
  if (refusal.kind !== 'bad_request' || refusal.field === null) return [];
  return [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: refusal.field, description: refusal.message }] }];
}
