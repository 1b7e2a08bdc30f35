import { UNBOUNDED, type Capacity, type Entitlement, type PoolAmounts, type PoolAsk, type PoolDemand, type PoolSettings, type ServiceClass } from '../../src/domain/pool.js';

/** A time as real clocks tell. */
export const T0 = 1_800_000_000_000;

const NOTHING: PoolAmounts = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };

export function capacity(some: Partial<Capacity>): Capacity {
  return { ...UNBOUNDED, ...some };
}

/** A pool of four slots, unless told otherwise. */
export function pool(some: Partial<PoolSettings> = {}): PoolSettings {
  return {
    ...{ id: 'pool', capacity: capacity({ slots: 4 }), burstSeconds: 2, tier0Baselines: NOTHING, elasticTokensPerSecond: 0 },
    ...{ lentToNone: NOTHING, lentToSpot: NOTHING, maxWaiting: 100, maxWaitingBytes: 1_000_000, reclaimMs: 1_000, pressure: 'normal' },
    ...some,
  };
}

/** What a request at the pool is asked with, beside its id. */
export interface AskParts extends Partial<Omit<PoolAsk, 'leaseId' | 'demand' | 'entitlement' | 'nowMs'>> {
  readonly entitlement?: Entitlement;
  readonly demand?: Partial<PoolDemand>;
  /** Milliseconds after `T0`. */
  readonly at?: number;
}

export function entitlement(id: string, serviceClass: ServiceClass, baseline: Partial<Capacity> = {}, some: Partial<Entitlement> = {}): Entitlement {
  return { id, serviceClass, baseline: capacity(baseline), classWeight: 10, sloMs: 2_000, lend: 'all', preemptible: serviceClass === 'spot', ...some };
}

export const elastic = (id: string, baseline: Partial<Capacity> = {}, some: Partial<Entitlement> = {}) => entitlement(id, 'elastic', baseline, some);
export const guaranteed = (id: string, baseline: Partial<Capacity> = { slots: 2 }, some: Partial<Entitlement> = {}) => entitlement(id, 'guaranteed', baseline, some);
export const spot = (id: string, some: Partial<Entitlement> = {}) => entitlement(id, 'spot', {}, some);

/** One slot and 100 tokens of an elastic tenant that waits up to 10 s, unless told otherwise. */
export function ask(leaseId: string, { demand, at = 0, ...parts }: AskParts = {}): PoolAsk {
  return {
    ...{ leaseId, owner: 'p1', pool: pool(), entitlement: elastic('acme'), work: 'interactive', bytes: 100, maxWaitMs: 10_000, ...parts },
    demand: { work: 100, kvBytes: 0, slots: 1, ...demand },
    nowMs: T0 + at,
  };
}
