import type { BucketCharge, Consumption, ReserveResult, SettleResult } from '../../../../src/domain/lease.js';
import type { BucketSpec, Store } from '../../../../src/domain/store.js';
import type { OnStoreFailure } from '../../../../src/domain/store-settings.js';
import { VirtualClock } from '../../../../src/lib/virtual-clock.js';
import { createFallbackStore } from '../../../../src/stores/fallback/fallback.js';
import type { FallbackStore } from '../../../../src/stores/fallback/fallback-parts.js';
import { Journal, type JournalBounds, type JournalSize } from '../../../../src/stores/fallback/journal.js';
import { createMemoryStore } from '../../../../src/stores/memory.js';
import { event, request } from '../../../conformance/store-builders.js';
import { FlakyStore } from './flaky-store.js';

export const T0 = 1_800_000_000_000;
/** Longer than any call, pause and probe of a homecoming together. */
export const HOME_MS = 8_000;

export interface AwayOptions {
  readonly mode?: OnStoreFailure;
  readonly processors?: number | null;
  readonly bounds?: JournalBounds;
  readonly journal?: Journal;
  /** A second processor over the same store and time. */
  readonly beside?: Away;
  readonly owner?: string;
  readonly shared?: Store;
}

/** One processor's store over a shared one with a scripted connection, in virtual time. */
export class Away {
  readonly clock: VirtualClock;
  readonly shared: Store;
  readonly flaky: FlakyStore;
  readonly journal: Journal;
  readonly store: FallbackStore;
  readonly told: string[] = [];
  journalTold: JournalSize | null = null;
  readonly owner: string;

  constructor(options: AwayOptions = {}) {
    const { mode = 'local', processors = 1, bounds = { maxEntries: 10_000, maxBytes: 10_000_000 }, beside, owner = 'p1' } = options;
    this.owner = owner;
    this.clock = beside?.clock ?? new VirtualClock(T0);
    this.shared = options.shared ?? beside?.shared ?? createMemoryStore();
    this.flaky = new FlakyStore(this.shared, this.clock);
    this.journal = options.journal ?? new Journal(bounds);
    this.store = createFallbackStore({
      store: this.flaky.store, clock: this.clock, mode, owner,
      journal: this.journal,
      random: () => 0.5,
      timeoutMs: 50,
      processors: () => processors,
      observer: {
        storeAway: () => this.told.push('away'),
        storeBack: () => this.told.push('back'),
        decidedAway: (how) => this.told.push(how),
        journal: (size) => { this.journalTold = size; },
        storeFault: () => this.told.push('fault'),
      },
    });
  }

  get nowMs(): number {
    return this.clock.nowMs();
  }

  /** Lets time pass, with all that becomes due and follows. */
  async pass(ms: number, stepMs = 10): Promise<void> {
    await settled();
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(stepMs, left));
      await settled();
    }
  }

  /** Reserves, and lets time pass until it is decided. @returns the answer and how long it took. */
  async reserveIn(id: string, enforced: readonly BucketCharge[], shadowed: readonly BucketCharge[] = []): Promise<{ result: ReserveResult; tookMs: number }> {
    const fromMs = this.nowMs;
    let decided: { result: ReserveResult; tookMs: number } | null = null;
    void this.store.reserve(request(id, fromMs, enforced, shadowed, 'acme', { owner: this.owner })).then((result) => {
      decided = { result, tookMs: this.nowMs - fromMs };
    });
    await settled();
    while (decided === null) await this.pass(5, 5);
    return decided;
  }

  async reserve(id: string, ...enforced: readonly BucketCharge[]): Promise<ReserveResult['kind']> {
    return (await this.reserveIn(id, enforced)).result.kind;
  }

  async settle(id: string, consumed: Consumption, rest: Parameters<typeof event>[2] = {}): Promise<SettleResult> {
    return this.#in(this.store.settle(id, consumed, event(id, consumed, { settledAtMs: this.nowMs, ...rest }), this.nowMs));
  }

  async cancel(id: string): Promise<SettleResult> {
    return this.#in(this.store.cancel(id, this.nowMs));
  }

  /** The store goes away, and three requests that find it so are given back. */
  async goAway(condition: FlakyStore['condition'] = 'deaf'): Promise<void> {
    this.flaky.condition = condition;
    for (const n of [1, 2, 3]) {
      const id = `goes-away-${n}-${this.nowMs}`;
      if ((await this.reserve(id)) === 'reserved') await this.cancel(id);
    }
  }

  async comeBack(): Promise<void> {
    this.flaky.thaw();
    await this.pass(HOME_MS);
  }

  /** Whole units left at the shared store, whatever its connection. */
  async remaining(...specs: readonly BucketSpec[]): Promise<readonly number[]> {
    return (await this.shared.snapshot(specs, this.nowMs)).levels.map((level) => level.remaining);
  }

  async #in<T>(call: Promise<T>): Promise<T> {
    let answer: { value: T } | null = null;
    void call.then((value) => { answer = { value }; });
    await settled();
    while (answer === null) await this.pass(50, 50);
    return (answer as { value: T }).value;
  }
}

/** All that follows from what has happened, without time passing. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
