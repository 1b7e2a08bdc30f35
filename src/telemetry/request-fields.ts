import type { PoolDecision, ReadLabels, RequestRecord } from '../domain/decision.js';
import type { Refusal } from '../domain/refusal.js';
import { cleanLabel } from './bounded-labels.js';

const MAX_ID = 128;
const MAX_LABEL = 256;
const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

type Field = string | number | boolean | null;

/** The fields of a request's log line. Everything that a client chose is cut and cleaned. */
export function requestFields(record: RequestRecord): Record<string, Field> {
  return {
    requestId: cleanLabel(record.requestId, MAX_ID),
    envoyRequestId: text(record.envoyRequestId),
    leaseId: text(record.leaseId),
    traceId: TRACE_PARENT.exec(record.traceParent ?? '')?.[1] ?? null,
    tenant: text(record.tenantId),
    keyId: record.keyId === null ? null : cleanLabel(record.keyId, 16),
    api: record.api,
    model: text(record.model),
    stream: record.stream,
    ...labelFields(record.labels),
    decision: record.decision,
    reason: cleanLabel(record.reason, MAX_ID),
    status: record.status,
    outcome: record.outcome,
    ...(record.endReason === null ? {} : { endReason: record.endReason }),
    estimatedInputTokens: record.estimatedInputTokens,
    estimateErrorShare: record.estimateErrorShare === null ? null : Math.round(record.estimateErrorShare * 1_000) / 1_000,
    reservedOutputTokens: record.reservedOutputTokens,
    inputTokens: record.usage?.inputTokens ?? null,
    cachedInputTokens: record.usage?.cachedInputTokens ?? null,
    outputTokens: record.usage?.outputTokens ?? null,
    reasoningTokens: record.usage?.reasoningTokens ?? null,
    estimated: record.estimated,
    decisionMs: toMicros(record.decisionMs),
    firstTokenMs: record.firstTokenMs === null ? null : toMicros(record.firstTokenMs),
    totalMs: toMicros(record.totalMs),
    ...refusalFields(record.refusal),
    ...shortageFields(record),
    ...poolFields(record.pool, record.decision !== 'admitted' || record.endReason !== null),
  };
}

function labelFields(labels: ReadLabels | null): Record<string, Field> {
  if (labels === null) return {};
  const { session, mergeKey, retry, work } = labels;
  return { session: session && cleanLabel(session, MAX_LABEL), mergeKey: mergeKey && cleanLabel(mergeKey, MAX_LABEL), retry, work };
}

function text(value: string | null): string | null {
  return value === null ? null : cleanLabel(value, MAX_ID);
}

function toMicros(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

function refusalFields(refusal: Refusal | null): Record<string, Field> {
  if (refusal === null || (refusal.kind !== 'limited' && refusal.kind !== 'too_large')) return {};
  return {
    limit: refusal.limit,
    scope: `${refusal.scope.kind}:${cleanLabel(refusal.scope.id, MAX_ID)}`,
    limitValue: refusal.limitValue,
    needed: refusal.needed,
    retryAfterMs: refusal.kind === 'limited' ? refusal.retryAfterMs : null,
  };
}

function shortageFields({ wouldRefuse }: RequestRecord): Record<string, Field> {
  if (wouldRefuse === null) return {};
  return {
    wouldRefuseBucket: cleanLabel(wouldRefuse.level.key, MAX_ID),
    wouldRefuseNeeded: wouldRefuse.needed,
    wouldRefuseWaitMs: wouldRefuse.waitMs,
  };
}

/** Of a request that was held, refused or ended also what decided: the factors of its priority as they stood. */
function poolFields(pool: PoolDecision | null, explained: boolean): Record<string, Field> {
  if (pool === null) return {};
  const { poolId, waitedMs, factors } = pool;
  const { entitlementId, serviceClass, tier, waiting } = factors;
  const told = { pool: poolId, poolWaitedMs: toMicros(waitedMs), entitlement: cleanLabel(entitlementId, MAX_ID), serviceClass, tier };
  if (waitedMs === 0 && !explained) return told;
  return {
    ...told,
    poolWaiting: waiting,
    weight: toMicros(factors.weight),
    sloFactor: toMicros(factors.sloFactor),
    burstFactor: toMicros(factors.burstFactor),
    debtFactor: toMicros(factors.debtFactor),
    debtTokens: toMicros(factors.debtTokens),
    servedTokensPerSecond: toMicros(factors.servedTokensPerSecond),
    virtualTime: toMicros(factors.virtualTime),
  };
}
