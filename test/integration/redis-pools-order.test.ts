import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { PoolEvent } from '../../src/domain/pool.js';
import { systemClock } from '../../src/lib/clock.js';
import type { SharedPools } from '../../src/stores/pools/shared-pools.js';
import { ask, capacity, elastic, pool } from '../conformance/pool-builders.js';
import { redisPools } from '../support/redis-pools.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** By their own time, as in production. */
let stores = 0;
let processors: Record<'a' | 'b', SharedPools>;
let heard: { readonly owner: string; readonly event: PoolEvent }[] = [];
beforeEach(() => {
  heard = [];
  const keyPrefix = `o${++stores}:`;
  const made = (name: string) => redisPools(server.url, name, { keyPrefix, time: 'own' });
  processors = { a: made('a'), b: made('b') };
  for (const owner of ['a', 'b'] as const) processors[owner].onEvent(owner, (event) => heard.push({ owner, event }));
});
afterEach(() => Promise.all(Object.values(processors).map((one) => one.close())));

const one = pool({ capacity: capacity({ slots: 1 }) });
const nowMs = (): number => Math.floor(systemClock.nowMs());
const request = (leaseId: string, owner: 'a' | 'b') => processors[owner].ask({ ...ask(leaseId, { owner, pool: one, entitlement: elastic('acme'), maxWaitMs: 60_000 }), nowMs: nowMs() });
const granted = () => heard.filter(({ event }) => event.kind === 'granted').map(({ event }) => event.leaseId);

test('one queue: two processors are served in the order in which they asked', async () => {
  expect((await request('first', 'a')).kind).toBe('dispatched');
  const order: string[] = [];
  for (let i = 0; i < 10; i++) {
    const id = `w${i}`;
    order.push(id);
    expect((await request(id, i % 2 === 0 ? 'b' : 'a')).kind).toBe('waiting');
  }
  let running = 'first';
  for (const [i, id] of order.entries()) {
    await processors.a.settle('pool', running, 10, nowMs());
    await expect.poll(granted).toEqual(order.slice(0, i + 1));
    expect(heard.at(-1)!.owner).toBe(i % 2 === 0 ? 'b' : 'a');
    running = id;
  }
});

test('room for one wakes one: no thundering herd', async () => {
  await request('first', 'b');
  for (let i = 0; i < 100; i++) await request(`w${i}`, i % 2 === 0 ? 'b' : 'a');
  await processors.a.settle('pool', 'first', 10, nowMs());
  await expect.poll(granted).toEqual(['w0']);
  const snapshot = await processors.b.snapshot('pool', nowMs());
  expect(snapshot).toMatchObject({ waiting: 99, inFlight: 1 });
  expect(heard.length).toBe(1);
});

test('a processor that closes hands the pool over at once, and its waiters to nobody', async () => {
  await request('first', 'a');
  expect((await request('w', 'b')).kind).toBe('waiting');
  await processors.a.settle('pool', 'first', 10, nowMs());
  await expect.poll(granted).toEqual(['w']);
  await processors.b.renew('pool', 'b', [{ leaseId: 'w', work: 1, kvBytes: 0 }], nowMs());
  expect((await request('next', 'b')).kind).toBe('waiting');
  const closedMs = performance.now();
  await processors.a.close();
  await processors.b.settle('pool', 'w', 10, nowMs());
  await expect.poll(granted).toEqual(['w', 'next']);
  expect(await processors.b.snapshot('pool', nowMs())).toMatchObject({ waiting: 0, inFlight: 1 });
  // Well before the claim would have ended by itself.
  expect(performance.now() - closedMs).toBeLessThan(1_500);
});

test('debt, rates and places survive a change of keeper', async () => {
  const owed = elastic('owed', { tokensPerSecond: 100 });
  const settings = pool({ capacity: capacity({ slots: 1, tokensPerSecond: 1_000 }), elasticTokensPerSecond: 100 });
  const asks = (leaseId: string, owner: 'a' | 'b') =>
    processors[owner].ask({ ...ask(leaseId, { owner, pool: settings, entitlement: owed, maxWaitMs: 60_000 }), nowMs: nowMs() });
  await asks('keeper', 'a');
  await processors.a.settle('pool', 'keeper', 100, nowMs());
  expect((await asks('runs', 'b')).kind).toBe('dispatched');
  expect((await asks('w', 'b')).kind).toBe('waiting');
  const owedAt = async (by: SharedPools) => (await by.snapshot('pool', nowMs()))?.entitlements.find(({ id }) => id === 'owed');
  await expect.poll(async () => (await owedAt(processors.a))?.debtTokens, { timeout: 8_000 }).toBeGreaterThan(5);
  const before = await owedAt(processors.a);
  await processors.a.close();
  const after = await owedAt(processors.b);
  expect(after).toMatchObject({ waiting: 1, inFlight: 1, virtualTime: before!.virtualTime });
  expect(after!.debtTokens).toBeGreaterThanOrEqual(before!.debtTokens * 0.9);
  expect(after!.servedTokensPerSecond).toBeGreaterThan(before!.servedTokensPerSecond * 0.8);
});
