import { describe, expect, test } from 'vitest';
import type { ReserveRequest } from '../../../../src/domain/lease.js';
import { createMemoryStore } from '../../../../src/stores/memory.js';
import { charge, request, used } from '../../../conformance/store-builders.js';
import { Away, HOME_MS } from './away.js';

const rpm = charge('requests', { limit: 60 });
const tpm = charge('tokens', { limit: 6_000, amount: 600, inputAmount: 100 });
const places = charge('concurrency', { limit: 6 });

describe('the request path', () => {
  test.each(['deaf', 'mute', 'frozen', { slowMs: 60 }] as const)('waits no longer than the time-out for a store that is %j, and after three failures not at all', async (condition) => {
    const on = new Away();
    on.flaky.condition = condition;
    const took: number[] = [];
    for (const id of ['a', 'b', 'c', 'd', 'e']) took.push((await on.reserveIn(id, [rpm])).tookMs);
    expect(took).toEqual([50, 50, 50, 0, 0]);
    expect(on.store.health()).toBe('away');
    expect(on.flaky.count('reserve')).toBe(3);
  });

  test('a store that fails at once costs no wait', async () => {
    const on = new Away();
    on.flaky.condition = 'refuses';
    expect((await on.reserveIn('a', [rpm])).tookMs).toBe(0);
  });

  test('cancelling what a later gate refused waits no longer either', async () => {
    const on = new Away();
    await on.reserve('a', rpm);
    on.flaky.condition = 'deaf';
    const fromMs = on.nowMs;
    expect(await on.cancel('a')).toBe('settled');
    expect(on.nowMs - fromMs).toBe(50);
    await on.comeBack();
    expect(await on.remaining(rpm)).toEqual([60]);
  });

  test('one failure is no outage', async () => {
    const on = new Away();
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) {
      on.flaky.condition = id < 'd' ? 'deaf' : 'up';
      if (id === 'b') on.flaky.condition = 'up';
      await on.reserve(id, rpm);
    }
    expect(on.told).not.toContain('away');
  });
});

describe('coming back', () => {
  test('health and since when are told, and a listener hears each change', async () => {
    const on = new Away();
    const heard: string[] = [];
    const stop = on.store.onHealth((health) => heard.push(health));
    expect(on.store.awaySinceMs()).toBeNull();
    await on.goAway();
    expect(on.store.awaySinceMs()).toBe(on.nowMs);
    await on.comeBack();
    expect([on.store.health(), on.store.awaySinceMs(), heard]).toEqual(['up', null, ['away', 'up']]);
    stop();
    await on.goAway();
    expect(heard).toHaveLength(2);
  });

  test('probes come with growing pauses, of five seconds at most', async () => {
    const on = new Away();
    await on.goAway();
    await on.pass(1_000);
    expect(on.flaky.count('heartbeat')).toBe(3);
    await on.pass(60_000);
    const probes = on.flaky.count('heartbeat');
    expect(probes).toBeGreaterThan(15);
    expect(probes).toBeLessThan(25);
  });

  test('a store that answers probes and nothing else is not probed ten times a second', async () => {
    const on = new Away();
    on.flaky.store.reserve = () => Promise.reject(new Error('READONLY'));
    for (let i = 0; i < 60_000; i += 100) {
      await on.reserve(`r${i}`, rpm);
      await on.pass(100, 50);
    }
    expect(on.flaky.count('heartbeat')).toBeLessThan(30);
  });
});

describe('leases that the store has when it goes away', () => {
  test('settle there when it is back, at the time they settled', async () => {
    const on = new Away();
    await on.reserve('a', rpm, tpm, places);
    await on.goAway();
    expect(await on.settle('a', used(100, 200))).toBe('settled');
    const [{ settledAtMs } = { settledAtMs: 0 }] = await on.store.recentEvents(5);
    expect(on.journalTold?.entries).toBeGreaterThan(0);
    await on.pass(20_000);
    await on.comeBack();
    expect(on.journalTold?.entries).toBe(0);
    const { leases, totals } = await on.shared.snapshot([], on.nowMs);
    expect(leases).toBe(0);
    expect(totals.get('acme')).toMatchObject({ requests: 1, inputTokens: 100, outputTokens: 200 });
    expect((await on.shared.recentEvents(5)).map((one) => [one.leaseId, one.settledAtMs])).toEqual([['a', settledAtMs]]);
    expect(await on.remaining(places)).toEqual([6]);
  });

  test('of a settlement whose answer was lost only one is booked', async () => {
    const on = new Away();
    await on.reserve('a', tpm);
    on.flaky.condition = 'mute';
    expect(await on.settle('a', used(100, 200))).toBe('settled');
    await on.comeBack();
    expect((await on.shared.snapshot([], on.nowMs)).totals.get('acme')?.requests).toBe(1);
    expect(await on.shared.recentEvents(5)).toHaveLength(1);
  });

  test('of one that was lost so long ago that the store forgot it, its ledger tells', async () => {
    const on = new Away({ shared: createMemoryStore({ endedLeases: 1, endedLeaseMs: 1 }) });
    await on.reserve('a', tpm);
    on.flaky.condition = 'mute';
    const settling = on.settle('a', used(100, 200));
    await on.goAway('mute');
    expect(await settling).toBe('settled');
    for (const id of ['x', 'y', 'z']) {
      await on.shared.reserve(request(id, on.nowMs, []));
      await on.shared.cancel(id, on.nowMs);
      on.clock.advance(10);
    }
    expect(await on.shared.cancel('a', on.nowMs)).toBe('unknown');
    await on.pass(600_000, 1_000);
    await on.comeBack();
    expect(on.journalTold?.entries).toBe(0);
    expect((await on.shared.snapshot([], on.nowMs)).totals.get('acme')?.requests).toBe(1);
  });

  test('are told to live as soon as it is back, with the output of the outage', async () => {
    const on = new Away();
    await on.reserve('a', tpm);
    await on.store.renew([{ leaseId: 'a', outputTokens: 10 }], on.nowMs);
    await on.goAway();
    await on.store.renew([{ leaseId: 'a', outputTokens: 900 }], on.nowMs);
    await on.pass(60_000);
    for (let ms = 0; ms < 30_000; ms += 1_000) await on.shared.reap(on.nowMs + ms);
    expect((await on.shared.snapshot([], on.nowMs)).leases).toBe(0);
    await on.comeBack();
    expect((await on.shared.snapshot([], on.nowMs)).leases).toBe(1);
    await on.settle('a', used(100, 1_000));
    const { totals, leases } = await on.shared.snapshot([], on.nowMs);
    expect(leases).toBe(0);
    expect(totals.get('acme')).toMatchObject({ requests: 1, inputTokens: 100, outputTokens: 1_000 });
  });

  test('a store that comes back empty still gets every settlement', async () => {
    const on = new Away();
    await on.reserve('a', rpm, tpm);
    await on.reserve('b', rpm, tpm);
    await on.goAway();
    await on.settle('a', used(100, 200));
    const empty = createMemoryStore();
    on.flaky.replaceBy(empty);
    await on.comeBack();
    await on.settle('b', used(50, 50));
    const { totals, leases, levels } = await empty.snapshot([rpm], on.nowMs);
    expect(leases).toBe(0);
    expect(totals.get('acme')).toMatchObject({ requests: 2, inputTokens: 150, outputTokens: 250 });
    expect(levels[0]?.remaining).toBeLessThan(60);
  });
});

describe('a reservation whose answer was lost', () => {
  test('is given back at the store where the request was refused', async () => {
    const on = new Away({ mode: 'closed' });
    on.flaky.condition = 'mute';
    expect(await on.reserve('a', rpm, places)).toBe('unavailable');
    expect((await on.shared.snapshot([], on.nowMs)).leases).toBe(1);
    await on.comeBack();
    expect((await on.shared.snapshot([], on.nowMs)).leases).toBe(0);
    expect(await on.remaining(rpm, places)).toEqual([60, 6]);
    expect(await on.shared.recentEvents(5)).toEqual([]);
  });

  test.each(['local', 'open'] as const)('is settled there, once, where the request went on (%s)', async (mode) => {
    const on = new Away({ mode });
    on.flaky.condition = 'mute';
    expect(await on.reserve('a', rpm, places)).toBe('reserved');
    await on.settle('a', used(10, 10));
    await on.comeBack();
    const { totals, leases } = await on.shared.snapshot([], on.nowMs);
    expect([leases, totals.get('acme')?.requests]).toEqual([0, 1]);
    expect(await on.remaining(places)).toEqual([6]);
  });

  test('arrives after the request was settled elsewhere, and changes nothing', async () => {
    const on = new Away();
    on.flaky.condition = 'frozen';
    await on.reserve('a', rpm, places);
    on.flaky.condition = 'up';
    await on.settle('a', used(10, 10));
    await on.pass(HOME_MS);
    on.flaky.thaw();
    await on.pass(100);
    const { totals, leases } = await on.shared.snapshot([], on.nowMs);
    expect([leases, totals.get('acme')?.requests]).toEqual([0, 1]);
  });
});

describe('closed', () => {
  test('refuses with unavailable while the store is away, and nothing is left behind', async () => {
    const on = new Away({ mode: 'closed' });
    await on.goAway();
    expect(await on.reserve('a', rpm)).toBe('unavailable');
    expect(on.told).toContain('closed');
    expect(await on.settle('a', used(1, 1))).toBe('unknown');
    await on.comeBack();
    expect(await on.reserve('a', rpm)).toBe('reserved');
    expect((await on.shared.snapshot([], on.nowMs)).leases).toBe(1);
  });
});

describe('open', () => {
  test('lets pass uncounted by limits; ledger and totals are complete, above all tenants that the request concerned', async () => {
    const on = new Away({ mode: 'open' });
    const above = charge('requests', { tenantId: 'corp', limit: 2 });
    await on.goAway();
    for (let i = 0; i < 30; i++) expect(await on.reserve(`r${i}`, charge('requests', { limit: 10 }), above)).toBe('reserved');
    expect(on.told.filter((what) => what === 'open')).toHaveLength(33);
    for (let i = 0; i < 30; i++) await on.settle(`r${i}`, used(10, 5), { parentId: 'unit' });
    await on.comeBack();
    const { totals } = await on.shared.snapshot([], on.nowMs);
    for (const tenant of ['acme', 'unit', 'corp']) expect(totals.get(tenant)).toMatchObject({ requests: 30, inputTokens: 300, outputTokens: 150 });
    expect(await on.shared.recentEvents(100)).toHaveLength(30);
    expect(await on.remaining(charge('requests', { limit: 10 }), above)).toEqual([10, 2]);
  });
});

test('one settlement that the store does not take keeps no other from being booked', async () => {
  const on = new Away();
  await on.goAway('refuses');
  for (const id of ['a', 'bad', 'c']) {
    await on.reserve(id, rpm);
    await on.settle(id, used(5, 5));
  }
  const { shared } = on;
  on.flaky.replaceBy(
    new Proxy(shared, {
      get: (store, name) => {
        if (name === 'reserve') return (one: ReserveRequest) => (one.leaseId === 'bad' ? Promise.reject(new Error('WRONGTYPE')) : store.reserve(one));
        const value: unknown = Reflect.get(store, name, store);
        return typeof value === 'function' ? value.bind(store) : value;
      },
    }),
  );
  await on.comeBack();
  expect((await shared.snapshot([], on.nowMs)).totals.get('acme')?.requests).toBe(2);
  expect(on.journal.entries().map(({ leaseId }) => leaseId)).toEqual(['bad']);
  expect(on.store.health()).toBe('up');
  on.flaky.replaceBy(shared);
  await on.pass(2_000);
  expect((await shared.snapshot([], on.nowMs)).totals.get('acme')?.requests).toBe(3);
});

describe('close', () => {
  test('with a journal in memory alone counts what is lost with it', async () => {
    const on = new Away();
    await on.goAway('refuses');
    await on.reserve('a', rpm);
    await on.settle('a', used(1, 1));
    await on.store.close();
    expect(on.journalTold).toEqual({ entries: 0, bytes: 0, dropped: 1 });
  });

  test('books what waits', async () => {
    const on = new Away();
    await on.reserve('a', rpm);
    on.flaky.condition = 'refuses';
    await on.settle('a', used(1, 1));
    on.flaky.condition = 'up';
    await on.store.close();
    expect((await on.shared.snapshot([], on.nowMs)).totals.get('acme')?.requests).toBe(1);
  });

  test('does not wait for a store that is away, and leaves no timer', async () => {
    const on = new Away();
    await on.goAway();
    await on.store.close();
    await on.pass(100);
    expect(on.clock.pending).toBe(0);
  });
});
