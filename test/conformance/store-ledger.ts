import { describe, expect, test } from 'vitest';
import { LEASE_MS, PROCESSOR_MS } from '../../src/domain/store.js';
import { charge, draft, event, request, used } from './store-builders.js';
import { T0, UnderTest, type MakeStore } from './store-under-test.js';

const DAY_MS = 86_400_000;
/** Midnight of UTC at the end of 2027-01-15, and of the month. */
const MIDNIGHT = Date.UTC(2027, 0, 16);
const MONTHS_END = Date.UTC(2027, 1, 1);

/** Events and totals of what was settled, and who tells of itself. */
export function describeLedger(makeStore: MakeStore): void {
  const on = new UnderTest(makeStore);
  const run = async (id: string, nowMs = T0, tenantId = 'acme', consumed = used(1, 1)) => {
    await on.store.reserve(request(id, nowMs, [], [], tenantId));
    await on.settle(id, consumed, nowMs, { tenantId });
  };
  const requestsIn = async (period: string, tenantId = 'acme') => (await on.store.totalsIn(period)).get(tenantId)?.requests ?? 0;

  describe('totals by period', () => {
    test('are of the day and the month of UTC in which a request was settled', async () => {
      await run('a', MIDNIGHT - 1);
      await run('b', MIDNIGHT, 'acme', used(90, 20, 30));
      await run('c', MONTHS_END - 1);
      await run('d', MONTHS_END);
      const days = ['2027-01-14', '2027-01-15', '2027-01-16', '2027-01-31', '2027-02-01'];
      expect(await Promise.all(days.map((day) => requestsIn(day)))).toEqual([0, 1, 1, 1, 1]);
      expect([await requestsIn('2027-01'), await requestsIn('2027-02'), await requestsIn('2027')]).toEqual([3, 1, 0]);
      const exact = { requests: 1, inputTokens: 90, cachedInputTokens: 30, outputTokens: 20, reasoningTokens: 0 };
      expect(Object.fromEntries(await on.store.totalsIn('2027-01-16'))).toEqual({ acme: exact });
    });

    test('go by the time the event tells, so that what is booked late is booked where it belongs', async () => {
      await on.store.reserve(request('a', MIDNIGHT + 5_000, []));
      await on.store.settle('a', used(1, 1), event('a', used(1, 1), { settledAtMs: MIDNIGHT - 5 }), MIDNIGHT + 5_000);
      expect([await requestsIn('2027-01-15'), await requestsIn('2027-01-16')]).toEqual([1, 0]);
    });

    test('are told for all tenants, parents too, of all roots', async () => {
      await on.store.reserve(request('a', T0, [charge('tokens', { tenantId: 'corp', limit: 100, amount: 1 })], [], 'acme', { rootId: 'corp' }));
      await on.settle('a', used(5, 6), T0, { parentId: 'unit' });
      await run('b', T0, 'other');
      const totals = await on.store.totalsIn('2027-01-15');
      expect([...totals.keys()].sort()).toEqual(['acme', 'corp', 'other', 'unit']);
      expect(totals.get('unit')).toEqual({ requests: 1, inputTokens: 5, cachedInputTokens: 0, outputTokens: 6, reasoningTokens: 0 });
    });

    test('are exact, however large', async () => {
      for (const id of ['a', 'b', 'c']) await run(id, T0, 'acme', used(9_999_999_999, 1));
      expect((await on.store.totalsIn('2027-01')).get('acme')).toMatchObject({ inputTokens: 29_999_999_997, outputTokens: 3 });
      expect(await on.totals()).toMatchObject({ acme: { inputTokens: 29_999_999_997, outputTokens: 3 } });
    });

    test('hold what was booked for dead, and its correction on the day of that', async () => {
      const dyingMs = MIDNIGHT - 5_000;
      await on.store.reserve(request('a', dyingMs, [], [], 'acme', { draft: draft('a', 100) }));
      await on.store.renew([{ leaseId: 'a', outputTokens: 40 }], dyingMs);
      await on.reapFor(dyingMs, LEASE_MS);
      await on.settle('a', used(90, 50), MIDNIGHT + DAY_MS);
      expect((await on.store.totalsIn('2027-01-16')).get('acme')).toMatchObject({ requests: 1, inputTokens: 100, outputTokens: 40 });
      expect((await on.store.totalsIn('2027-01-17')).get('acme')).toMatchObject({ requests: 0, inputTokens: -10, outputTokens: 10 });
      expect((await on.store.totalsIn('2027-01')).get('acme')).toMatchObject({ requests: 1, inputTokens: 90, outputTokens: 50 });
    });

    test('are kept for forty days and fourteen months', async () => {
      for (let day = 0; day <= 40; day++) await run(`d${day}`, T0 + day * DAY_MS);
      expect(await requestsIn('2027-01-15')).toBe(1);
      expect(await requestsIn('2027-02-24')).toBe(1);
      for (let month = 3; month <= 14; month++) await run(`m${month}`, Date.UTC(2027, month, 1));
      expect(await requestsIn('2027-01')).toBe(17);
      expect(await requestsIn('2028-03')).toBe(1);
    });

    test('that were told stay as they were', async () => {
      await run('a');
      const before = await on.store.totalsIn('2027-01-15');
      await run('b');
      expect(before.get('acme')?.requests).toBe(1);
    });
  });

  describe('events', () => {
    const pending = async (limit = 100) => (await on.store.pendingEvents(limit)).map(({ event: one }) => one.leaseId);

    test('are kept as they are', async () => {
      const whole = event('a', used(90, 20, 30), {
        tenantId: 'ümläut {x} "y"',
        parentId: 'corp',
        keyId: '0123456789abcdef',
        session: 'line\nbreak',
        decision: 'would_refuse',
        outcome: 'cut',
        estimated: true,
        lines: [{ model: 'm', serviceTier: 'flex', kind: 'output', tokens: 20 }],
        reservedInputTokens: 100,
        reservedOutputTokens: 4_000,
        startedAtMs: T0 - 7,
        settledAtMs: T0,
      });
      await on.store.reserve(request('a', T0, [], [], 'ümläut {x} "y"'));
      await on.store.settle('a', used(90, 20, 30), whole, T0);
      expect(await on.store.recentEvents(1)).toEqual([whole]);
      const [stored] = await on.store.pendingEvents(1);
      expect(stored).toMatchObject({ rootId: 'ümläut {x} "y"' });
      expect(stored!.event).toEqual(whole);
    });

    test('wait for a sink, oldest first, and come again until it has them', async () => {
      for (const [i, id] of ['a', 'b', 'c'].entries()) await run(id, T0 + i);
      const first = await on.store.pendingEvents(2);
      expect(first.map(({ event: one }) => one.leaseId)).toEqual(['a', 'b']);
      expect(await on.store.pendingEvents(2)).toEqual(first);
      await on.store.acknowledgeEvents([first[1]!]);
      expect(await pending()).toEqual(['a', 'c']);
      await on.store.acknowledgeEvents(first);
      await on.store.acknowledgeEvents([{ ...first[0]!, id: '99-0' }]);
      expect(await pending()).toEqual(['c']);
      expect(await pending(0)).toEqual([]);
      expect((await on.store.recentEvents(10)).map(({ leaseId }) => leaseId)).toEqual(['a', 'b', 'c']);
    });

    test('have ids of their own within their root', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await run(id);
      expect(new Set((await on.store.pendingEvents(10)).map(({ id }) => id)).size).toBe(4);
    });

    test('of all roots are told, each root in its order', async () => {
      for (let i = 0; i < 3; i++) for (const tenantId of ['acme', 'other', 'third']) await run(`${tenantId}${i}`, T0 + i, tenantId);
      const all = await on.store.pendingEvents(100);
      expect(all).toHaveLength(9);
      for (const rootId of ['acme', 'other', 'third']) {
        const its = all.filter((one) => one.rootId === rootId).map(({ event: one }) => one.leaseId);
        expect(its).toEqual([0, 1, 2].map((i) => `${rootId}${i}`));
      }
      await on.store.acknowledgeEvents(all.filter((one) => one.rootId === 'other'));
      expect(new Set((await on.store.pendingEvents(100)).map(({ rootId }) => rootId))).toEqual(new Set(['acme', 'third']));
    });

    test('of the dead and their corrections wait too', async () => {
      await on.store.reserve(request('a', T0, []));
      await on.store.renew([{ leaseId: 'a', outputTokens: 1 }], T0);
      await on.reapFor(T0, LEASE_MS);
      await on.settle('a', used(1, 2), T0 + LEASE_MS);
      expect((await on.store.pendingEvents(10)).map(({ event: one }) => one.corrects)).toEqual([false, true]);
    });

    test('the latest of several roots come oldest first', async () => {
      for (const [i, tenantId] of ['acme', 'other', 'acme', 'third'].entries()) await run(`l${i}`, T0 + i * 10, tenantId);
      expect((await on.store.recentEvents(3)).map(({ leaseId }) => leaseId)).toEqual(['l1', 'l2', 'l3']);
    });
  });

  describe('processors', () => {
    test('count as long as they tell of themselves', async () => {
      expect(await on.store.heartbeat('p1', T0)).toBe(1);
      expect(await on.store.heartbeat('p1', T0 + 1)).toBe(1);
      expect(await on.store.heartbeat('p2', T0 + 5_000)).toBe(2);
      expect(await on.store.heartbeat('p2', T0 + PROCESSOR_MS)).toBe(2);
      expect(await on.store.heartbeat('p2', T0 + 1 + PROCESSOR_MS)).toBe(1);
      expect(await on.store.heartbeat('p1', T0 + 2 + PROCESSOR_MS)).toBe(2);
    });

    test('one at a time hands events to a sink, until it asks no more', async () => {
      // A store of one process has no such call.
      const claim = async (owner: string, nowMs: number) => (await on.store.claimExport?.(owner, nowMs)) ?? null;
      const claims = [await claim('p1', T0), await claim('p2', T0), await claim('p1', T0 + 9_000), await claim('p2', T0 + 9_000 + LEASE_MS - 1)];
      const late = [await claim('p2', T0 + 9_000 + LEASE_MS), await claim('p1', T0 + 9_000 + LEASE_MS)];
      expect([...claims, ...late]).toEqual(on.store.claimExport === undefined ? Array(6).fill(null) : [true, false, true, false, true, false]);
    });
  });
}
