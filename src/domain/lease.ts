import type { LimitDimension } from './tenant.js';
import type { UsageLine } from './usage.js';

/** One bucket a request is charged to. The store knows no configuration: each charge brings its bucket's numbers. */
export interface BucketCharge {
  /** The bucket: `<tenant id>/<limit id>`. */
  readonly key: string;
  readonly tenantId: string;
  readonly dimension: LimitDimension;
  /** Units a minute; for concurrency: requests at one time. */
  readonly limit: number;
  /** What the bucket holds when full, in units of the dimension. */
  readonly capacity: number;
  /** What to reserve, a whole number, never above `capacity`. */
  readonly amount: number;
  /** The part of `amount` that is for input: output beyond the rest extends the charge while it streams. */
  readonly inputAmount: number;
  readonly countCachedInput: boolean;
}

/** How full a bucket is. */
export interface Level {
  readonly key: string;
  readonly tenantId: string;
  readonly dimension: LimitDimension;
  readonly limit: number;
  readonly capacity: number;
  /** Whole units left, rounded down; negative in debt. Concurrency: free places. */
  readonly remaining: number;
  /** Until full if nothing else is charged, rounded up; 0 for concurrency. */
  readonly resetMs: number;
}

/** A bucket that has too little for what was asked of it. */
export interface Shortage {
  readonly level: Level;
  /** What was asked, in units of the dimension. */
  readonly needed: number;
  /** Until it would have that much. */
  readonly waitMs: number;
  /** False where leases in flight on that bucket may give back before (or the wait is a guess): the wait is an estimate. */
  readonly exact: boolean;
}

export interface ReserveRequest {
  readonly leaseId: string;
  readonly tenantId: string;
  /**
   * The root of the tenant's hierarchy: everything that one decision touches is kept under it (a hash tag in a cluster), so that the
   * decision is one step. Of a tenant without parent its own id.
   */
  readonly rootId: string;
  /** The processor that owns the lease. */
  readonly owner: string;
  readonly nowMs: number;
  /** All are charged or none. */
  readonly enforced: readonly BucketCharge[];
  /** All are charged or none; they never refuse. */
  readonly shadowed: readonly BucketCharge[];
  /**
   * What is booked should this processor never settle: the others then settle the lease at this input and the output of its last
   * renewal, as `abandoned` and estimated.
   */
  readonly draft: LedgerEvent;
}

export type ReserveResult =
  | {
      readonly kind: 'reserved';
      /** Levels after the reservation, in the order of `enforced`, then `shadowed`. */
      readonly levels: readonly Level[];
      /** What shadowed buckets would have refused: the one with the longest wait. */
      readonly wouldRefuse: Shortage | null;
    }
  | {
      readonly kind: 'refused';
      /** The one with the longest wait. Nothing was charged anywhere. */
      readonly shortage: Shortage;
      readonly levels: readonly Level[];
    }
  | {
      /** The store is away, and what it can't count is to be refused (`onStoreFailure: closed`). Nothing was charged. */
      readonly kind: 'unavailable';
      /** None are known. */
      readonly levels: readonly [];
    };

/** True figures of a request, per dimension of a bucket. */
export interface Consumption {
  readonly inputTokens: number;
  /** Part of `inputTokens`. */
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
}

/** One settled request, as the ledger keeps it. Fields of later features are null until those exist. */
export interface LedgerEvent {
  readonly leaseId: string;
  readonly requestId: string;
  readonly tenantId: string;
  readonly parentId: string | null;
  /** First 16 hex digits of the key's SHA-256; null where the tenant was told otherwise. */
  readonly keyId: string | null;
  readonly api: string;
  readonly model: string;
  readonly pool: string | null;
  readonly node: string | null;
  readonly session: string | null;
  readonly costNanoUsd: number | null;
  /** How the request was decided; `would_refuse`: a limit in shadow would have refused it. */
  readonly decision: 'admitted' | 'would_refuse';
  readonly outcome: Outcome;
  /** True where any of the figures is our estimate and not the upstream's. */
  readonly estimated: boolean;
  /**
   * True where this puts right an event of the same lease that others booked for dead: tokens are then the difference to it, and may be
   * negative, and the request is not one more.
   */
  readonly corrects: boolean;
  readonly lines: readonly UsageLine[];
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly reservedInputTokens: number;
  readonly reservedOutputTokens: number;
  /** Whole milliseconds since the epoch, as `settledAtMs`. */
  readonly startedAtMs: number;
  readonly settledAtMs: number;
}

/** How a metered exchange ended. `cut`: by the client or the upstream; `ended`: by us, since its pool needed the room. */
export type Outcome = 'completed' | 'cut' | 'ended' | 'upstream_failed' | 'local_reply' | 'abandoned';

/** `corrected`: others had settled the lease for dead; what it truly cost was charged on top, or given back. */
export type SettleResult = 'settled' | 'already_ended' | 'corrected' | 'unknown';

/** Totals of a tenant since the store began. Exact integers. */
export interface TenantTotals {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}
