import type { PoolDecision, RequestRecord } from '../domain/decision.js';
import type { Shortage } from '../domain/lease.js';
import type { Refusal } from '../domain/refusal.js';
import { cleanLabel } from './bounded-labels.js';

const MAX_ID = 128;
const MAX_LABEL = 256;
const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

type Field = string | number | boolean | null;

/** The fields of a request's log line; those that are undefined are not written. Everything that a client chose is cut and cleaned. */
export function requestFields(record: RequestRecord): Record<string, Field | undefined> {
  const { labels, usage } = record;
  const fields: Record<string, Field | undefined> = {
    requestId: cleanLabel(record.requestId, MAX_ID),
    envoyRequestId: text(record.envoyRequestId),
    leaseId: text(record.leaseId),
    traceId: TRACE_PARENT.exec(record.traceParent ?? '')?.[1] ?? null,
    tenant: text(record.tenantId),
    keyId: record.keyId === null ? null : cleanLabel(record.keyId, 16),
    api: record.api,
    model: text(record.model),
    stream: record.stream,
    session: labels?.session && cleanLabel(labels.session, MAX_LABEL),
    mergeKey: labels?.mergeKey && cleanLabel(labels.mergeKey, MAX_LABEL),
    retry: labels?.retry,
    work: labels?.work,
    decision: record.decision,
    reason: cleanLabel(record.reason, MAX_ID),
    status: record.status,
    outcome: record.outcome,
    endReason: record.endReason ?? undefined,
    estimatedInputTokens: record.estimatedInputTokens,
    estimateErrorShare: record.estimateErrorShare === null ? null : Math.round(record.estimateErrorShare * 1_000) / 1_000,
    reservedOutputTokens: record.reservedOutputTokens,
    inputTokens: usage?.inputTokens ?? null,
    cachedInputTokens: usage?.cachedInputTokens ?? null,
    outputTokens: usage?.outputTokens ?? null,
    reasoningTokens: usage?.reasoningTokens ?? null,
    estimated: record.estimated,
    decisionMs: toMicros(record.decisionMs),
    firstTokenMs: record.firstTokenMs === null ? null : toMicros(record.firstTokenMs),
    totalMs: toMicros(record.totalMs),
  };
  if (record.refusal !== null) Object.assign(fields, refusalFields(record.refusal));
  if (record.wouldRefuse !== null) Object.assign(fields, shortageFields(record.wouldRefuse));
  if (record.pool !== null) Object.assign(fields, poolFields(record.pool, record.decision !== 'admitted' || record.endReason !== null));
  return fields;
}

function text(value: string | null): string | null {
  return value === null ? null : cleanLabel(value, MAX_ID);
}

function toMicros(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

function refusalFields(refusal: Refusal): Record<string, Field> {
  if (refusal.kind !== 'limited' && refusal.kind !== 'too_large') return {};
  return {
    limit: refusal.limit,
    scope: `${refusal.scope.kind}:${cleanLabel(refusal.scope.id, MAX_ID)}`,
    limitValue: refusal.limitValue,
    needed: refusal.needed,
    retryAfterMs: refusal.kind === 'limited' ? refusal.retryAfterMs : null,
  };
}

function shortageFields({ level, needed, waitMs }: Shortage): Record<string, Field> {
  return {
    wouldRefuseBucket: cleanLabel(level.key, MAX_ID),
    wouldRefuseNeeded: needed,
    wouldRefuseWaitMs: waitMs,
  };
}

/** Of a request that was held, refused or ended also what decided: the factors of its priority as they stood. */
function poolFields(pool: PoolDecision, explained: boolean): Record<string, Field> {
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
