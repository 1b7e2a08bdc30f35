import type { Level, Shortage } from '../domain/lease.js';
import type { LimitName, LimitRefusal, Scope, TooLargeRefusal } from '../domain/refusal.js';
import type { LimitDimension } from '../domain/tenant.js';
import type { NeverFit } from './charges.js';

const NAMES: Record<LimitDimension, LimitName> = {
  requests: 'requests_per_minute',
  tokens: 'tokens_per_minute',
  inputTokens: 'input_tokens_per_minute',
  outputTokens: 'output_tokens_per_minute',
  concurrency: 'concurrency',
};

const WORDS: Record<LimitDimension, string> = {
  requests: 'requests per minute',
  tokens: 'tokens per minute',
  inputTokens: 'input tokens per minute',
  outputTokens: 'output tokens per minute',
  concurrency: 'concurrency',
};

/** The name of a dimension's limit on the wire. */
export function limitName(dimension: LimitDimension): LimitName {
  return NAMES[dimension];
}

/** The 429 for a limit that has too little left now. `tenantId` is the request's own tenant. */
export function limitRefusal(shortage: Shortage, tenantId: string, requestId: string): LimitRefusal {
  const { level, needed, waitMs, exact } = shortage;
  const scope = scopeOf(level.tenantId, level.tenantId !== tenantId);
  return {
    kind: 'limited',
    requestId,
    message: shortageMessage(shortage, scope),
    limit: NAMES[level.dimension],
    scope,
    limitValue: level.limit,
    used: level.capacity - level.remaining,
    needed,
    retryAfterMs: waitMs,
    exact,
  };
}

/** The 400 for what a limit can never hold. */
export function tooLargeRefusal(neverFit: NeverFit, requestId: string): TooLargeRefusal {
  const { dimension, needed, capacity, tenantId, ofParent } = neverFit;
  const scope = scopeOf(tenantId, ofParent);
  return {
    kind: 'too_large',
    requestId,
    message:
      `this request needs at least ${needed} ${unitOf(dimension)}, and the ${WORDS[dimension]} limit of ${scope.kind} ` +
      `${scope.id} never holds more than ${capacity}: send less, or lower the output cap`,
    limit: 'request_too_large',
    scope,
    limitValue: capacity,
    used: 0,
    needed,
  };
}

function scopeOf(id: string, ofParent: boolean): Scope {
  return { kind: ofParent ? 'parent' : 'tenant', id };
}

function shortageMessage({ level, needed, waitMs, exact }: Shortage, scope: Scope): string {
  const retry = `retry in ${exact ? '' : 'about '}${secondsText(waitMs)} s`;
  return `${WORDS[level.dimension]} limit of ${scope.kind} ${scope.id}: ${boundText(level)}, ${leftText(level)}, ${needed} needed; ${retry}`;
}

function boundText({ dimension, limit }: Level): string {
  return dimension === 'concurrency' ? `${limit} at one time` : `${limit} a minute`;
}

function leftText({ dimension, remaining }: Level): string {
  if (dimension === 'concurrency') return `${Math.max(0, remaining)} free`;
  return remaining < 0 ? `none left and ${-remaining} owed` : `${remaining} left`;
}

/** Rounded up to a tenth, so that nobody who goes by the text comes too early. */
function secondsText(ms: number): string {
  return String(Math.ceil(ms / 100) / 10);
}

function unitOf(dimension: LimitDimension): string {
  return dimension === 'inputTokens' ? 'input tokens' : dimension === 'outputTokens' ? 'output tokens' : 'tokens';
}
