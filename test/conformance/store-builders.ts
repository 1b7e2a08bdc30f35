import type { BucketCharge, Consumption, LedgerEvent, ReserveRequest } from '../../src/domain/lease.js';
import type { LimitDimension } from '../../src/domain/tenant.js';
import type { UsageLine } from '../../src/domain/usage.js';

export interface ChargeOptions {
  readonly tenantId?: string;
  readonly name?: string;
  readonly limit: number;
  readonly capacity?: number;
  readonly amount?: number;
  readonly inputAmount?: number;
  readonly countCachedInput?: boolean;
}

/** A charge as `quota/charges` makes it; key and amounts have defaults. */
export function charge(dimension: LimitDimension, options: ChargeOptions): BucketCharge {
  const { tenantId = 'acme', name = '*', limit, capacity = limit, amount = 1, inputAmount = 0, countCachedInput = true } = options;
  return { key: `${tenantId}/${name}:${dimension}`, tenantId, dimension, limit, capacity, amount, inputAmount, countCachedInput };
}

/** A request; it is kept under its tenant unless `rest` says otherwise. */
export function request(
  leaseId: string,
  nowMs: number,
  enforced: readonly BucketCharge[],
  shadowed: readonly BucketCharge[] = [],
  tenantId = 'acme',
  rest: Partial<ReserveRequest> = {},
): ReserveRequest {
  return { leaseId, tenantId, rootId: tenantId, owner: 'p1', nowMs, enforced, shadowed, draft: draft(leaseId, 0, { tenantId }), ...rest };
}

/** What is booked of a lease that nobody settles, its output apart. */
export function draft(leaseId: string, inputTokens: number, rest: Partial<LedgerEvent> = {}): LedgerEvent {
  const lines: UsageLine[] = inputTokens > 0 ? [{ model: 'm', serviceTier: null, kind: 'input', tokens: inputTokens }] : [];
  return event(leaseId, used(inputTokens, 0), { outcome: 'abandoned', estimated: true, lines, ...rest });
}

export function used(inputTokens: number, outputTokens: number, cachedInputTokens = 0): Consumption {
  return { inputTokens, outputTokens, cachedInputTokens };
}

export function event(leaseId: string, consumed: Consumption = used(0, 0), rest: Partial<LedgerEvent> = {}): LedgerEvent {
  return {
    leaseId,
    requestId: `r-${leaseId}`,
    tenantId: 'acme',
    parentId: null,
    keyId: null,
    api: 'openai-chat',
    model: 'm',
    pool: null,
    node: null,
    session: null,
    costNanoUsd: null,
    decision: 'admitted',
    corrects: false,
    outcome: 'completed',
    estimated: false,
    lines: [],
    ...consumed,
    reasoningTokens: 0,
    reservedInputTokens: 0,
    reservedOutputTokens: 0,
    startedAtMs: 0,
    settledAtMs: 0,
    ...rest,
  };
}
