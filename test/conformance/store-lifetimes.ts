import { describe, expect, test } from 'vitest';
import { LEASE_MS } from '../../src/domain/store.js';
import { charge, draft, event, request, used } from './store-builders.js';
import { T0, UnderTest, type MakeStore } from './store-under-test.js';

/** Ten tokens a second come back. */
const total = charge('tokens', { limit: 600, capacity: 10_000, amount: 500, inputAmount: 100 });
const rpm = charge('requests', { limit: 60, capacity: 100 });
const places = charge('concurrency', { limit: 2 });
const DEAD_MS = T0 + LEASE_MS;

const leased = (id: string, inputTokens = 100, charges = [total], rest = {}) => request(id, T0, charges, [], 'acme', { draft: draft(id, inputTokens), ...rest });

/** Leases that nobody renews, and owners that come back from the dead. */
export function describeLifetimes(makeStore: MakeStore): void {
  describe('a lease that nobody renews', () => {
    const on = new UnderTest(makeStore);

    test('is given back whole if nothing was dispatched: no request, no event', async () => {
      const shadow = charge('outputTokens', { limit: 60, capacity: 100, amount: 100 });
      await on.store.reserve(request('a', T0, [rpm, total, places], [shadow]));
      expect(await on.reapFor(T0, LEASE_MS - 1_000)).toBe(0);
      expect(await on.store.reap(DEAD_MS - 0.1)).toBe(0);
      expect(await on.leases()).toBe(1);
      expect(await on.store.reap(DEAD_MS)).toBe(1);
      expect(await on.remainingOf([rpm, total, places, shadow], DEAD_MS)).toEqual([100, 10_000, 2, 100]);
      expect(await on.leases(DEAD_MS)).toBe(0);
      expect(await on.totals(DEAD_MS)).toEqual({});
      expect(await on.store.recentEvents(10)).toEqual([]);
      expect(await on.store.pendingEvents(10)).toEqual([]);
      expect(await on.reapFor(DEAD_MS, 20_000)).toBe(0);
    });

    test('is settled at its draft and the output it told last, once it was dispatched', async () => {
      await on.store.reserve(leased('a', 120, [rpm, total, places]));
      await on.store.renew([{ leaseId: 'a', outputTokens: 90 }], T0);
      await on.store.renew([{ leaseId: 'a', outputTokens: 40 }], T0);
      expect(await on.reapFor(T0, LEASE_MS)).toBe(1);
      // 500 reserved, 100 come back in ten seconds; of the rest all but 160 is given back; the request is not.
      expect(await on.remainingOf([rpm, total, places], DEAD_MS)).toEqual([100, 9_940, 2]);
      const expected = { ...draft('a', 120), outputTokens: 40, outcome: 'abandoned', estimated: true, corrects: false, settledAtMs: DEAD_MS };
      const [booked] = await on.store.recentEvents(10);
      expect(booked).toMatchObject({ ...expected, lines: [{ kind: 'input', tokens: 120 }, { kind: 'output', tokens: 40 }] });
      expect(await on.totals(DEAD_MS)).toEqual({ acme: { requests: 1, inputTokens: 120, cachedInputTokens: 0, outputTokens: 40, reasoningTokens: 0 } });
    });

    test('counts as dispatched by its first renewal, even without output', async () => {
      await on.store.reserve(leased('a'));
      await on.store.renew([{ leaseId: 'a', outputTokens: 0 }], T0);
      await on.reapFor(T0, LEASE_MS);
      expect(await on.store.recentEvents(10)).toMatchObject([{ leaseId: 'a', inputTokens: 100, outputTokens: 0, outcome: 'abandoned' }]);
    });

    test('lives while it is held, and is given back whole all the same: it was not dispatched', async () => {
      await on.store.reserve(leased('a', 120, [rpm, total, places]));
      for (let ms = 0; ms < 30_000; ms += 5_000) {
        await on.store.renew([{ leaseId: 'a', outputTokens: 0, held: true }], T0 + ms);
        expect(await on.reapFor(T0 + ms, 5_000)).toBe(0);
      }
      await on.store.renew([{ leaseId: 'a', outputTokens: 0, held: true }], T0 + 30_000);
      expect(await on.reapFor(T0 + 30_000, LEASE_MS)).toBe(1);
      expect(await on.remainingOf([rpm, total, places], T0 + 40_000)).toEqual([100, 10_000, 2]);
      expect(await on.store.recentEvents(10)).toEqual([]);
    });

    test('was held, was taken for dead, and runs after all: it holds its reservation again, and ends as if it had never been', async () => {
      await on.store.reserve(leased('a', 120, [places]));
      await on.store.renew([{ leaseId: 'a', outputTokens: 0, held: true }], T0);
      expect(await on.reapFor(T0, LEASE_MS)).toBe(1);
      await on.store.renew([{ leaseId: 'a', outputTokens: 0, held: true }], DEAD_MS);
      expect(await on.remaining(places, DEAD_MS)).toBe(1);
      expect(await on.store.cancel('a', DEAD_MS)).toBe('settled');
      expect(await on.remaining(places, DEAD_MS)).toBe(2);
      expect(await on.store.recentEvents(10)).toEqual([]);
    });

    test('counts as dispatched with its first renewal that is not as held', async () => {
      await on.store.reserve(leased('a'));
      await on.store.renew([{ leaseId: 'a', outputTokens: 0, held: true }], T0);
      await on.store.renew([{ leaseId: 'a', outputTokens: 7 }], T0);
      await on.reapFor(T0, LEASE_MS);
      expect(await on.store.recentEvents(10)).toMatchObject([{ leaseId: 'a', inputTokens: 100, outputTokens: 7, outcome: 'abandoned' }]);
    });

    test('is booked to its tenant, the parent of its draft, and whose buckets it held', async () => {
      const parents = charge('tokens', { tenantId: 'corp', limit: 600, capacity: 1_000, amount: 10 });
      await on.store.reserve(leased('a', 100, [total, parents], { rootId: 'corp', draft: draft('a', 100, { parentId: 'unit' }) }));
      await on.store.renew([{ leaseId: 'a', outputTokens: 5 }], T0);
      await on.reapFor(T0, LEASE_MS);
      const each = { requests: 1, inputTokens: 100, cachedInputTokens: 0, outputTokens: 5, reasoningTokens: 0 };
      expect(await on.totals(DEAD_MS)).toEqual({ acme: each, unit: each, corp: each });
    });

    test('frees its tenant and tells those who wait', async () => {
      let heard = 0;
      on.store.onCapacityFreed(() => heard++);
      await on.store.reserve(request('a', T0, [places]));
      expect(await on.store.isIdle('acme', T0 + 5_000)).toBe(false);
      await on.reapFor(T0, LEASE_MS);
      expect(await on.store.isIdle('acme', DEAD_MS)).toBe(true);
      await expect.poll(() => heard).toBe(1);
    });

    test('is one of many: only those are ended, all of them', async () => {
      for (let i = 0; i < 150; i++) await on.store.reserve(leased(`dead${i}`, 1, []));
      await on.store.reserve(leased('lives', 1, []));
      await on.reapFor(T0, 5_000);
      await on.store.renew([{ leaseId: 'lives', outputTokens: 0 }, { leaseId: 'dead0', outputTokens: 0 }], T0 + 5_000);
      expect(await on.reapFor(T0 + 5_000, 5_000)).toBe(149);
      expect(await on.leases(DEAD_MS)).toBe(2);
    });
  });

  describe('the clock that leases expire by', () => {
    const on = new UnderTest(makeStore);

    test('a renewal counts for a whole lease time, over and over', async () => {
      await on.store.reserve(leased('a'));
      for (let ms = 0; ms < 60_000; ms += 5_000) {
        await on.store.renew([{ leaseId: 'a', outputTokens: ms }], T0 + ms);
        expect(await on.reapFor(T0 + ms, 5_000)).toBe(0);
      }
      expect(await on.reapFor(T0 + 60_000, 4_000)).toBe(0);
      expect(await on.store.reap(T0 + 65_000)).toBe(1);
    });

    test('moves on by a second at most with one call: what stood still ends nobody', async () => {
      await on.store.reserve(leased('a'));
      const backMs = T0 + 3_600_000;
      expect(await on.store.reap(backMs)).toBe(0);
      expect(await on.reapFor(backMs, 8_000)).toBe(0);
      expect(await on.store.reap(backMs + 9_000)).toBe(1);
    });

    test('a step back of the clock prolongs no lease by more than that moment', async () => {
      await on.store.reserve(leased('a'));
      expect(await on.reapFor(T0, 5_000)).toBe(0);
      const earlierMs = T0 - 3_600_000;
      expect(await on.store.reap(earlierMs)).toBe(0);
      expect(await on.reapFor(earlierMs, 4_000)).toBe(0);
      expect(await on.store.reap(earlierMs + 5_000)).toBe(1);
    });

    test('moves on with every call for its root, a refused one too, and with none for another', async () => {
      const full = charge('requests', { tenantId: 'other', limit: 1 });
      await on.store.reserve(request('o', T0, [full], [], 'other'));
      await on.store.reserve(leased('a'));
      for (let ms = 1_000; ms < LEASE_MS; ms += 1_000) {
        expect((await on.store.reserve(request('refused', T0 + ms, [full], [], 'other'))).kind).toBe('refused');
      }
      expect(await on.store.reap(DEAD_MS)).toBe(1);
      expect(await on.leases(DEAD_MS)).toBe(1);
      for (let ms = 1_000; ms < LEASE_MS - 1_000; ms += 1_000) await on.store.renew([{ leaseId: 'a', outputTokens: 1 }], DEAD_MS + ms);
      expect(await on.reapFor(DEAD_MS + 9_000, 9_000)).toBe(0);
      expect(await on.store.reap(DEAD_MS + 19_000)).toBe(1);
    });
  });

  describe('back from the dead', () => {
    const on = new UnderTest(makeStore);
    const die = async (id: string, outputTokens: number | null, charges = [rpm, total, places]) => {
      await on.store.reserve(leased(id, 100, charges));
      if (outputTokens !== null) await on.store.renew([{ leaseId: id, outputTokens }], T0);
      expect(await on.reapFor(T0, LEASE_MS)).toBe(1);
    };
    const levels = () => on.remainingOf([rpm, total, places], DEAD_MS);

    test('a lease that others settled is charged the difference, booked as a correction, once', async () => {
      await die('a', 40);
      expect(await levels()).toEqual([100, 9_960, 2]);
      expect(await on.settle('a', used(90, 110, 30), DEAD_MS, { reasoningTokens: 7 })).toBe('corrected');
      expect(await levels()).toEqual([100, 9_900, 2]);
      expect(await on.totals(DEAD_MS)).toEqual({ acme: { requests: 1, inputTokens: 90, cachedInputTokens: 30, outputTokens: 110, reasoningTokens: 7 } });
      const events = await on.store.recentEvents(10);
      expect(events).toMatchObject([
        { leaseId: 'a', corrects: false, outcome: 'abandoned', inputTokens: 100, outputTokens: 40 },
        { leaseId: 'a', corrects: true, outcome: 'completed', estimated: false, inputTokens: -10, cachedInputTokens: 30, outputTokens: 70, reasoningTokens: 7 },
      ]);
      expect(events[1]!.lines).toEqual([{ model: 'm', serviceTier: null, kind: 'input', tokens: -100 }, { model: 'm', serviceTier: null, kind: 'output', tokens: -40 }]);
      expect(await on.settle('a', used(900, 900), DEAD_MS)).toBe('already_ended');
      expect(await on.store.cancel('a', DEAD_MS)).toBe('already_ended');
      await on.store.renew([{ leaseId: 'a', outputTokens: 9_000 }], DEAD_MS);
      expect(await levels()).toEqual([100, 9_900, 2]);
      expect(await on.leases(DEAD_MS)).toBe(0);
      expect(await on.store.recentEvents(10)).toHaveLength(2);
    });

    test('or is given back what was booked too much', async () => {
      await die('a', 400);
      expect(await levels()).toEqual([100, 9_600, 2]);
      expect(await on.settle('a', used(50, 150), DEAD_MS)).toBe('corrected');
      expect(await levels()).toEqual([100, 9_900, 2]);
      expect(await on.totals(DEAD_MS)).toMatchObject({ acme: { requests: 1, inputTokens: 50, outputTokens: 150 } });
      expect((await on.store.recentEvents(1))[0]).toMatchObject({ corrects: true, inputTokens: -50, outputTokens: -250 });
    });

    test('one that was given back whole is charged whole: the request and one event, which corrects none', async () => {
      await die('a', null);
      expect(await on.settle('a', used(90, 20), DEAD_MS)).toBe('corrected');
      expect(await levels()).toEqual([99, 9_890, 2]);
      expect(await on.totals(DEAD_MS)).toMatchObject({ acme: { requests: 1, inputTokens: 90, outputTokens: 20 } });
      expect(await on.store.recentEvents(10)).toMatchObject([{ corrects: false, inputTokens: 90, outputTokens: 20 }]);
      expect(await on.settle('a', used(90, 20), DEAD_MS)).toBe('already_ended');
    });

    test('one that was given back whole has nothing left to cancel', async () => {
      await die('a', null);
      expect(await on.store.cancel('a', DEAD_MS)).toBe('already_ended');
      expect(await levels()).toEqual([100, 10_000, 2]);
    });

    test('one that was booked and is cancelled is taken back: sums of the ledger come to nothing', async () => {
      await die('a', 40);
      expect(await on.store.cancel('a', DEAD_MS)).toBe('corrected');
      expect(await levels()).toEqual([100, 10_000, 2]);
      expect(await on.totals(DEAD_MS)).toEqual({ acme: { requests: 1, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 } });
      expect((await on.store.recentEvents(1))[0]).toMatchObject({ corrects: true, inputTokens: -100, outputTokens: -40, settledAtMs: DEAD_MS });
      expect(await on.store.cancel('a', DEAD_MS)).toBe('already_ended');
    });

    test('one that still runs holds its reservation and its place again, even if that overdraws', async () => {
      const tight = charge('tokens', { limit: 60, capacity: 500, amount: 500, inputAmount: 100 });
      const single = charge('concurrency', { limit: 1 });
      await die('a', 40, [tight, single]);
      await on.store.reserve(request('b', DEAD_MS, [{ ...tight, amount: 370 }, single]));
      expect(await on.remainingOf([tight, single], DEAD_MS)).toEqual([0, 0]);
      await on.store.renew([{ leaseId: 'a', outputTokens: 450 }], DEAD_MS);
      expect(await on.leases(DEAD_MS)).toBe(2);
      expect(await on.remainingOf([tight, single], DEAD_MS)).toEqual([-410, -1]);
      expect(await on.settle('a', used(100, 460), DEAD_MS)).toBe('corrected');
      expect(await on.remainingOf([tight, single], DEAD_MS)).toEqual([-420, 0]);
      expect(await on.totals(DEAD_MS)).toMatchObject({ acme: { requests: 1, inputTokens: 100, outputTokens: 460 } });
    });

    test('one that runs again before anything was booked of it ends as any other', async () => {
      await die('a', null);
      await on.store.renew([{ leaseId: 'a', outputTokens: 3 }], DEAD_MS);
      expect(await levels()).toEqual([99, 9_500, 1]);
      expect(await on.settle('a', used(90, 20), DEAD_MS)).toBe('settled');
      expect(await levels()).toEqual([99, 9_890, 2]);
      expect(await on.store.recentEvents(10)).toMatchObject([{ corrects: false }]);
    });

    test('one that runs again and is cancelled has all given back', async () => {
      await die('a', null);
      await on.store.renew([{ leaseId: 'a', outputTokens: 3 }], DEAD_MS);
      expect(await on.store.cancel('a', DEAD_MS)).toBe('settled');
      expect(await levels()).toEqual([100, 10_000, 2]);
      expect(await on.store.recentEvents(10)).toEqual([]);
    });

    test('one may die several times: each time the difference is booked', async () => {
      await die('a', 40);
      await on.store.renew([{ leaseId: 'a', outputTokens: 60 }], DEAD_MS);
      expect(await on.reapFor(DEAD_MS, LEASE_MS)).toBe(1);
      expect(await on.settle('a', used(90, 70), DEAD_MS + LEASE_MS)).toBe('corrected');
      expect(await on.store.recentEvents(10)).toMatchObject([
        { corrects: false, inputTokens: 100, outputTokens: 40 },
        { corrects: true, outcome: 'abandoned', inputTokens: 0, outputTokens: 20 },
        { corrects: true, outcome: 'completed', inputTokens: -10, outputTokens: 10 },
      ]);
      expect(await on.totals(DEAD_MS)).toMatchObject({ acme: { requests: 1, inputTokens: 90, outputTokens: 70 } });
    });

    test('one that runs again lives by its renewals like any other', async () => {
      await die('a', 40);
      await on.reapFor(DEAD_MS, 30_000);
      await on.store.renew([{ leaseId: 'a', outputTokens: 60 }], DEAD_MS + 30_000);
      expect(await on.reapFor(DEAD_MS + 30_000, 9_000)).toBe(0);
      expect(await on.store.reap(DEAD_MS + 40_000)).toBe(1);
    });

    test('its id still answers as the first time, and charges nothing', async () => {
      const first = await on.store.reserve(leased('a'));
      await on.reapFor(T0, LEASE_MS);
      expect(await on.store.reserve(leased('a'))).toEqual(first);
      expect(await on.leases(DEAD_MS)).toBe(0);
      expect(await on.remaining(total, DEAD_MS)).toBe(10_000);
    });

    test('it is put right within a day; an ended one is known for ten minutes', async () => {
      await die('a', 40, [total]);
      const lateMs = T0 + 86_399_000;
      await on.store.reserve(request('b', lateMs, []));
      await on.settle('b', used(1, 1), lateMs);
      expect(await on.settle('a', used(100, 50), lateMs)).toBe('corrected');
      expect(await on.remaining(total, lateMs)).toBe(9_990);
      expect(await on.settle('b', used(1, 1), lateMs + 599_000)).toBe('already_ended');
      expect(await on.store.settle('a', used(1, 1), event('a'), lateMs + 599_000)).toBe('already_ended');
    });
  });
}
