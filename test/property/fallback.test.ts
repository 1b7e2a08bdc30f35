import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Consumption, LedgerEvent } from '../../src/domain/lease.js';
import { LEASE_MS } from '../../src/domain/store.js';
import type { OnStoreFailure } from '../../src/domain/store-settings.js';
import { createMemoryStore } from '../../src/stores/memory.js';
import { charge, event, request } from '../conformance/store-builders.js';
import { Away, HOME_MS, settled } from '../unit/stores/fallback/away.js';
import type { Condition } from '../unit/stores/fallback/flaky-store.js';

const RATE = charge('tokens', { limit: 600, capacity: 600, amount: 100, inputAmount: 20 });
const PLACES = charge('concurrency', { limit: 8 });
const LEASES = 8;
const TIMEOUT_MS = 50;

type Step =
  | { readonly kind: 'condition'; readonly processor: number; readonly condition: Condition }
  | { readonly kind: 'reserve' | 'cancel'; readonly processor: number; readonly lease: number }
  | { readonly kind: 'renew'; readonly processor: number; readonly lease: number; readonly outputTokens: number }
  | { readonly kind: 'settle'; readonly processor: number; readonly lease: number; readonly consumed: Consumption }
  | { readonly kind: 'wait'; readonly ms: number };

const processor = fc.nat({ max: 1 });
const lease = fc.nat({ max: LEASES - 1 });
const CONDITIONS: readonly Condition[] = ['up', 'refuses', 'deaf', 'mute', 'frozen', { slowMs: 30 }, { slowMs: 80 }];
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('condition' as const), processor, condition: fc.constantFrom(...CONDITIONS) }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('reserve' as const), processor, lease }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), processor, lease }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('renew' as const), processor, lease, outputTokens: fc.nat({ max: 300 }) }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('settle' as const), processor, lease,
        consumed: fc.record({ inputTokens: fc.nat({ max: 50 }), outputTokens: fc.nat({ max: 300 }), cachedInputTokens: fc.constant(0) }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat({ max: 3_000 }) }) },
  ),
  { minLength: 20, maxLength: 120, size: 'max' },
);

/** Two processors over one store that both lose and find again; and what truly happened. */
class Outages {
  readonly processors: readonly [Away, Away];
  /** What each lease that was settled consumed. */
  readonly consumed = new Map<string, Consumption>();
  longestMs = 0;
  readonly #running = new Map<string, string>();
  readonly #dispatched = new Set<string>();
  #ids = 0;

  constructor(mode: OnStoreFailure) {
    const first = new Away({ mode, processors: 2, shared: createMemoryStore({ recentEvents: 100_000 }) });
    this.processors = [first, new Away({ mode, processors: 2, beside: first, owner: 'p2' })];
  }

  async play(step: Step): Promise<void> {
    if (step.kind === 'wait') return this.pass(step.ms);
    const on = this.processors[step.processor]!;
    if (step.kind === 'condition') {
      if (step.condition === 'up') on.flaky.thaw();
      else on.flaky.condition = step.condition;
      return;
    }
    const slot = `${step.processor}:${step.lease}`;
    const id = this.#running.get(slot);
    if (step.kind === 'reserve') return id === undefined ? this.#reserve(on, slot) : undefined;
    if (id === undefined) return;
    if (step.kind === 'renew') {
      this.#dispatched.add(id);
      return void on.store.renew([{ leaseId: id, outputTokens: step.outputTokens }], on.nowMs).catch(() => undefined);
    }
    // What is renewed was dispatched, and is settled in the end.
    if (step.kind === 'cancel' && this.#dispatched.has(id)) return;
    this.#running.delete(slot);
    if (step.kind === 'settle') this.#settle(on, id, step.consumed);
    else void on.store.cancel(id, on.nowMs);
  }

  /** All that runs is settled, all that is away comes back. */
  async end(): Promise<void> {
    for (const [slot, id] of this.#running) this.#settle(this.processors[slot.startsWith('0') ? 0 : 1]!, id, { inputTokens: 3, outputTokens: 4, cachedInputTokens: 0 });
    await this.pass(1_500);
    for (const on of this.processors) on.flaky.thaw();
    await this.pass(2 * HOME_MS);
    // What arrived after everything is nobody's, and is found by the reaper.
    await this.pass(2 * LEASE_MS);
  }

  /** Time passes for both, and both look for dead leases about once a second. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      await this.processors[0].pass(Math.min(1_000, left), 25);
      for (const { store, nowMs } of this.processors) void store.reap(nowMs).catch(() => undefined);
    }
    await settled();
  }

  /** Requests and tokens of all that was settled. */
  get truth(): readonly number[] {
    const all = [...this.consumed.values()];
    return [all.length, all.reduce((sum, one) => sum + one.inputTokens, 0), all.reduce((sum, one) => sum + one.outputTokens, 0)];
  }

  async #reserve(on: Away, slot: string): Promise<void> {
    const id = `r${this.#ids++}`;
    const fromMs = on.nowMs;
    let kind = '';
    void on.store.reserve(request(id, fromMs, [RATE, PLACES], [], 'acme', { owner: on.owner })).then((result) => {
      ({ kind } = result);
      this.longestMs = Math.max(this.longestMs, on.nowMs - fromMs);
    });
    await settled();
    while (kind === '') await on.pass(10);
    if (kind === 'reserved') this.#running.set(slot, id);
  }

  #settle(on: Away, id: string, consumed: Consumption): void {
    this.consumed.set(id, consumed);
    void on.store.settle(id, consumed, event(id, consumed, { settledAtMs: on.nowMs }), on.nowMs);
  }
}

/** Tokens by lease: what was booked for one that seemed dead, and put right, is one sum. */
function inLedger(events: readonly LedgerEvent[]): ReadonlyMap<string, readonly number[]> {
  const sums = new Map<string, readonly number[]>();
  for (const { leaseId, inputTokens, outputTokens } of events) {
    const [input = 0, output = 0] = sums.get(leaseId) ?? [];
    sums.set(leaseId, [input + inputTokens, output + outputTokens]);
  }
  return new Map([...sums].filter(([, [input, output]]) => input !== 0 || output !== 0).sort(([one], [other]) => one.localeCompare(other)));
}

describe.each(['local', 'open', 'closed'] as const)('a store that comes and goes under two processors (%s)', (mode) => {
  test('nothing is booked twice, lost or leaked, no reservation waits beyond its time-out, and the totals are the truth', async () => {
    let away = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const on = new Outages(mode);
        for (const step of history) await on.play(step);
        away += on.processors.filter((each) => each.told.includes('away')).length;
        await on.end();
        const { shared } = on.processors[0];
        const { leases, totals, levels } = await shared.snapshot([PLACES], on.processors[0].nowMs);
        const acme = totals.get('acme');
        expect([acme?.requests ?? 0, acme?.inputTokens ?? 0, acme?.outputTokens ?? 0]).toEqual(on.truth);
        expect(inLedger(await shared.recentEvents(100_000))).toEqual(inLedger([...on.consumed].map(([id, consumed]) => event(id, consumed))));
        expect([leases, levels[0]?.remaining]).toEqual([0, 8]);
        for (const each of on.processors) expect(each.journal.size).toEqual({ entries: 0, bytes: 0, dropped: 0 });
        expect(on.longestMs).toBeLessThanOrEqual(TIMEOUT_MS);
      }),
      { numRuns: 60 },
    );
    expect(away).toBeGreaterThan(10);
  }, 120_000);
});

describe('limits in an outage', () => {
  test('all processors together give out no more than one limit in it, whatever they had used before', async () => {
    const scenario = fc.record({ before: fc.array(fc.tuple(processor, fc.nat({ max: 100 })), { maxLength: 8 }), asks: fc.array(fc.tuple(processor, fc.nat({ max: 4_000 })), { maxLength: 40 }) });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ before, asks }) => {
        const first = new Away({ processors: 2 });
        const both = [first, new Away({ processors: 2, beside: first, owner: 'p2' })];
        const fromMs = first.nowMs;
        let given = 0;
        const ask = async (on: Away, id: string): Promise<void> => {
          if ((await on.reserve(id, RATE)) !== 'reserved') return;
          given += RATE.amount;
          await on.settle(id, { inputTokens: 20, outputTokens: 80, cachedInputTokens: 0 });
        };
        for (const [i, [n]] of before.entries()) await ask(both[n]!, `b${i}`);
        // Each knows a level of its own last look: both look once more.
        for (const on of both) await ask(on, `look-${on.owner}`);
        for (const on of both) await on.goAway('refuses');
        for (const [i, [n, ms]] of asks.entries()) {
          await ask(both[n]!, `a${i}`);
          await first.pass(ms, 1_000);
        }
        const refilled = ((first.nowMs - fromMs) * RATE.limit) / 60_000;
        // A reservation that is larger than a share's room passes only where the share is full: one of them may be beyond.
        expect(given).toBeLessThanOrEqual(RATE.capacity + refilled + RATE.amount);
      }),
      { numRuns: 60 },
    );
  });

  test('a minute after the return the shared bucket is as if it had never been away', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(processor, fc.nat({ max: 2_000 })), { minLength: 1, maxLength: 60 }), async (asks) => {
        const first = new Away({ processors: 2 });
        const both = [first, new Away({ processors: 2, beside: first, owner: 'p2' })];
        for (const on of both) await on.goAway('refuses');
        for (const [i, [n, ms]] of asks.entries()) {
          if ((await both[n]!.reserve(`a${i}`, RATE)) === 'reserved') await both[n]!.settle(`a${i}`, { inputTokens: 20, outputTokens: 80, cachedInputTokens: 0 });
          await first.pass(ms, 1_000);
        }
        for (const on of both) on.flaky.thaw();
        await first.pass(60_000 + HOME_MS, 250);
        expect(await first.remaining(RATE)).toEqual([RATE.capacity]);
        expect((await first.shared.snapshot([], first.nowMs)).leases).toBe(0);
      }),
      { numRuns: 30 },
    );
  });
});
