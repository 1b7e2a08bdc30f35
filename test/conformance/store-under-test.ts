import { afterEach, beforeEach } from 'vitest';
import type { BucketCharge, Consumption, LedgerEvent, SettleResult, TenantTotals } from '../../src/domain/lease.js';
import type { BucketSpec, Store } from '../../src/domain/store.js';
import { event } from './store-builders.js';

/** A whole minute at some time, as real clocks tell: 2027-01-15, 08:00 UTC. */
export const T0 = 1_800_000_000_000;

/** Gives an empty store that goes by the callers' time and keeps events for a sink. */
export type MakeStore = () => Promise<Store>;

/** The store of the test that runs, and what tests often ask of it. */
export class UnderTest {
  #store: Store | null = null;

  /** To be called while the suite is set up: each of its tests gets a store of its own. */
  constructor(makeStore: MakeStore) {
    beforeEach(async () => {
      this.#store = await makeStore();
    });
    afterEach(() => this.store.close());
  }

  get store(): Store {
    if (this.#store === null) throw new Error('no test runs');
    return this.#store;
  }

  async remaining(bucket: BucketCharge, nowMs = T0): Promise<number> {
    return (await this.remainingOf([bucket], nowMs))[0]!;
  }

  async remainingOf(buckets: readonly BucketSpec[], nowMs = T0): Promise<readonly number[]> {
    return (await this.store.snapshot(buckets, nowMs)).levels.map((level) => level.remaining);
  }

  async leases(nowMs = T0): Promise<number> {
    return (await this.store.snapshot([], nowMs)).leases;
  }

  async totals(nowMs = T0): Promise<Record<string, TenantTotals>> {
    return Object.fromEntries((await this.store.snapshot([], nowMs)).totals);
  }

  settle(id: string, consumed: Consumption, nowMs = T0, rest: Partial<LedgerEvent> = {}): Promise<SettleResult> {
    return this.store.settle(id, consumed, event(id, consumed, { settledAtMs: nowMs, ...rest }), nowMs);
  }

  /** Reaps once a second for so long, as processors do. @returns how many were settled for dead. */
  async reapFor(fromMs: number, durationMs: number): Promise<number> {
    return reapFor(this.store, fromMs, durationMs);
  }
}

export async function reapFor(store: Store, fromMs: number, durationMs: number): Promise<number> {
  let reaped = 0;
  for (let ms = 1_000; ms <= durationMs; ms += 1_000) reaped += await store.reap(fromMs + ms);
  return reaped;
}
