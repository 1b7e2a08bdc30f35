import type { PoolAnswer, PoolEvent, PoolFactors, PoolRefusalReason, WaiterRefusal } from '../domain/pool.js';
import { clamp } from './amounts.js';
import type { Tier } from './fit.js';
import { servedOf, touchRates } from './rates.js';
import type { EntitlementState, Lease, PoolState } from './state.js';
import { explainWeight } from './weights.js';

const LEAST_WAIT_MS = 1_000;
const MOST_WAIT_MS = 3_600_000;

/** Why the scheduler decides as it does, now. */
export function factorsOf(s: PoolState, e: EntitlementState, tier: Tier): PoolFactors {
  touchRates(s, e);
  const { weight, sloFactor, burstFactor, debtFactor } = explainWeight(s, e, e.rates);
  return {
    entitlementId: e.id,
    serviceClass: e.config.serviceClass,
    tier,
    weight,
    sloFactor,
    burstFactor,
    debtFactor,
    debtTokens: e.rates.debt,
    servedTokensPerSecond: servedOf(e.rates),
    virtualTime: e.v,
    waiting: s.waitingCount,
  };
}

/** How long it takes until so much work is served, at the pool's λ or what it was served lately: an estimate. */
export function neededWaitMs(s: PoolState, work: number): number {
  const perSecond = Math.max(1, s.capPerSecond, servedOf(s.rates));
  return clamp(Math.ceil((work * 1_000) / perSecond), LEAST_WAIT_MS, MOST_WAIT_MS);
}

/** The wait of one that does not wait in the queue, or waits no more: all that waits before it, and its own; and for those that don't wait what runs. */
export function waitOf(s: PoolState, work: number, reason: PoolRefusalReason): number {
  if (reason === 'pool_too_small') return 0;
  return neededWaitMs(s, s.waitingWork + work + (reason === 'pool_busy' ? s.bookedWork : 0));
}

export function refusal(s: PoolState, e: EntitlementState, tier: Tier, work: number, reason: PoolRefusalReason): PoolAnswer {
  return { kind: 'refused', reason, neededWaitMs: waitOf(s, work, reason), factors: factorsOf(s, e, tier), nextAtMs: null };
}

export function tell(s: PoolState, owner: string, event: PoolEvent): void {
  s.events.push({ owner, event });
}

export function tellGranted(s: PoolState, lease: Lease, factors: PoolFactors): void {
  tell(s, lease.owner, { kind: 'granted', poolId: s.id, leaseId: lease.id, waitedMs: s.nowMs - lease.askedMs, factors });
}

/** A waiter is refused; it is in the queue no more. */
export function tellRefused(s: PoolState, lease: Lease, reason: WaiterRefusal): void {
  tell(s, lease.owner, {
    kind: 'refused',
    poolId: s.id,
    leaseId: lease.id,
    reason,
    waitedMs: s.nowMs - lease.askedMs,
    neededWaitMs: waitOf(s, lease.work, reason),
    factors: factorsOf(s, lease.entitlement, lease.tier),
  });
}

export function tellEnding(s: PoolState, lease: Lease, why: 'reclaimed' | 'pressure'): void {
  tell(s, lease.owner, { kind: 'end_stream', poolId: s.id, leaseId: lease.id, why });
}
