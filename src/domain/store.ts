import type { LearnedState } from './estimate.js';
import type { BucketCharge, Consumption, Level, LedgerEvent, ReserveRequest, ReserveResult, SettleResult, TenantTotals } from './lease.js';

/** Counted output of a lease that still runs. */
export interface Renewal {
  readonly leaseId: string;
  /** Output so far, in tokens: what exceeds the reservation extends it (and may take a bucket into debt). */
  readonly outputTokens: number;
}

/** Longest state that is kept, its key included, in UTF-16 units. */
export const MAX_LEARNED_LENGTH = 32 * 1024;

/** What a bucket is, without a charge: to ask for its level. */
export type BucketSpec = Omit<BucketCharge, 'amount' | 'inputAmount'>;

export interface StoreSnapshot {
  /** Leases that have not ended. */
  readonly leases: number;
  readonly levels: readonly Level[];
  readonly totals: ReadonlyMap<string, TenantTotals>;
}

/**
 * The shared truth of quotas. Every call may be made again after a fault: leases are named by the caller, and ending one
 * twice changes nothing. Rejections are faults of the store, never decisions.
 */
export interface Store {
  /** One atomic step over all charges: charges all of them or none. The same lease id again answers as the first time. */
  reserve(request: ReserveRequest): Promise<ReserveResult>;
  /** Extends leases by what they put out beyond their reservation. Unknown or ended leases are passed over. */
  renew(renewals: readonly Renewal[], nowMs: number): Promise<void>;
  /** Ends a lease at its true figures and books the event. Only the first end of a lease counts. */
  settle(leaseId: string, consumed: Consumption, event: LedgerEvent, nowMs: number): Promise<SettleResult>;
  /** Ends a lease as if it had never been: everything back, the request too. */
  cancel(leaseId: string, nowMs: number): Promise<SettleResult>;
  snapshot(buckets: readonly BucketSpec[], nowMs: number): Promise<StoreSnapshot>;
  /** True if none of the tenant's buckets is charged and no lease of it runs, so that forgetting it forgives nothing. */
  isIdle(tenantId: string, nowMs: number): Promise<boolean>;
  /** Latest settled requests, oldest first. */
  recentEvents(limit: number): Promise<readonly LedgerEvent[]>;
  /**
   * Keeps what was learned. Of two states of one key the one of more observations stays. Number and bytes are bounded: the
   * ones that were saved longest ago give way, and a state above `MAX_LEARNED_LENGTH` is not kept.
   */
  saveLearned(states: readonly LearnedState[]): Promise<void>;
  /** All that was learned, by whichever processor. */
  loadLearned(): Promise<readonly LearnedState[]>;
  /** Calls the listener after leases ended; returns how to stop that. */
  onCapacityFreed(listener: () => void): () => void;
  close(): Promise<void>;
}
