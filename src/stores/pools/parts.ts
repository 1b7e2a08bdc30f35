import type { PoolsObserver } from '../../domain/pools-observer.js';
import type { OnStoreFailure } from '../../domain/store-settings.js';
import type { Clock } from '../../lib/clock.js';
import type { OwnedEvent } from '../../pool/scheduler.js';
import type { PoolTime } from './driven.js';
import type { PoolLink } from './link.js';

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
