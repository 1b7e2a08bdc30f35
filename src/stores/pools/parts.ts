import type { OnStoreFailure } from '../../domain/store-settings.js';
import type { Clock } from '../../lib/clock.js';
import type { OwnedEvent } from '../../pool/scheduler.js';
import type { PoolTime } from './driven.js';
import type { PoolLink } from './link.js';

/** Told what happens between the processors of a pool; must not throw. */
export interface PoolsObserver {
  /** This processor uses a pool for the first time. */
  poolUsed(poolId: string): void;
  /** This processor decides for all from now on. */
  keeperBegan(poolId: string): void;
  /** It knows all leases, so many milliseconds after it began: what was asked meanwhile waited. */
  keeperReady(poolId: string, gatheredMs: number): void;
  /** It decides no more: another does, or the pool is not used. */
  keeperEnded(poolId: string): void;
  /** No keeper answers: from now on nobody waits for one. */
  poolAway(poolId: string): void;
  poolBack(poolId: string, awayMs: number): void;
  /** A request that no keeper answered in time was decided so. */
  poolDecidedAway(poolId: string, how: OnStoreFailure): void;
  poolFault(poolId: string, error: unknown): void;
}

/** What all pools of a processor have in common. */
export interface ProcessorParts {
  /** Unique name of this processor: of each start another. */
  readonly processor: string;
  readonly clock: Clock;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  /** Whose time decides. `caller` is for tests, which tell each store the same time. */
  readonly time: PoolTime;
  readonly mode: OnStoreFailure;
  /** Longest that a request waits for the keeper's first answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly dispatchesPerCall?: number | undefined;
  readonly observer: PoolsObserver;
}

export interface MemberParts extends ProcessorParts {
  readonly poolId: string;
  readonly link: PoolLink;
  readonly onEvents: (events: readonly OwnedEvent[]) => void;
}
