import type { BucketCharge, Consumption, LedgerEvent, ReserveRequest } from '../../src/domain/lease.js';
import type { LimitDimension } from '../../src/domain/tenant.js';

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

export function request(leaseId: string, nowMs: number, enforced: readonly BucketCharge[], shadowed: readonly BucketCharge[] = [], tenantId = 'acme'): ReserveRequest {
  return { leaseId, tenantId, owner: 'p1', nowMs, enforced, shadowed };
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
