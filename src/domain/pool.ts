import type { Work } from './request.js';

/** Who goes first when demand exceeds supply: dedicated and guaranteed hold their baseline, elastic shares, spot takes what is left. */
export type ServiceClass = 'dedicated' | 'guaranteed' | 'elastic' | 'spot';

/** Who may borrow an idle baseline. */
export type Lending = 'all' | 'spot' | 'none';

/** How tight a pool's memory is. Elevated: shortest first within fairness. Critical: tier 0 only, spot and background are refused, spot streams end. */
export type Pressure = 'normal' | 'elevated' | 'critical';

/** What a pool has, or what an entitlement is assured of. Null: not bounded, not told. */
export interface Capacity {
  /** λ: expected work (see `PoolDemand.work`) a second. */
  readonly tokensPerSecond: number | null;
  /** Requests a second; of provider pools. */
  readonly requestsPerSecond: number | null;
  /** χ: KV cache. */
  readonly kvBytes: number | null;
  /** r: sequences that run at one time. */
  readonly slots: number | null;
}

/** Why a pool ends what runs in it: a tier 0 request needs the room that it borrows, or memory is critical. */
export type EndReason = 'reclaimed' | 'pressure';

/** Nothing is bounded. */
export const UNBOUNDED: Capacity = { tokensPerSecond: null, requestsPerSecond: null, kvBytes: null, slots: null };

/** What one request takes of a pool. Whole numbers. */
export interface PoolDemand {
  /** Expected work in tokens: expected output + prefill weight × uncached prompt. At least 1. */
  readonly work: number;
  /** (prompt + reserved output) × bytes of KV cache a token; 0 where the pool counts none. */
  readonly kvBytes: number;
  /** Sequences: the number of answers asked for. At least 1. */
  readonly slots: number;
}

/**
 * A pool as every call brings it: the store knows no configuration, and keeps what the latest call brought. Sums are over the configured
 * entitlements of the pool, also those that never asked for anything.
 */
export interface PoolSettings {
  readonly id: string;
  readonly capacity: Capacity;
  /** Rates are enforced as buckets of so many seconds. */
  readonly burstSeconds: number;
  /** Sum of the baselines of dedicated and guaranteed entitlements: where capacity is less, all of them shrink by one factor. */
  readonly tier0Baselines: PoolAmounts;
  /** Sum of the baselines of elastic entitlements, in tokens a second. */
  readonly elasticTokensPerSecond: number;
  /** Sums of the slots and KV bytes of baselines that are lent to nobody … */
  readonly lentToNone: PoolAmounts;
  /** … and of those that are lent to spot only. */
  readonly lentToSpot: PoolAmounts;
  /** Bounds of the queue, over all processors. */
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  /** How long a tier 0 request waits for room that borrowed streams hold before one is ended; for spot streams 0. */
  readonly reclaimMs: number;
  readonly pressure: Pressure;
}

/** Amounts of what a request takes: tokens a second, KV bytes, slots. */
export interface PoolAmounts {
  readonly tokensPerSecond: number;
  readonly kvBytes: number;
  readonly slots: number;
}

/** What a tenant is entitled to in a pool. */
export interface Entitlement {
  /** Unique in its pool: the tenant's id, or another's above it, whose entitlement it shares. */
  readonly id: string;
  readonly serviceClass: ServiceClass;
  /** None of it is set for spot, and for those without an entitlement of their own. */
  readonly baseline: Capacity;
  /** w_κ: weight of the class. */
  readonly classWeight: number;
  /** Time to first token that is wanted, in milliseconds: acts through f(SLO). */
  readonly sloMs: number;
  readonly lend: Lending;
  /** Whether its streams above its baseline may be ended. */
  readonly preemptible: boolean;
}

/** One request at the second gate. */
export interface PoolAsk {
  /** The same id as at the first gate. */
  readonly leaseId: string;
  /** The processor that holds the request. */
  readonly owner: string;
  readonly pool: PoolSettings;
  readonly entitlement: Entitlement;
  readonly demand: PoolDemand;
  readonly work: Work;
  /** How many bytes are held while it waits. */
  readonly bytes: number;
  /** How long it may wait; 0: not at all. Spot never waits, whatever this says. */
  readonly maxWaitMs: number;
  /** True: whatever its entitlement says, it is not ended once it runs. (In shadow, or where its answer is made in the background, nobody would.) */
  readonly mustRun?: boolean;
  readonly nowMs: number;
}

/** Why the scheduler decided as it did: for the log line of a request. */
export interface PoolFactors {
  readonly entitlementId: string;
  readonly serviceClass: ServiceClass;
  /** 0: within its baseline; 1: fair share; `spot`: what is left. */
  readonly tier: 0 | 1 | 'spot';
  /** w = class weight × f(SLO) × f(Burst) × f(Debt). */
  readonly weight: number;
  readonly sloFactor: number;
  readonly burstFactor: number;
  readonly debtFactor: number;
  readonly debtTokens: number;
  readonly servedTokensPerSecond: number;
  readonly virtualTime: number;
  /** Requests that waited in the pool when this was decided. */
  readonly waiting: number;
}

/** Why a pool refuses. `pool_busy`: does not fit now, and does not wait. `pool_too_small`: never fits. */
export type PoolRefusalReason = 'pool_busy' | 'queue_full' | 'queue_timeout' | 'pool_too_small';

/** Why a waiter is refused. `queue_full`: it gave way to another, since its entitlement has most in the queue. */
export type WaiterRefusal = Exclude<PoolRefusalReason, 'pool_too_small'>;

export type PoolAnswer =
  | { readonly kind: 'dispatched'; readonly factors: PoolFactors; readonly nextAtMs: number | null }
  /** What becomes of it is told by an event. */
  | { readonly kind: 'waiting'; readonly factors: PoolFactors; readonly nextAtMs: number | null }
  | {
      readonly kind: 'refused';
      readonly reason: PoolRefusalReason;
      /** An estimate of when it would have been served, from now; 0 for `pool_too_small`. */
      readonly neededWaitMs: number;
      readonly factors: PoolFactors;
      readonly nextAtMs: number | null;
    }
  /** The store is away, and what it can't count is to be refused (`onStoreFailure: closed`). */
  | { readonly kind: 'unavailable' };

/** Told to the processor that owns the lease. */
export type PoolEvent =
  | { readonly kind: 'granted'; readonly poolId: string; readonly leaseId: string; readonly waitedMs: number; readonly factors: PoolFactors }
  | {
      readonly kind: 'refused';
      readonly poolId: string;
      readonly leaseId: string;
      readonly reason: WaiterRefusal;
      readonly waitedMs: number;
      /** An estimate of how much longer it would have taken. */
      readonly neededWaitMs: number;
      readonly factors: PoolFactors;
    }
  /** The stream is to be ended; its lease is settled by its owner as ever. */
  | { readonly kind: 'end_stream'; readonly poolId: string; readonly leaseId: string; readonly why: 'reclaimed' | 'pressure' };

/** Sign of life of a request that waits or runs. */
export interface PoolRenewal {
  readonly leaseId: string;
  /** Of a running one: work so far in tokens and KV bytes held; what exceeds the reservation extends it. 0 while it waits. */
  readonly work: number;
  readonly kvBytes: number;
}

export type PoolEnd = 'ended' | 'already_ended' | 'corrected' | 'unknown';

/** After a call: how it ended, and when something happens by time alone; a processor with waiters calls `tick` then. */
export interface PoolEnded {
  readonly end: PoolEnd;
  readonly nextAtMs: number | null;
}

/** State of an entitlement that asked for something lately. */
export interface EntitlementSnapshot {
  readonly id: string;
  readonly serviceClass: ServiceClass;
  readonly inFlight: number;
  readonly inUse: PoolAmounts;
  readonly baseline: Capacity;
  readonly waiting: number;
  readonly waitingWork: number;
  readonly servedTokensPerSecond: number;
  readonly demandTokensPerSecond: number;
  readonly debtTokens: number;
  readonly overuse: number;
  readonly weight: number;
  readonly sloFactor: number;
  readonly burstFactor: number;
  readonly debtFactor: number;
  readonly virtualTime: number;
}

export interface PoolSnapshot {
  readonly poolId: string;
  readonly capacity: Capacity;
  readonly pressure: Pressure;
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly inFlight: number;
  /** Slots and KV bytes reserved; tokens a second served (10 s average). */
  readonly inUse: PoolAmounts;
  readonly entitlements: readonly EntitlementSnapshot[];
}

/**
 * The shared truth of pools: the second gate, and its one queue. As `Store`: every call may be made again after a fault, leases are
 * named by the caller, ending one twice changes nothing, rejections are faults and never decisions.
 */
export interface PoolStore {
  /** Dispatches, queues or refuses. The same lease id again answers as it stands now. */
  ask(ask: PoolAsk): Promise<PoolAnswer>;
  /** A dispatched request is over: `work` is what it truly took, in tokens as `PoolDemand.work`. */
  settle(poolId: string, leaseId: string, work: number, nowMs: number): Promise<PoolEnded>;
  /** As if it had never been: out of the queue, or, where it was dispatched, everything back. */
  cancel(poolId: string, leaseId: string, nowMs: number): Promise<PoolEnded>;
  /** Waiting and running leases live. One that was granted counts as taken up with its first renewal as running. */
  renew(poolId: string, owner: string, renewals: readonly PoolRenewal[], nowMs: number): Promise<{ readonly nextAtMs: number | null }>;
  /**
   * Does what has come due by time alone: deadlines, refilled buckets, grants that nobody took up, leases of dead processors.
   * Brings the settings, so that a change of capacity or pressure acts without traffic.
   */
  tick(pool: PoolSettings, nowMs: number): Promise<{ readonly nextAtMs: number | null }>;
  snapshot(poolId: string, nowMs: number): Promise<PoolSnapshot | null>;
  /** Events for this owner, in order, each at least once. @returns how to stop listening. */
  onEvent(owner: string, listener: (event: PoolEvent) => void): () => void;
  close(): Promise<void>;
}
