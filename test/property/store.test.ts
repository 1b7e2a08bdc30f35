import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Consumption, ReserveResult, SettleResult } from '../../src/domain/lease.js';
import type { BucketSpec, Store } from '../../src/domain/store.js';
import { createMemoryStore } from '../../src/stores/memory.js';
import { event, request } from '../conformance/store-builders.js';
import { Books } from './store-books.js';
import { LEASES, bucketSpecs, histories } from './store-histories.js';
import type { Step } from './store-histories.js';

const T0 = 1_800_000_000_000;
const STORES: readonly (readonly [string, () => Store])[] = [['memory', () => createMemoryStore()]];

type Done = { readonly step: Step; readonly nowMs: number; readonly result: ReserveResult | SettleResult | null };

/** Plays a history; lease ids are used again only while their lease runs, so each id is one lease. */
class Player {
  nowMs = T0;
  readonly books = new Books();
  readonly #rounds = new Map<number, number>();

  constructor(readonly store: Store) {}

  id(lease: number): string {
    return `${lease}#${this.#rounds.get(lease) ?? 0}`;
  }

  async play(step: Step): Promise<Done> {
    const result = await this.#apply(step);
    return { step, nowMs: this.nowMs, result };
  }

  /** Settles every lease that runs. */
  async endAll(consumed: Consumption): Promise<void> {
    for (let lease = 0; lease < LEASES; lease++) {
      if (this.books.has(this.id(lease))) await this.play({ kind: 'settle', lease, consumed });
    }
  }

  async #apply(step: Step): Promise<ReserveResult | SettleResult | null> {
    switch (step.kind) {
      case 'wait':
        this.nowMs += step.ms;
        return null;
      case 'reserve': {
        const known = this.books.has(this.id(step.lease));
        const result = await this.store.reserve(request(this.id(step.lease), this.nowMs, step.enforced, step.shadowed));
        if (!known) this.books.reserve(this.id(step.lease), result, step.enforced, step.shadowed);
        return result;
      }
      case 'renew':
        await this.store.renew([{ leaseId: this.id(step.lease), outputTokens: step.outputTokens }], this.nowMs);
        this.books.renew(this.id(step.lease), step.outputTokens);
        return null;
      case 'settle':
        return this.#ended(step.lease, await this.store.settle(this.id(step.lease), step.consumed, event(this.id(step.lease), step.consumed), this.nowMs), step);
      case 'cancel':
        return this.#ended(step.lease, await this.store.cancel(this.id(step.lease), this.nowMs), step);
    }
  }

  #ended(lease: number, result: SettleResult, step: Step): SettleResult {
    if (result === 'settled') {
      this.books.end(this.id(lease), step.kind === 'settle' ? step.consumed : null);
      this.#rounds.set(lease, (this.#rounds.get(lease) ?? 0) + 1);
    }
    return result;
  }
}

const withHistory = (waits: boolean) => bucketSpecs.chain((specs) => fc.record({ specs: fc.constant(specs), steps: histories(specs, { waits }) }));

async function levels(store: Store, specs: readonly BucketSpec[], nowMs: number): Promise<readonly number[]> {
  return (await store.snapshot(specs, nowMs)).levels.map(({ remaining }) => remaining);
}

describe.each(STORES)('store %s, over random histories', (_, makeStore) => {
  test('1. conservation: what was reserved is settled, refunded or held, after every step', async () => {
    await fc.assert(
      fc.asyncProperty(withHistory(false), async ({ specs, steps }) => {
        const player = new Player(makeStore());
        for (const step of steps) {
          await player.play(step);
          const { levels: told, leases } = await player.store.snapshot(specs, player.nowMs);
          expect(leases).toBe(player.books.running);
          for (const { key, capacity, remaining } of told) {
            const { reserved, settled, refunded, held } = player.books.account(key);
            expect(reserved).toBe(settled + refunded + held);
            expect(capacity - remaining).toBe(settled + held);
          }
        }
      }),
    );
  });

  test('levels agree with the books as time passes, debt and refunds beyond full included', async () => {
    await fc.assert(
      fc.asyncProperty(withHistory(true), async ({ specs, steps }) => {
        const player = new Player(makeStore());
        for (const step of steps) {
          await player.play(step);
          if (step.kind === 'wait') player.books.wait(step.ms, specs);
          expect(await levels(player.store, specs, player.nowMs)).toEqual(specs.map((spec) => player.books.remaining(spec)));
        }
      }),
    );
  });

  test('2. a lease ends exactly once, in whatever order its ends come', async () => {
    const end = fc.constantFrom('settle', 'cancel', 'renew', 'reserve');
    await fc.assert(
      fc.asyncProperty(bucketSpecs, fc.array(end, { minLength: 1, maxLength: 8 }), async (specs, ends) => {
        const store = makeStore();
        const charges = specs.map((spec) => ({ ...spec, amount: 1, inputAmount: 0 }));
        const consumed = { inputTokens: 3, cachedInputTokens: 1, outputTokens: 2 };
        await store.reserve(request('a', T0, charges));
        const results: SettleResult[] = [];
        let after: readonly number[] | null = null;
        for (const kind of ends) {
          if (kind === 'settle') results.push(await store.settle('a', consumed, event('a', consumed), T0));
          else if (kind === 'cancel') results.push(await store.cancel('a', T0));
          else if (kind === 'renew') await store.renew([{ leaseId: 'a', outputTokens: 50 }], T0);
          else await store.reserve(request('a', T0, charges));
          if (results.length === 0) continue;
          after ??= await levels(store, specs, T0);
          expect(await levels(store, specs, T0)).toEqual(after);
        }
        expect(results).toEqual(results.map((__, i) => (i === 0 ? 'settled' : 'already_ended')));
        const events = await store.recentEvents(10);
        expect(events).toHaveLength(ends.find((kind) => kind === 'settle' || kind === 'cancel') === 'settle' ? 1 : 0);
      }),
    );
  });

  test('3. reservations never take a bucket below zero', async () => {
    await fc.assert(
      fc.asyncProperty(withHistory(true), async ({ specs, steps }) => {
        const player = new Player(makeStore());
        for (const step of steps) {
          const before = await levels(player.store, specs, player.nowMs);
          await player.play(step);
          if (step.kind !== 'reserve') continue;
          const after = await levels(player.store, specs, player.nowMs);
          for (const [i, level] of after.entries()) expect(level === before[i] || level >= 0).toBe(true);
        }
      }),
    );
  });

  test('4. a refusal changes nothing', async () => {
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(withHistory(true), async ({ specs, steps }) => {
        const player = new Player(makeStore());
        for (const step of steps) {
          const before = await player.store.snapshot(specs, player.nowMs);
          const { result } = await player.play(step);
          if (result === null || typeof result === 'string' || result.kind !== 'refused') continue;
          refusals++;
          expect(await player.store.snapshot(specs, player.nowMs)).toEqual(before);
        }
      }),
    );
    expect(refusals).toBeGreaterThan(0);
  });

  test('9. with nothing in flight the told wait is exact: then it is admitted, a millisecond before it is not', async () => {
    let waits = 0;
    await fc.assert(
      fc.asyncProperty(withHistory(true), async ({ steps }) => {
        const player = new Player(makeStore());
        for (const step of steps) await player.play(step);
        await player.endAll({ inputTokens: 200, cachedInputTokens: 50, outputTokens: 300 });
        for (const step of steps) {
          if (step.kind !== 'reserve') continue;
          const ask = (id: string, atMs: number) => player.store.reserve(request(id, atMs, step.enforced));
          const result = await ask('probe', player.nowMs);
          if (result.kind !== 'refused') break;
          waits++;
          const { waitMs, exact } = result.shortage;
          expect(exact).toBe(true);
          expect((await ask('probe', player.nowMs + waitMs - 1)).kind).toBe('refused');
          expect((await ask('probe', player.nowMs + waitMs)).kind).toBe('reserved');
          break;
        }
      }),
    );
    expect(waits).toBeGreaterThan(0);
  });

  test('a wait is called exact only where no lease holds the bucket', async () => {
    await fc.assert(
      fc.asyncProperty(withHistory(true), async ({ steps }) => {
        const player = new Player(makeStore());
        const holders = new Map<string, Set<string>>();
        for (const step of steps) {
          const id = step.kind === 'wait' ? '' : player.id(step.lease);
          const wasRunning = player.books.has(id);
          const { result } = await player.play(step);
          if (step.kind === 'settle' || step.kind === 'cancel') for (const set of holders.values()) set.delete(id);
          if (step.kind !== 'reserve' || result === null || typeof result === 'string') continue;
          if (result.kind === 'refused') {
            const { level, exact } = result.shortage;
            expect(exact).toBe(level.dimension !== 'concurrency' && (holders.get(level.key)?.size ?? 0) === 0);
          } else if (!wasRunning && result.kind === 'reserved') {
            for (const { key } of result.wouldRefuse === null ? [...step.enforced, ...step.shadowed] : step.enforced) {
              holders.set(key, (holders.get(key) ?? new Set()).add(id));
            }
          }
        }
      }),
    );
  });
});
