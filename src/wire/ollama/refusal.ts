import type { LocalAnswer, Refusal } from '../../domain/refusal.js';
import { ours, retryHeaders } from '../refusals.js';

const STATUS: Record<Refusal['kind'], number> = {
  limited: 429,
  too_large: 400,
  unauthenticated: 401,
  model_not_allowed: 403,
  bad_request: 400,
  not_metered: 403,
  unknown_path: 404,
  body_too_large: 413,
  unsupported_encoding: 415,
  store_unavailable: 503,
  draining: 503,
};

/** A refusal as Ollama words it: a sentence, and nothing else. Ours in a member of its own beside it. */
export function ollamaRefusal(refusal: Refusal): LocalAnswer {
  return {
    status: STATUS[refusal.kind],
    headers: [['content-type', 'application/json'], ...retryHeaders(refusal)],
    body: JSON.stringify({ error: refusal.message, tokenweir: ours(refusal) }),
  };
}
