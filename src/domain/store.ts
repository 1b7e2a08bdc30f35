import type { LearnedState } from './estimate.js';
import type { BucketCharge, Consumption, Level, LedgerEvent, ReserveRequest, ReserveResult, SettleResult, TenantTotals } from './lease.js';

/** A lease that nobody renewed for so long is settled by whoever notices, in milliseconds of the store's own clock. */
export const LEASE_MS = 10_000;

/** Every lease is renewed at least this often while its exchange lives, in milliseconds. */
export const RENEW_MS = 1_000;

/** How long an ended lease is known, in milliseconds: a call that comes late or again finds that it ended. */
export const ENDED_MS = 600_000;

/** A processor that has not told of itself for so long counts as gone, in milliseconds. */
export const PROCESSOR_MS = 10_000;

/** Sign of life of a lease that still runs, with its counted output. */
export interface Renewal {
  readonly leaseId: string;
  /** Output so far, in tokens: what exceeds the reservation extends it (and may take a bucket into debt). */
  readonly outputTokens: number;
  /** It waits at another gate: it lives, and is not dispatched yet. */
  readonly held?: boolean;
}

/** Longest state that is kept, its key included, in UTF-16 units. */
export const MAX_LEARNED_LENGTH = 32 * 1024;

/** What a bucket is, without a charge: to ask for its level. */
export type BucketSpec = Omit<BucketCharge, 'amount' | 'inputAmount'>;

/** An event as the store keeps it until a sink has it. */
export interface StoredEvent {
  /** Unique and rising within its root: the same event delivered twice has the same one. */
  readonly id: string;
  readonly rootId: string;
  readonly event: LedgerEvent;
}

export interface StoreSnapshot {
  /** Leases that have not ended. */
  readonly leases: number;
  readonly levels: readonly Level[];
  readonly totals: ReadonlyMap<string, TenantTotals>;
}

/**
 * The shared truth of quotas. Every call may be made again after a fault: leases are named by the caller, and ending one
 * twice changes nothing. Rejections are faults of the store, never decisions.
 *
 * An ended lease is known for `ENDED_MS` at least, by whichever clock the store forgets (a shared one by its server's; one in memory
 * sooner, once ten thousand newer ones ended). A call about it after
 * that may be answered as before or as for a lease that never was: to reserve with its id may begin another. So ids are never used twice.
 *
 * A caller's time may stand still or step back a little: nothing refills, and no lease expires by it. Where it steps back by seconds after a
 * root was left alone for `LEASE_MS`, a lease that begins there may be missing in counts, and is not reaped, until it is next renewed.
 */
export interface Store {
  /** One atomic step over all charges: charges all of them or none. The same lease id again answers as the first time. */
  reserve(request: ReserveRequest): Promise<ReserveResult>;
  /**
   * Tells that these leases live, and extends them by what they put out beyond their reservation. A lease that was renewed once, and not as
   * held, counts as dispatched. One that others settled for dead runs again (it may overdraw); ended and unknown ones are passed over.
   */
  renew(renewals: readonly Renewal[], nowMs: number): Promise<void>;
  /**
   * Ends a lease at its true figures and books the event. Only the first end of a lease counts; but one that others settled for dead is
   * put right by the difference, and an event of that is booked too (`corrected`).
   */
  settle(leaseId: string, consumed: Consumption, event: LedgerEvent, nowMs: number): Promise<SettleResult>;
  /** Ends a lease as if it had never been: everything back, the request too. */
  cancel(leaseId: string, nowMs: number): Promise<SettleResult>;
  /**
   * Settles all leases that nobody renewed for `LEASE_MS`: at their draft's input and their last renewal's output, or as if they had
   * never been where they were never renewed, since nothing was dispatched then. How many. Processors call it about once a second.
   *
   * The clock that leases expire by moves on by at most a second with each call for a root, so that a store (or a machine) that stood
   * still ends nobody's lease.
   */
  reap(nowMs: number): Promise<number>;
  /** Tells that this processor lives, every few seconds. @returns how many told so within the last `PROCESSOR_MS`, this one included. */
  heartbeat(owner: string, nowMs: number): Promise<number>;
  snapshot(buckets: readonly BucketSpec[], nowMs: number): Promise<StoreSnapshot>;
  /** True if none of the tenant's buckets is charged and no lease of it runs, so that forgetting it forgives nothing. */
  isIdle(tenantId: string, nowMs: number): Promise<boolean>;
  /** Latest settled requests, oldest first. */
  recentEvents(limit: number): Promise<readonly LedgerEvent[]>;
  /**
   * Exact totals of all tenants in a period of UTC: a day (`2026-11-29`) or a month (`2026-11`), by the time of settlement. Kept for 40
   * days and 14 months at least.
   */
  totalsIn(period: string): Promise<ReadonlyMap<string, TenantTotals>>;
  /** The oldest events that no sink has acknowledged, in order, at most `limit`. The same ones come again until they are acknowledged. */
  pendingEvents(limit: number): Promise<readonly StoredEvent[]>;
  /**
   * Whether `owner` may hand events to a sink: one at a time may, until it has not asked for `LEASE_MS`. To claim again in time keeps it.
   * A store of one process has no such call: its only owner always may. Duplicates stay possible, where an owner stood still for longer.
   */
  claimExport?(owner: string, nowMs: number): Promise<boolean>;
  /** A durable sink has these: the store may forget them. Ids that are not known are passed over. */
  acknowledgeEvents(events: readonly StoredEvent[]): Promise<void>;
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
