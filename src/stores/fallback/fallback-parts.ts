import type { Store } from '../../domain/store.js';
import type { OnStoreFailure } from '../../domain/store-settings.js';
import type { Clock } from '../../lib/clock.js';
import type { Journal, JournalSize } from './journal.js';

export type StoreHealth = 'up' | 'away';

/** Told what the store's absence makes of requests; must not throw. */
export interface FallbackObserver {
  /** From now on nobody waits for the store. `error`: the last of the failures. */
  storeAway(error: unknown): void;
  storeBack(awayMs: number): void;
  /** A request that the store did not answer in time was decided so: by the own share, let pass uncounted, or refused. */
  decidedAway(how: OnStoreFailure): void;
  /** The journal changed. */
  journal(size: JournalSize): void;
  /** A call of ours failed that nobody else hears of; what it was for is in the journal. */
  storeFault(error: unknown): void;
}

export interface FallbackParts {
  /** The shared one. */
  readonly store: Store;
  /** Name of this processor. */
  readonly owner: string;
  readonly clock: Clock;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  readonly mode: OnStoreFailure;
  /** Longest that a request waits for the store, in milliseconds. */
  readonly timeoutMs: number;
  /** How many processors shared the limits when that was last known; null: not known. */
  readonly processors: () => number | null;
  readonly journal: Journal;
  readonly observer: FallbackObserver;
}

/** A store that answers whether or not the shared one does. */
export interface FallbackStore extends Store {
  health(): StoreHealth;
  /** Calls the listener with each change; returns how to stop that. */
  onHealth(listener: (health: StoreHealth) => void): () => void;
  /** Since when the store is away; null while it is not. */
  awaySinceMs(): number | null;
  journalSize(): JournalSize;
}
