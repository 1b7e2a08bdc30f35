import type { Capacity, Entitlement, PoolAmounts, PoolAnswer, PoolAsk, PoolDemand, PoolEvent, PoolFactors, PoolSettings } from '../../domain/pool.js';

/** A pool as one of `n` processors uses it alone: everything divided. Nobody's part is less than one. */
export function shareOf(ask: PoolAsk, n: number): PoolAsk {
  const pool = poolShare(ask.pool, n);
  return { ...ask, pool, entitlement: entitlementShare(ask.entitlement, n), demand: demandIn(ask, pool.capacity) };
}

/** What fits in the whole pool is not refused for good since it is larger than a share: it takes all of that. */
function demandIn({ demand, pool }: PoolAsk, share: Capacity): PoolDemand {
  const part = (amount: number, whole: number | null, most: number | null): number => (whole === null || most === null || amount > whole ? amount : Math.min(amount, most));
  return { ...demand, slots: part(demand.slots, pool.capacity.slots, share.slots), kvBytes: part(demand.kvBytes, pool.capacity.kvBytes, share.kvBytes) };
}

/** Remembered, so that the same settings give the same share: a scheduler then sees that nothing changed. */
const pools = new WeakMap<PoolSettings, { readonly n: number; readonly share: PoolSettings }>();
const entitlements = new WeakMap<Entitlement, { readonly n: number; readonly share: Entitlement }>();

export function poolShare(settings: PoolSettings, n: number): PoolSettings {
  return remembered(pools, settings, n, () => ({
    ...settings,
    capacity: capacityShare(settings.capacity, n),
    tier0Baselines: amountsShare(settings.tier0Baselines, n),
    elasticTokensPerSecond: settings.elasticTokensPerSecond / n,
    lentToNone: amountsShare(settings.lentToNone, n),
    lentToSpot: amountsShare(settings.lentToSpot, n),
    maxWaiting: Math.ceil(settings.maxWaiting / n),
    maxWaitingBytes: Math.ceil(settings.maxWaitingBytes / n),
  }));
}

function entitlementShare(entitlement: Entitlement, n: number): Entitlement {
  return remembered(entitlements, entitlement, n, () => ({ ...entitlement, baseline: capacityShare(entitlement.baseline, n) }));
}

function remembered<T extends object>(cache: WeakMap<T, { readonly n: number; readonly share: T }>, whole: T, n: number, make: () => T): T {
  const before = cache.get(whole);
  if (before?.n === n) return before.share;
  const share = n === 1 ? whole : make();
  cache.set(whole, { n, share });
  return share;
}

function capacityShare({ tokensPerSecond, requestsPerSecond, kvBytes, slots }: Capacity, n: number): Capacity {
  return {
    tokensPerSecond: tokensPerSecond === null ? null : tokensPerSecond / n,
    requestsPerSecond: requestsPerSecond === null ? null : requestsPerSecond / n,
    kvBytes: kvBytes === null ? null : Math.max(1, Math.floor(kvBytes / n)),
    slots: slots === null ? null : Math.max(1, Math.floor(slots / n)),
  };
}

function amountsShare({ tokensPerSecond, kvBytes, slots }: PoolAmounts, n: number): PoolAmounts {
  return { tokensPerSecond: tokensPerSecond / n, kvBytes: Math.floor(kvBytes / n), slots: Math.floor(slots / n) };
}

/** What is dispatched without anybody counting. */
export function uncounted(ask: PoolAsk): PoolAnswer {
  return { kind: 'dispatched', factors: unknownFactors(ask), nextAtMs: null };
}

/** The same for one that waited until nobody was there to count. */
export function uncountedLate(ask: PoolAsk, waitedMs: number): PoolEvent {
  return grantedLate(ask, waitedMs, unknownFactors(ask));
}

/** What a waiter hears whom no keeper told its end: an estimate of how much longer it would have taken is not to be had. */
export function overdue(ask: PoolAsk, waitedMs: number): PoolEvent {
  return { kind: 'refused', poolId: ask.pool.id, leaseId: ask.leaseId, reason: 'queue_timeout', waitedMs, neededWaitMs: 1_000, factors: unknownFactors(ask) };
}

/** It waited in a share, and a keeper dispatched it. */
export function grantedLate(ask: PoolAsk, waitedMs: number, factors: PoolFactors): PoolEvent {
  return { kind: 'granted', poolId: ask.pool.id, leaseId: ask.leaseId, waitedMs: Math.max(0, waitedMs), factors };
}

function unknownFactors({ entitlement }: PoolAsk): PoolFactors {
  return {
    entitlementId: entitlement.id,
    serviceClass: entitlement.serviceClass,
    tier: entitlement.serviceClass === 'spot' ? 'spot' : 1,
    weight: entitlement.classWeight,
    ...{ sloFactor: 1, burstFactor: 1, debtFactor: 1, debtTokens: 0, servedTokensPerSecond: 0, virtualTime: 0, waiting: 0 },
  };
}

/** For those who look on: figures that are not known are not those of an idle pool. @throws always. */
export function noAnswer(): never {
  throw new Error('no processor that keeps the pool answers');
}
