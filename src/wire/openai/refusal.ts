import type { LimitRefusal, LocalAnswer, PlainRefusal, Refusal } from '../../domain/refusal.js';
import { ours, retryHeaders } from '../refusals.js';

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
  not_metered: { status: 403, type: 'invalid_request_error', code: 'not_metered' },
  unknown_path: { status: 404, type: 'invalid_request_error', code: 'unknown_url' },
  body_too_large: { status: 413, type: 'invalid_request_error', code: 'body_too_large' },
  unsupported_encoding: { status: 415, type: 'invalid_request_error', code: 'unsupported_encoding' },
  store_unavailable: { status: 503, type: 'server_error', code: 'service_unavailable' },
  draining: { status: 503, type: 'server_error', code: 'service_unavailable' },
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
