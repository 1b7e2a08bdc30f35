import type { LocalAnswer, Refusal } from '../../domain/refusal.js';
import { ours, retryHeaders } from '../refusals.js';

/** Status and `error.type` in the words of Anthropic's API. Its SDKs retry 429 and what is above 500, unless a header says no. */
const SHAPES: Record<Refusal['kind'], readonly [status: number, type: string]> = {
  limited: [429, 'rate_limit_error'],
  too_large: [400, 'invalid_request_error'],
  unauthenticated: [401, 'authentication_error'],
  model_not_allowed: [403, 'permission_error'],
  bad_request: [400, 'invalid_request_error'],
  not_metered: [403, 'permission_error'],
  unknown_path: [404, 'not_found_error'],
  body_too_large: [413, 'request_too_large'],
  unsupported_encoding: [415, 'invalid_request_error'],
  store_unavailable: [503, 'overloaded_error'],
  draining: [503, 'overloaded_error'],
};

/** A refusal as Anthropic's API would word it, ours in a member of its own beside `error`. */
export function anthropicRefusal(refusal: Refusal): LocalAnswer {
  const [status, type] = SHAPES[refusal.kind];
  return {
    status,
    headers: [['content-type', 'application/json'], ...retryHeaders(refusal)],
    body: JSON.stringify({ type: 'error', error: { type, message: refusal.message }, request_id: refusal.requestId, tokenweir: ours(refusal) }),
  };
}
