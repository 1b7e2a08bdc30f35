import type { LearnedState } from '../../domain/estimate.js';
import type { LedgerEvent } from '../../domain/lease.js';
import type { BucketSpec, Store, StoredEvent, StoreSnapshot } from '../../domain/store.js';
import type { Clock } from '../../lib/clock.js';
import type { AwayView } from './away-view.js';
import { within } from './within.js';

/** Longest wait for calls that no request waits for: those of leases, and those that read much. */
export const BACKGROUND_MS = 1_000;
export const READ_MS = 5_000;

/** The store is away, and what was asked can't be answered without it. */
export class StoreAway extends Error {
  constructor() {
    super('the store is away');
  }
}

export interface ReadParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly view: AwayView;
  readonly isAway: () => boolean;
}

/** The calls of a store that decide nothing: they may be slow for what they read, and are refused or answered in part while it is away. */
export class Reads {
  /** As the shared store has it, or has not. */
  readonly claimExport: Store['claimExport'];

  constructor(private readonly reading: ReadParts) {
    const { store } = reading;
    const claim = store.claimExport?.bind(store);
    this.claimExport = claim && ((exporter, nowMs) => this.#read(BACKGROUND_MS, () => claim(exporter, nowMs)));
  }

  async reap(nowMs: number): Promise<number> {
    return this.reading.isAway() ? 0 : this.#read(BACKGROUND_MS, () => this.reading.store.reap(nowMs));
  }

  heartbeat(owner: string, nowMs: number): Promise<number> {
    return this.#read(BACKGROUND_MS, () => this.reading.store.heartbeat(owner, nowMs));
  }

  /** While the store is away: this processor's leases, its share of each limit, and totals as last known with the journal on top. */
  async snapshot(buckets: readonly BucketSpec[], nowMs: number): Promise<StoreSnapshot> {
    const { store, view, isAway } = this.reading;
    return isAway() ? view.snapshot(buckets, nowMs) : view.saw(await this.#read(READ_MS, () => store.snapshot(buckets, nowMs)));
  }

  /** Nobody is called idle while the store can't tell. */
  async isIdle(tenantId: string, nowMs: number): Promise<boolean> {
    return this.reading.isAway() ? false : this.#read(READ_MS, () => this.reading.store.isIdle(tenantId, nowMs));
  }

  /** While the store is away: what waits to be booked. */
  async recentEvents(limit: number): Promise<readonly LedgerEvent[]> {
    const { store, view, isAway } = this.reading;
    return isAway() ? view.recentEvents(limit) : this.#read(READ_MS, () => store.recentEvents(limit));
  }

  totalsIn(period: string): ReturnType<Store['totalsIn']> {
    return this.#read(READ_MS, () => this.reading.store.totalsIn(period));
  }

  pendingEvents(limit: number): Promise<readonly StoredEvent[]> {
    return this.#read(READ_MS, () => this.reading.store.pendingEvents(limit));
  }

  acknowledgeEvents(events: readonly StoredEvent[]): Promise<void> {
    return this.#read(READ_MS, () => this.reading.store.acknowledgeEvents(events));
  }

  saveLearned(states: readonly LearnedState[]): Promise<void> {
    return this.#read(READ_MS, () => this.reading.store.saveLearned(states));
  }

  loadLearned(): Promise<readonly LearnedState[]> {
    return this.#read(READ_MS, () => this.reading.store.loadLearned());
  }

  #read<T>(ms: number, call: () => Promise<T>): Promise<T> {
    return this.reading.isAway() ? Promise.reject(new StoreAway()) : within(this.reading.clock, ms, call);
  }
}
