import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BucketCharge } from '../../src/domain/lease.js';
import { LEASE_MS, type Store } from '../../src/domain/store.js';
import { handedCase } from '../support/handed.js';
import { charge, draft, event, request, used } from './store-builders.js';
import { T0, reapFor } from './store-under-test.js';

/** Two or more store objects over one empty truth, as several processors have. They go by the callers' time. */
export type MakeSharedStores = () => Promise<readonly [Store, Store, ...Store[]]>;

const total = charge('tokens', { limit: 600, capacity: 10_000, amount: 500, inputAmount: 100 });
const DEAD_MS = T0 + LEASE_MS;
const numbers = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i);

/** What must hold where several processors share one truth. One of them may be gone at any time: the others know all it did. */
export function describeSharedStore(name: string, makeStores: MakeSharedStores): void {
  describe(`several processors over one store: ${name}`, () => {
    let stores: readonly [Store, Store, ...Store[]];
    let first: Store;
    let second: Store;
    beforeEach(async () => {
      stores = await makeStores();
      [first, second] = stores;
    });
    afterEach(async () => {
      for (const store of new Set(stores)) await store.close();
    });
    const remaining = async (store: Store, bucket: BucketCharge, nowMs = T0) => (await store.snapshot([bucket], nowMs)).levels[0]!.remaining;
    const leased = (id: string, owner: string) => request(id, T0, [total], [], 'acme', { owner, draft: draft(id, 100) });
    const settle = (store: Store, id: string, input: number, output: number, nowMs = T0) => store.settle(id, used(input, output), event(id, used(input, output), { settledAtMs: nowMs }), nowMs);

    test('what one reserves, renews and settles all see', async () => {
      await first.reserve(leased('a', 'p1'));
      for (const store of stores) {
        expect(await remaining(store, total)).toBe(9_500);
        expect((await store.snapshot([], T0)).leases).toBe(1);
        expect(await store.isIdle('acme', T0)).toBe(false);
      }
      await first.renew([{ leaseId: 'a', outputTokens: 700 }], T0);
      for (const store of stores) expect(await remaining(store, total)).toBe(9_200);
      expect(await settle(first, 'a', 90, 710)).toBe('settled');
      for (const store of stores) {
        expect(await remaining(store, total)).toBe(9_200);
        const { leases, totals } = await store.snapshot([], T0);
        expect([leases, totals.get('acme')?.outputTokens]).toEqual([0, 710]);
        expect((await store.totalsIn('2027-01-15')).get('acme')?.inputTokens).toBe(90);
        expect(await store.recentEvents(5)).toMatchObject([{ leaseId: 'a' }]);
        expect(await store.pendingEvents(5)).toMatchObject([{ event: { leaseId: 'a' } }]);
      }
    });

    test('what one cancels is free for all', async () => {
      await first.reserve(request('a', T0, [{ ...total, amount: 10_000 }]));
      expect((await second.reserve(leased('b', 'p2'))).kind).toBe('refused');
      await first.cancel('a', T0);
      expect((await second.reserve(leased('b', 'p2'))).kind).toBe('reserved');
    });

    test('a lease id belongs to one lease, whoever asks for it again', async () => {
      const answer = await first.reserve(leased('a', 'p1'));
      expect(await second.reserve(leased('a', 'p1'))).toEqual(answer);
      expect(await remaining(second, total)).toBe(9_500);
      expect((await second.snapshot([], T0)).leases).toBe(1);
    });

    test('leases of a dead processor are settled by another, once', async () => {
      await first.reserve(leased('dispatched', 'p1'));
      await first.reserve(leased('waiting', 'p1'));
      await first.renew([{ leaseId: 'dispatched', outputTokens: 40 }], T0);
      await second.reserve(leased('alive', 'p2'));
      for (let ms = 0; ms < LEASE_MS; ms += 1_000) await second.renew([{ leaseId: 'alive', outputTokens: 1 }], T0 + ms);
      expect(await second.reap(DEAD_MS)).toBe(2);
      expect(await first.reap(DEAD_MS)).toBe(0);
      expect((await second.snapshot([], DEAD_MS)).leases).toBe(1);
      expect(await second.recentEvents(5)).toMatchObject([{ leaseId: 'dispatched', inputTokens: 100, outputTokens: 40, outcome: 'abandoned', estimated: true }]);
    });

    test('all reap at once, and each dead lease is ended once', async () => {
      for (const i of numbers(20)) {
        await first.reserve(leased(`l${i}`, 'p1'));
        await first.renew([{ leaseId: `l${i}`, outputTokens: 10 }], T0);
      }
      let reaped = 0;
      for (let ms = 1_000; ms <= LEASE_MS; ms += 1_000) {
        for (const count of await Promise.all(stores.map((store) => store.reap(T0 + ms)))) reaped += count;
      }
      expect(reaped).toBe(20);
      expect(await second.recentEvents(50)).toHaveLength(20);
      expect((await second.snapshot([], DEAD_MS)).totals.get('acme')).toMatchObject({ requests: 20, inputTokens: 2_000, outputTokens: 200 });
    });

    test('the owner comes back: it charges the difference only', async () => {
      await first.reserve(leased('a', 'p1'));
      await first.renew([{ leaseId: 'a', outputTokens: 40 }], T0);
      expect(await reapFor(second, T0, LEASE_MS)).toBe(1);
      expect(await settle(first, 'a', 90, 110, DEAD_MS)).toBe('corrected');
      expect(await remaining(second, total, DEAD_MS)).toBe(9_900);
      expect((await second.snapshot([], DEAD_MS)).totals.get('acme')).toMatchObject({ requests: 1, inputTokens: 90, outputTokens: 110 });
      expect(await settle(first, 'a', 90, 110, DEAD_MS)).toBe('already_ended');
    });

    test('the owner comes back and its stream still runs: all see the lease again', async () => {
      await first.reserve(leased('a', 'p1'));
      await first.renew([{ leaseId: 'a', outputTokens: 40 }], T0);
      expect(await reapFor(second, T0, LEASE_MS)).toBe(1);
      await first.renew([{ leaseId: 'a', outputTokens: 60 }], DEAD_MS);
      expect((await second.snapshot([], DEAD_MS)).leases).toBe(1);
      expect(await reapFor(second, DEAD_MS, 9_000)).toBe(0);
      expect(await settle(first, 'a', 90, 70, DEAD_MS + 9_000)).toBe('corrected');
      expect((await second.snapshot([], DEAD_MS)).leases).toBe(0);
      expect((await second.snapshot([], DEAD_MS)).totals.get('acme')).toMatchObject({ requests: 1, inputTokens: 90, outputTokens: 70 });
    });

    test('a limit is one limit: no overshoot, however many ask at once', async () => {
      const limit = charge('tokens', { limit: 1_000, amount: 200, inputAmount: 50 });
      const answers = await Promise.all(numbers(60).map((i) => stores[i % stores.length]!.reserve(request(`l${i}`, T0, [limit]))));
      expect(answers.filter(({ kind }) => kind === 'reserved')).toHaveLength(5);
      for (const store of stores) expect(await remaining(store, limit)).toBe(0);
    });

    test('places are places of all: as many run as there are, and each that ends lets one in', async () => {
      const places = charge('concurrency', { limit: 6 });
      const at = (i: number) => stores[i % stores.length]!;
      const running: number[] = [];
      let most = 0;
      for (let round = 0; round < 8; round++) {
        const ids = numbers(12).map((i) => round * 12 + i);
        const answers = await Promise.all(ids.map(async (i) => ({ i, answer: await at(i).reserve(request(`l${i}`, T0, [places])) })));
        for (const { i, answer } of answers) if (answer.kind === 'reserved') running.push(i);
        most = Math.max(most, running.length);
        const ending = running.splice(0, 3);
        await Promise.all(ending.map((i) => settle(at(i), `l${i}`, 1, 1)));
      }
      expect(most).toBe(6);
      expect(await remaining(first, places)).toBe(6 - running.length);
      expect((await second.snapshot([], T0)).leases).toBe(running.length);
    });

    test('a refusal at the third level gives back the first two, whichever processor asks', async () => {
      const levels = [charge('requests', { limit: 10 }), charge('tokens', { tenantId: 'unit', limit: 1_000, amount: 10 }), charge('requests', { tenantId: 'corp', limit: 1 })];
      const ask = (store: Store, id: string) => store.reserve(request(id, T0, levels, [], 'acme', { rootId: 'corp' }));
      expect((await ask(first, 'a')).kind).toBe('reserved');
      const refusals = await Promise.all(stores.map((store, i) => ask(store, `b${i}`)));
      expect(refusals.map(({ kind }) => kind)).toEqual(stores.map(() => 'refused'));
      for (const store of stores) expect((await store.snapshot(levels, T0)).levels.map((level) => level.remaining)).toEqual([9, 990, 0]);
    });

    handedCase('BerriAI/litellm#16011', async ({ input, expected }) => {
      const { concurrent } = input['limit'] as { concurrent: number };
      const places = charge('concurrency', { limit: concurrent });
      const waiting = numbers(30);
      let served = 0;
      let most = 0;
      for (let left: readonly number[] = waiting; left.length > 0; ) {
        const answers = await Promise.all(left.map((i) => stores[i % stores.length]!.reserve(request(`l${i}`, T0, [places]))));
        const admitted = left.filter((_, k) => answers[k]!.kind === 'reserved');
        most = Math.max(most, admitted.length);
        await Promise.all(admitted.map((i) => settle(stores[i % stores.length]!, `l${i}`, 1, 1)));
        served += admitted.length;
        left = left.filter((i) => !admitted.includes(i));
      }
      expect([most, served]).toEqual([expected['upstream_max_concurrent'], 30]);
      for (const store of stores) expect(await remaining(store, places)).toBe(concurrent);
    });

    test('what one learned all know; of two states the one of more observations stays', async () => {
      await first.saveLearned([{ key: 'm', observations: 5, state: 'five' }]);
      await second.saveLearned([{ key: 'm', observations: 4, state: 'four' }, { key: 'n', observations: 1, state: 'one' }]);
      for (const store of stores) {
        const known = [...(await store.loadLearned())].sort((a, b) => a.key.localeCompare(b.key));
        expect(known).toEqual([{ key: 'm', observations: 5, state: 'five' }, { key: 'n', observations: 1, state: 'one' }]);
      }
    });

    test('an event that one acknowledged no other is told again', async () => {
      for (const [i, id] of ['a', 'b'].entries()) {
        await stores[i]!.reserve(leased(id, `p${i}`));
        await settle(stores[i]!, id, 1, 1);
      }
      const [oldest] = await second.pendingEvents(1);
      await first.acknowledgeEvents([oldest!]);
      for (const store of stores) expect((await store.pendingEvents(10)).map(({ event: one }) => one.leaseId)).toEqual(['b']);
    });

    test('an event right after the last one was acknowledged by another is told to all', async () => {
      const run = async (id: string) => {
        await first.reserve(leased(id, 'p1'));
        await settle(first, id, 1, 1);
      };
      await run('a');
      await second.acknowledgeEvents(await second.pendingEvents(10));
      await run('b');
      for (const store of stores) expect((await store.pendingEvents(10)).map(({ event: one }) => one.leaseId)).toEqual(['b']);
    });

    test('a lease right after another processor saw that none was left is settled by that one too', async () => {
      await first.reserve(leased('a', 'p1'));
      await settle(first, 'a', 1, 1);
      expect(await second.reap(T0)).toBe(0);
      await first.reserve(leased('b', 'p1'));
      expect(await reapFor(second, T0, LEASE_MS)).toBe(1);
    });

    test('all count each other', async () => {
      const counts: number[] = [];
      for (const [i, store] of stores.entries()) counts.push(await store.heartbeat(`p${i}`, T0));
      expect(counts).toEqual(stores.map((_, i) => i + 1));
    });

    test('ends of one are heard by it at least', async () => {
      let heard = 0;
      first.onCapacityFreed(() => heard++);
      await first.reserve(leased('a', 'p1'));
      await settle(first, 'a', 1, 1);
      await expect.poll(() => heard).toBeGreaterThan(0);
    });
  });
}
