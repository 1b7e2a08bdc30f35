import { describe, expect, test } from 'vitest';
import type { BucketCharge, Consumption, ReserveResult } from '../../src/domain/lease.js';
import { MAX_LEARNED_LENGTH } from '../../src/domain/store.js';
import { charge, event, request, used } from './store-builders.js';
import { describeLedger } from './store-ledger.js';
import { describeLifetimes } from './store-lifetimes.js';
import { T0, UnderTest, type MakeStore } from './store-under-test.js';

/**
 * What every store must do. All times are given with the calls, so the suite never waits. `makeStore` gives an empty
 * store for each test.
 */
export function describeStore(name: string, makeStore: MakeStore): void {
  describe(`store: ${name}`, () => {
    describe('leases', () => describeLeases(makeStore));
    describeLifetimes(makeStore);
    describeLedger(makeStore);
  });
}

function describeLeases(makeStore: MakeStore): void {
  const on = new UnderTest(makeStore);
  const remaining = (bucket: BucketCharge, nowMs = T0) => on.remaining(bucket, nowMs);
  const settle = (id: string, consumed: Consumption, nowMs = T0) => on.settle(id, consumed, nowMs);
  const waitOf = (result: ReserveResult): number => (result.kind === 'refused' ? result.shortage.waitMs : 0);

  describe('reserve', () => {
    test('charges every bucket and tells their levels, enforced first', async () => {
      const rpm = charge('requests', { limit: 60 });
      const tpm = charge('tokens', { limit: 1_000, amount: 300, inputAmount: 100 });
      const shadow = charge('outputTokens', { limit: 500, amount: 200 });
      expect(await on.store.reserve(request('a', T0, [rpm, tpm], [shadow]))).toEqual({
        kind: 'reserved',
        levels: [
          { key: rpm.key, tenantId: 'acme', dimension: 'requests', limit: 60, capacity: 60, remaining: 59, resetMs: 1_000 },
          { key: tpm.key, tenantId: 'acme', dimension: 'tokens', limit: 1_000, capacity: 1_000, remaining: 700, resetMs: 18_000 },
          { key: shadow.key, tenantId: 'acme', dimension: 'outputTokens', limit: 500, capacity: 500, remaining: 300, resetMs: 24_000 },
        ],
        wouldRefuse: null,
      });
      expect((await on.store.snapshot([], T0)).leases).toBe(1);
    });

    test('refuses what does not fit, tells the exact wait, and charges nothing anywhere', async () => {
      const rpm = charge('requests', { limit: 60 });
      const tpm = charge('tokens', { limit: 1_000, amount: 700 });
      const shadow = charge('inputTokens', { limit: 100, amount: 10 });
      await on.store.reserve(request('a', T0, [tpm]));
      await settle('a', used(700, 0));
      const refused = await on.store.reserve(request('b', T0, [rpm, tpm], [shadow]));
      expect(refused).toMatchObject({ kind: 'refused', shortage: { needed: 700, waitMs: 24_000, exact: true, level: { key: tpm.key, remaining: 300 } } });
      expect(refused.levels.map((level) => level.remaining)).toEqual([60, 300, 100]);
      expect(await remaining(rpm)).toBe(60);
      expect(await remaining(tpm)).toBe(300);
      expect(await remaining(shadow)).toBe(100);
      expect((await on.store.snapshot([], T0)).leases).toBe(0);
      expect((await on.store.reserve(request('b', T0 + 23_999, [rpm, tpm]))).kind).toBe('refused');
      expect((await on.store.reserve(request('b', T0 + 24_000, [rpm, tpm]))).kind).toBe('reserved');
    });

    test('tells the longest of several waits', async () => {
      const own = charge('tokens', { limit: 6_000, amount: 6_000 });
      const parents = charge('tokens', { tenantId: 'corp', limit: 600, amount: 600 });
      await on.store.reserve(request('a', T0, [own, parents]));
      await settle('a', used(600, 5_400));
      // Own: 6,000 missing at 100 a second. The parent's: 6,000 missing at 10 a second.
      expect(await on.store.reserve(request('b', T0, [own, parents]))).toMatchObject({ shortage: { level: { key: parents.key }, waitMs: 600_000 } });
      expect(await on.store.reserve(request('b', T0, [parents, own]))).toMatchObject({ shortage: { level: { key: parents.key }, waitMs: 600_000 } });
    });

    test('marks the wait as an estimate while a lease on that bucket runs', async () => {
      const tpm = charge('tokens', { limit: 1_000, amount: 700 });
      await on.store.reserve(request('a', T0, [tpm]));
      expect(await on.store.reserve(request('b', T0, [tpm]))).toMatchObject({ shortage: { waitMs: 24_000, exact: false } });
    });

    test('the same lease id again answers as the first time and charges once', async () => {
      const tpm = charge('tokens', { limit: 1_000, amount: 300 });
      const first = await on.store.reserve(request('a', T0, [tpm]));
      expect(await on.store.reserve(request('a', T0 + 5, [tpm]))).toEqual(first);
      expect(await remaining(tpm)).toBe(700);
      await on.store.cancel('a', T0);
      expect(await on.store.reserve(request('a', T0, [tpm]))).toEqual(first);
      expect(await remaining(tpm)).toBe(1_000);
      expect((await on.store.snapshot([], T0)).leases).toBe(0);
    });

    test('buckets of different tenants with the same limit are apart', async () => {
      await on.store.reserve(request('a', T0, [charge('tokens', { limit: 100, amount: 100 })]));
      const other = charge('tokens', { tenantId: 'other', limit: 100, amount: 100 });
      expect((await on.store.reserve(request('b', T0, [other], [], 'other'))).kind).toBe('reserved');
    });

    test('a time that goes back refills nothing', async () => {
      const rpm = charge('requests', { limit: 1 });
      await on.store.reserve(request('a', T0 + 30_000, [rpm]));
      await settle('a', used(0, 0), T0 + 30_000);
      expect((await on.store.reserve(request('b', T0, [rpm]))).kind).toBe('refused');
      expect((await on.store.reserve(request('b', T0 + 89_999, [rpm]))).kind).toBe('refused');
      expect((await on.store.reserve(request('b', T0 + 90_000, [rpm]))).kind).toBe('reserved');
    });

    test('a bucket from more than a minute ahead is taken as of now, its level kept, by the first that asks for it', async () => {
      const rpm = charge('requests', { limit: 2 });
      for (const id of ['a', 'b']) {
        await on.store.reserve(request(id, T0 + 3_600_000, [rpm]));
        await settle(id, used(0, 0), T0 + 3_600_000);
      }
      expect(await remaining(rpm, T0)).toBe(0);
      expect(await on.store.reserve(request('c', T0, [rpm]))).toMatchObject({ kind: 'refused', shortage: { waitMs: 30_000, exact: true } });
      expect((await on.store.reserve(request('c', T0 + 29_999, [rpm]))).kind).toBe('refused');
      expect((await on.store.reserve(request('c', T0 + 30_000, [rpm]))).kind).toBe('reserved');
    });

    test('a bucket from a minute ahead, or less, waits for the clock', async () => {
      const rpm = charge('requests', { limit: 60, capacity: 1 });
      await on.store.reserve(request('a', T0 + 60_000, [rpm]));
      await settle('a', used(0, 0), T0 + 60_000);
      expect((await on.store.reserve(request('b', T0, [rpm]))).kind).toBe('refused');
      expect((await on.store.reserve(request('b', T0 + 60_999, [rpm]))).kind).toBe('refused');
      expect((await on.store.reserve(request('b', T0 + 61_000, [rpm]))).kind).toBe('reserved');
    });

    test('what ends, grows or comes back from the dead after the clock was put right goes on from now', async () => {
      const [ended, grown, back] = ['ended', 'grown', 'back'].map((tenantId) => charge('tokens', { tenantId, limit: 600, capacity: 10_000, amount: 500 })) as [BucketCharge, BucketCharge, BucketCharge];
      const aheadMs = T0 + 3_600_000;
      for (const bucket of [ended, grown, back]) await on.store.reserve(request(bucket.tenantId, aheadMs, [bucket], [], bucket.tenantId));
      for (let ms = 1_000; ms <= 10_000; ms += 1_000) {
        await on.store.renew(['ended', 'grown'].map((leaseId) => ({ leaseId, outputTokens: 0 })), aheadMs + ms);
        await on.store.reap(aheadMs + ms);
      }
      await settle('ended', used(400, 0), T0);
      await on.store.renew(['grown', 'back'].map((leaseId) => ({ leaseId, outputTokens: 700 })), T0);
      expect(await on.remainingOf([ended, grown, back], T0)).toEqual([9_600, 9_300, 9_300]);
      expect(await on.remainingOf([ended, grown, back], T0 + 10_000)).toEqual([9_700, 9_400, 9_400]);
    });

    test('a time with a fraction counts as its whole millisecond', async () => {
      const rpm = charge('requests', { limit: 1 });
      await on.store.reserve(request('a', T0 + 0.9, [rpm]));
      await settle('a', used(0, 0), T0 + 0.9);
      expect(waitOf(await on.store.reserve(request('b', T0 + 0.1, [rpm])))).toBe(60_000);
      expect(waitOf(await on.store.reserve(request('b', T0 + 59_999.99, [rpm])))).toBe(1);
      expect((await on.store.reserve(request('b', T0 + 60_000.01, [rpm]))).kind).toBe('reserved');
    });

    test('a limit that a reload changed applies to what was used before', async () => {
      await on.store.reserve(request('a', T0, [charge('tokens', { limit: 1_000, amount: 400 })]));
      const raised = charge('tokens', { limit: 2_000, amount: 1_600 });
      expect(await remaining(raised)).toBe(1_600);
      expect((await on.store.reserve(request('b', T0, [raised]))).kind).toBe('reserved');
    });
  });

  describe('shadowed buckets', () => {
    test('never refuse; a shortage is told and none of them is charged', async () => {
      const rpm = charge('requests', { limit: 60 });
      const small = charge('tokens', { limit: 100, amount: 80 });
      const large = charge('outputTokens', { limit: 1_000, amount: 50 });
      await on.store.reserve(request('a', T0, [rpm], [small, large]));
      const second = await on.store.reserve(request('b', T0, [rpm], [small, large]));
      expect(second).toMatchObject({ kind: 'reserved', wouldRefuse: { needed: 80, waitMs: 36_000, level: { key: small.key } } });
      expect(second.levels.map((level) => level.remaining)).toEqual([58, 20, 950]);
      await settle('b', used(500, 500));
      expect(await remaining(small)).toBe(20);
    });

    test('are settled like the enforced', async () => {
      const tpm = charge('tokens', { limit: 1_000, amount: 500 });
      await on.store.reserve(request('a', T0, [], [tpm]));
      await settle('a', used(90, 20));
      expect(await remaining(tpm)).toBe(890);
    });
  });

  describe('settle', () => {
    test('brings each dimension to its true figure', async () => {
      const rpm = charge('requests', { limit: 60 });
      const total = charge('tokens', { limit: 10_000, amount: 4_100, inputAmount: 100 });
      const input = charge('inputTokens', { limit: 10_000, amount: 100, inputAmount: 100 });
      const output = charge('outputTokens', { limit: 10_000, amount: 4_000 });
      const places = charge('concurrency', { limit: 4 });
      const all = [rpm, total, input, output, places];
      await on.store.reserve(request('a', T0, all));
      expect(await settle('a', used(90, 20, 30))).toBe('settled');
      const { levels, leases } = await on.store.snapshot(all, T0);
      expect(levels.map((level) => level.remaining)).toEqual([59, 9_890, 9_910, 9_980, 4]);
      expect(leases).toBe(0);
    });

    test('cached input is left out where it does not count', async () => {
      const free = charge('tokens', { limit: 1_000, amount: 500, countCachedInput: false });
      await on.store.reserve(request('a', T0, [free]));
      await settle('a', used(400, 50, 380));
      expect(await remaining(free)).toBe(930);
    });

    test('may lead into debt, which is refilled and not forgiven', async () => {
      const tpm = charge('tokens', { limit: 600, amount: 100 });
      await on.store.reserve(request('a', T0, [tpm]));
      await settle('a', used(100, 1_400));
      expect(await remaining(tpm)).toBe(-900);
      expect(await remaining(tpm, T0 + 60_000)).toBe(-300);
      expect(await on.store.reserve(request('b', T0 + 60_000, [tpm]))).toMatchObject({ kind: 'refused', shortage: { waitMs: 40_000, exact: true } });
    });

    test('an amount clipped to the bucket is settled at the truth', async () => {
      const tpm = charge('tokens', { limit: 600, capacity: 100, amount: 100, inputAmount: 100 });
      await on.store.reserve(request('a', T0, [tpm]));
      await settle('a', used(150, 30));
      expect(await remaining(tpm)).toBe(-80);
    });

    test('gives back no more than to full', async () => {
      const tpm = charge('tokens', { limit: 600, amount: 600 });
      await on.store.reserve(request('a', T0, [tpm]));
      await settle('a', used(1, 0), T0 + 60_000);
      expect(await remaining(tpm, T0 + 60_000)).toBe(600);
    });

    test('counts once, whatever comes after', async () => {
      const tpm = charge('tokens', { limit: 1_000, amount: 500 });
      await on.store.reserve(request('a', T0, [tpm]));
      expect(await settle('a', used(90, 20))).toBe('settled');
      expect(await settle('a', used(900, 20))).toBe('already_ended');
      expect(await on.store.cancel('a', T0)).toBe('already_ended');
      await on.store.renew([{ leaseId: 'a', outputTokens: 9_000 }], T0);
      expect(await remaining(tpm)).toBe(890);
      expect(await on.store.recentEvents(10)).toHaveLength(1);
      expect((await on.store.snapshot([], T0)).totals.get('acme')).toMatchObject({ requests: 1, inputTokens: 90 });
    });

    test('figures that make no sense charge nothing and break nothing', async () => {
      const tpm = charge('tokens', { limit: 1_000, amount: 500 });
      await on.store.reserve(request('a', T0, [tpm]));
      await settle('a', used(Number.NaN, -5, Infinity));
      expect(await remaining(tpm)).toBe(1_000);
      expect((await on.store.snapshot([], T0)).totals.get('acme')).toMatchObject({ inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 });
    });

    test('of a lease nobody reserved is told as unknown and books nothing', async () => {
      expect(await settle('ghost', used(9, 9))).toBe('unknown');
      expect(await on.store.cancel('ghost', T0)).toBe('unknown');
      expect(await on.store.recentEvents(10)).toEqual([]);
      expect((await on.store.snapshot([], T0)).totals.size).toBe(0);
    });
  });

  describe('cancel', () => {
    test('gives everything back, the request and the place too, and books nothing', async () => {
      const all = [charge('requests', { limit: 60 }), charge('tokens', { limit: 1_000, amount: 500 }), charge('concurrency', { limit: 2 })];
      await on.store.reserve(request('a', T0, all, [charge('outputTokens', { limit: 100, amount: 40 })]));
      await on.store.renew([{ leaseId: 'a', outputTokens: 700 }], T0);
      expect(await on.store.cancel('a', T0)).toBe('settled');
      const { levels, leases, totals } = await on.store.snapshot([...all, charge('outputTokens', { limit: 100 })], T0);
      expect(levels.map((level) => level.remaining)).toEqual([60, 1_000, 2, 100]);
      expect(leases).toBe(0);
      expect(totals.size).toBe(0);
      expect(await on.store.recentEvents(10)).toEqual([]);
    });

    test('counts once', async () => {
      const tpm = charge('tokens', { limit: 1_000, amount: 500 });
      await on.store.reserve(request('a', T0, [tpm]));
      await on.store.reserve(request('b', T0, [tpm]));
      expect(await on.store.cancel('a', T0)).toBe('settled');
      expect(await on.store.cancel('a', T0)).toBe('already_ended');
      expect(await settle('a', used(1, 1))).toBe('already_ended');
      expect(await remaining(tpm)).toBe(500);
    });
  });

  describe('renew', () => {
    const total = charge('tokens', { limit: 1_000, amount: 300, inputAmount: 100 });
    const output = charge('outputTokens', { limit: 1_000, amount: 200 });
    const input = charge('inputTokens', { limit: 1_000, amount: 100, inputAmount: 100 });
    const levels = async () => (await on.store.snapshot([total, output, input], T0)).levels.map((level) => level.remaining);

    test('output within the reservation changes nothing', async () => {
      await on.store.reserve(request('a', T0, [total, output, input]));
      await on.store.renew([{ leaseId: 'a', outputTokens: 200 }], T0);
      expect(await levels()).toEqual([700, 800, 900]);
    });

    test('what exceeds it is charged once, into debt if need be, and put right at settlement', async () => {
      await on.store.reserve(request('a', T0, [total, output, input]));
      await on.store.renew([{ leaseId: 'a', outputTokens: 250 }], T0);
      await on.store.renew([{ leaseId: 'a', outputTokens: 250 }], T0);
      expect(await levels()).toEqual([650, 750, 900]);
      await on.store.renew([{ leaseId: 'a', outputTokens: 1_500 }], T0);
      expect(await levels()).toEqual([-600, -500, 900]);
      await on.store.renew([{ leaseId: 'a', outputTokens: 1_200 }], T0);
      expect(await levels()).toEqual([-600, -500, 900]);
      await settle('a', used(80, 1_600));
      expect(await levels()).toEqual([-680, -600, 920]);
    });

    test('passes over unknown leases and takes the others', async () => {
      await on.store.reserve(request('a', T0, [total]));
      await on.store.renew([{ leaseId: 'ghost', outputTokens: 900 }, { leaseId: 'a', outputTokens: 201 }], T0);
      expect(await remaining(total)).toBe(699);
    });
  });

  describe('concurrency', () => {
    const places = charge('concurrency', { limit: 2 });

    test('counts leases that run; refused ones take no place', async () => {
      await on.store.reserve(request('a', T0, [places]));
      await on.store.reserve(request('b', T0, [places]));
      const refused = await on.store.reserve(request('c', T0 + 600_000, [places]));
      expect(refused).toMatchObject({ kind: 'refused', shortage: { needed: 1, exact: false, level: { remaining: 0, resetMs: 0 } } });
      expect(waitOf(refused)).toBeGreaterThan(0);
      await settle('a', used(1, 1), T0 + 600_000);
      expect((await on.store.reserve(request('c', T0 + 600_000, [places]))).kind).toBe('reserved');
      expect(await remaining(places, T0 + 600_000)).toBe(0);
    });

    test('a refusal by another limit takes no place', async () => {
      const tpm = charge('tokens', { limit: 10, amount: 10 });
      await on.store.reserve(request('a', T0, [places, tpm]));
      expect((await on.store.reserve(request('b', T0, [places, tpm]))).kind).toBe('refused');
      expect(await remaining(places)).toBe(1);
    });
  });

  describe('what is told', () => {
    test('totals go to the tenant, its parent and every tenant whose bucket was charged, once each', async () => {
      const charges = [charge('tokens', { limit: 1_000, amount: 10 }), charge('requests', { limit: 10 }), charge('tokens', { tenantId: 'corp', limit: 1_000, amount: 10 })];
      await on.store.reserve(request('a', T0, charges));
      const consumed = used(90, 20, 30);
      await on.store.settle('a', consumed, event('a', consumed, { parentId: 'unit', reasoningTokens: 7 }), T0);
      const { totals } = await on.store.snapshot([], T0);
      const expected = { requests: 1, inputTokens: 90, cachedInputTokens: 30, outputTokens: 20, reasoningTokens: 7 };
      expect(Object.fromEntries(totals)).toEqual({ acme: expected, unit: expected, corp: expected });
    });

    test('a snapshot stays as it was', async () => {
      await on.store.reserve(request('a', T0, []));
      await settle('a', used(1, 1));
      const before = await on.store.snapshot([], T0);
      await on.store.reserve(request('b', T0, []));
      await settle('b', used(1, 1));
      expect(before.totals.get('acme')?.requests).toBe(1);
    });

    test('recent events come oldest first', async () => {
      for (const id of ['a', 'b', 'c']) {
        await on.store.reserve(request(id, T0, []));
        await settle(id, used(1, 1));
      }
      expect((await on.store.recentEvents(2)).map(({ leaseId }) => leaseId)).toEqual(['b', 'c']);
      expect(await on.store.recentEvents(0)).toEqual([]);
    });

    test('a tenant is idle when nothing of it runs and all its buckets are full', async () => {
      const tpm = charge('tokens', { limit: 600, amount: 60 });
      expect(await on.store.isIdle('acme', T0)).toBe(true);
      await on.store.reserve(request('a', T0, [tpm]));
      expect(await on.store.isIdle('acme', T0 + 600_000)).toBe(false);
      await settle('a', used(60, 0));
      expect(await on.store.isIdle('acme', T0 + 5_999)).toBe(false);
      expect(await on.store.isIdle('acme', T0 + 6_000)).toBe(true);
    });

    test('a tenant without limits is not idle while its lease runs, nor a parent while a child holds its place', async () => {
      await on.store.reserve(request('a', T0, []));
      expect(await on.store.isIdle('acme', T0)).toBe(false);
      await on.store.cancel('a', T0);
      expect(await on.store.isIdle('acme', T0)).toBe(true);
      await on.store.reserve(request('b', T0, [charge('concurrency', { tenantId: 'corp', limit: 5 })]));
      expect(await on.store.isIdle('corp', T0)).toBe(false);
    });

    test('what was learned is kept by key: the state of more observations stays', async () => {
      const state = (key: string, observations: number) => ({ key, observations, state: `${key} after ${observations}` });
      expect(await on.store.loadLearned()).toEqual([]);
      await on.store.saveLearned([state('a', 5), state('b', 1)]);
      await on.store.saveLearned([state('a', 4), state('b', 2)]);
      await on.store.saveLearned([state('c', 1)]);
      const kept = [...(await on.store.loadLearned())].sort((one, other) => one.key.localeCompare(other.key));
      expect(kept).toEqual([state('a', 5), state('b', 2), state('c', 1)]);
    });

    test('a state that is too long is not kept, and harms none beside it', async () => {
      await on.store.saveLearned([{ key: 'long', observations: 1, state: 'x'.repeat(MAX_LEARNED_LENGTH + 1) }, { key: 'a', observations: 1, state: 's' }]);
      expect((await on.store.loadLearned()).map(({ key }) => key)).toEqual(['a']);
    });

    test('listeners hear of every end until they stop', async () => {
      let heard = 0;
      const stop = on.store.onCapacityFreed(() => heard++);
      for (const id of ['a', 'b', 'c']) await on.store.reserve(request(id, T0, []));
      await settle('a', used(1, 1));
      await on.store.cancel('b', T0);
      await settle('a', used(1, 1));
      await expect.poll(() => heard).toBe(2);
      stop();
      await settle('c', used(1, 1));
      expect(heard).toBe(2);
    });
  });
}
