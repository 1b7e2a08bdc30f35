import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../../src/stores/memory.js';
import { charge, event, request, used } from '../../conformance/store-builders.js';

describe('guess of when a place comes free', () => {
  const places = charge('concurrency', { limit: 2 });
  const fill = async (store: ReturnType<typeof createMemoryStore>, nowMs: number) => {
    await store.reserve(request('x', nowMs, [places]));
    await store.reserve(request('y', nowMs, [places]));
    const refused = await store.reserve(request('z', nowMs, [places]));
    return refused.kind === 'refused' ? refused.shortage : null;
  };
  const run = async (store: ReturnType<typeof createMemoryStore>, id: string, fromMs: number, toMs: number) => {
    await store.reserve(request(id, fromMs, [places]));
    await store.settle(id, used(1, 1), event(id), toMs);
  };

  test('starts at a second a place', async () => {
    expect(await fill(createMemoryStore(), 0)).toMatchObject({ waitMs: 500, exact: false });
  });

  test('follows how long leases last, divided among those that run', async () => {
    const store = createMemoryStore();
    await run(store, 'a', 0, 8_000);
    await run(store, 'b', 8_000, 32_000);
    // 8,000 + (24,000 − 8,000) / 8 = 10,000 for two places.
    expect(await fill(store, 32_000)).toMatchObject({ waitMs: 5_000, exact: false });
  });

  test('stays between 100 ms and a minute', async () => {
    const quick = createMemoryStore();
    await run(quick, 'a', 0, 1);
    expect(await fill(quick, 2)).toMatchObject({ waitMs: 100 });
    const slow = createMemoryStore();
    await run(slow, 'a', 0, 3_600_000);
    expect(await fill(slow, 3_600_000)).toMatchObject({ waitMs: 60_000 });
  });

  test('learns nothing from cancelled leases', async () => {
    const store = createMemoryStore();
    await store.reserve(request('a', 0, [places]));
    await store.cancel('a', 40_000);
    expect(await fill(store, 40_000)).toMatchObject({ waitMs: 500 });
  });
});

describe('memory stays level', () => {
  test('recent events are a ring', async () => {
    const store = createMemoryStore({ recentEvents: 3 });
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      await store.reserve(request(id, 0, []));
      await store.settle(id, used(1, 1), event(id), 0);
    }
    expect((await store.recentEvents(10)).map(({ leaseId }) => leaseId)).toEqual(['c', 'd', 'e']);
    expect((await store.recentEvents(1)).map(({ leaseId }) => leaseId)).toEqual(['e']);
  });

  test('ended leases are forgotten when enough newer ones ended, not before', async () => {
    const store = createMemoryStore({ endedLeases: 10 });
    const run = async (id: string) => {
      await store.reserve(request(id, 0, []));
      await store.cancel(id, 0);
    };
    await run('first');
    for (let i = 0; i < 10; i++) await run(`n${i}`);
    expect(await store.cancel('first', 0)).toBe('already_ended');
    for (let i = 10; i < 30; i++) await run(`n${i}`);
    expect(await store.cancel('first', 0)).toBe('unknown');
  });

  test('ended leases are remembered for ten minutes', async () => {
    const store = createMemoryStore();
    const run = async (id: string, nowMs: number) => {
      await store.reserve(request(id, nowMs, []));
      await store.cancel(id, nowMs);
    };
    await run('first', 1_000_000);
    await run('second', 1_599_999);
    expect(await store.cancel('first', 1_600_000)).toBe('already_ended');
    await run('third', 1_600_000);
    await run('fourth', 2_200_000);
    expect(await store.cancel('first', 2_200_000)).toBe('unknown');
  });

  test('reaped leases are remembered for a day, and only as many as ended ones', async () => {
    const store = createMemoryStore({ endedLeases: 5 });
    const die = async (id: string, fromMs: number) => {
      await store.reserve(request(id, fromMs, []));
      for (let ms = 1_000; ms <= 10_000; ms += 1_000) await store.reap(fromMs + ms);
    };
    await die('first', 1_000_000);
    await die('second', 1_000_000 + 86_380_000);
    expect(await store.settle('first', used(1, 1), event('first'), 1_000_000 + 86_390_000)).toBe('corrected');
    for (let i = 0; i < 12; i++) await die(`n${i}`, 90_000_000 + i * 10_000);
    expect(await store.settle('second', used(1, 1), event('second'), 91_000_000)).toBe('unknown');
    expect(await store.settle('n11', used(1, 1), event('n11'), 91_000_000)).toBe('corrected');
  });

  test('a bucket that was forgotten since its lease was reaped is charged the difference all the same', async () => {
    const store = createMemoryStore();
    const tpm = charge('tokens', { limit: 600, amount: 100, inputAmount: 100 });
    await store.reserve(request('a', 0, [tpm]));
    await store.renew([{ leaseId: 'a', outputTokens: 0 }], 0);
    for (let ms = 1_000; ms <= 10_000; ms += 1_000) await store.reap(ms);
    for (let i = 0; i < 20; i++) await store.reserve(request(`other${i}`, 1_000_000, [], [], 'other'));
    await store.settle('a', used(250, 50), event('a'), 1_000_000);
    expect((await store.snapshot([tpm], 1_000_000)).levels[0]!.remaining).toBe(300);
    expect(await store.isIdle('acme', 1_000_000)).toBe(false);
  });

  test('totals of tenants that hold nothing are forgotten above the bound only', async () => {
    const store = createMemoryStore({ maxTenants: 100 });
    for (let i = 0; i < 2_000; i++) {
      const tenantId = `t${i}`;
      await store.reserve(request(`l${i}`, 0, [], [], tenantId));
      await store.settle(`l${i}`, used(1, 1), event(`l${i}`, used(1, 1), { tenantId }), 0);
      if (i === 99) expect((await store.snapshot([], 0)).totals.size).toBe(100);
    }
    expect((await store.snapshot([], 0)).totals.size).toBeLessThanOrEqual(110);
  });
});

describe('what was learned', () => {
  const state = (key: string, length = 10) => ({ key, observations: 1, state: 'x'.repeat(length) });
  const keys = async (store: ReturnType<typeof createMemoryStore>) => (await store.loadLearned()).map(({ key }) => key);

  test('number and length are bounded: the ones saved longest ago give way', async () => {
    const few = createMemoryStore({ learnedKeys: 2 });
    await few.saveLearned([state('a'), state('b')]);
    await few.saveLearned([state('a')]);
    await few.saveLearned([state('c')]);
    expect(await keys(few)).toEqual(['a', 'c']);
    const short = createMemoryStore({ learnedLength: 100 });
    await short.saveLearned([state('a', 60), state('b', 30), state('c', 60)]);
    expect(await keys(short)).toEqual(['b', 'c']);
  });
});
