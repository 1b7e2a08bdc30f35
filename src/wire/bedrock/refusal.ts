import type { LocalAnswer, Refusal } from '../../domain/refusal.js';
import { ours, retryHeaders } from '../refusals.js';

/**
 * Status and error name in the words of Bedrock's runtime API. By the name, not by the status, AWS's SDKs choose the class of the error;
 * they retry throttling and 5xx, and wait some seconds longer where `retry-after` says so. A key that nobody knows is a 403 with AWS.
 */
const SHAPES: Record<Refusal['kind'], readonly [status: number, name: string]> = {
  limited: [429, 'ThrottlingException'],
  too_large: [400, 'ValidationException'],
  unauthenticated: [403, 'AccessDeniedException'],
  model_not_allowed: [403, 'AccessDeniedException'],
  bad_request: [400, 'ValidationException'],
  not_metered: [403, 'AccessDeniedException'],
  unknown_path: [404, 'ResourceNotFoundException'],
  body_too_large: [413, 'ValidationException'],
  unsupported_encoding: [415, 'ValidationException'],
  store_unavailable: [503, 'ServiceUnavailableException'],
  draining: [503, 'ServiceUnavailableException'],
};

/** A refusal as Bedrock would word it, ours in a member of its own beside `message`. The same for calls that stream: no stream has begun. */
export function bedrockRefusal(refusal: Refusal): LocalAnswer {
  const [status, name] = SHAPES[refusal.kind];
  return {
    status,
    headers: [['content-type', 'application/json'], ['x-amzn-errortype', name], ...retryHeaders(refusal)],
    body: JSON.stringify({ message: refusal.message, tokenweir: ours(refusal) }),
  };
}
