import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ENDED_MS, type Store } from '../../src/domain/store.js';
import { createRedisStore, type RedisStoreOptions } from '../../src/stores/redis/redis-store.js';
import type { Scripts } from '../../src/stores/redis/scripts.js';
import { charge, draft, event, request, used } from '../conformance/store-builders.js';
import { T0 } from '../conformance/store-under-test.js';
import { until } from '../support/redis-cluster.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

let server: RedisServer;
const clients: Redis[] = [];
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

function connect({ url }: RedisServer = server): Redis {
  const client = new Redis(url, { protocol: 2 });
  // Servers of these tests go away and come back.
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

let stores = 0;
let keyPrefix = '';
beforeEach(() => {
  keyPrefix = `t${++stores}:`;
});
const storeOf = (client: Redis, options: Partial<RedisStoreOptions> = {}): Store => createRedisStore({ client, time: 'caller', onFault: () => undefined, keepEvents: true, keyPrefix, ...options });

const tokens = charge('tokens', { limit: 600, capacity: 10_000, amount: 500, inputAmount: 100 });
const place = charge('concurrency', { limit: 1 });
const leased = (id: string, buckets = [tokens]) => request(id, T0, buckets, [], 'acme', { draft: draft(id, 100) });
const settle = (store: Store, id: string, input: number, output: number, nowMs = T0) => store.settle(id, used(input, output), event(id, used(input, output), { settledAtMs: nowMs }), nowMs);

/** Leases, what is left of the buckets, and requests and output in the totals. */
async function seen(store: Store, buckets = [tokens]): Promise<readonly unknown[]> {
  const { leases, levels, totals } = await store.snapshot(buckets, T0);
  const { requests, outputTokens } = totals.get('acme') ?? { requests: 0, outputTokens: 0 };
  return [leases, ...levels.map(({ remaining }) => remaining), requests, outputTokens];
}

describe('a lease that runs while Redis comes back empty', () => {
  let store: Store;
  beforeEach(async () => {
    store = storeOf(connect());
    await store.reserve(leased('a'));
    await store.renew([{ leaseId: 'a', outputTokens: 10 }], T0);
    await server.restart();
    expect(await seen(store)).toEqual([0, 10_000, 0, 0]);
  });

  test('is brought back by its renewal, extended, and ends as any other', async () => {
    await store.renew([{ leaseId: 'a', outputTokens: 700 }], T0);
    expect(await seen(store)).toEqual([1, 9_200, 0, 0]);
    expect(await settle(store, 'a', 90, 710)).toBe('settled');
    expect(await settle(store, 'a', 90, 710)).toBe('already_ended');
    expect(await seen(store)).toEqual([0, 9_200, 1, 710]);
    expect(await store.pendingEvents(10)).toMatchObject([{ event: { leaseId: 'a', outputTokens: 710 } }]);
  });

  test('is booked by its settlement', async () => {
    expect(await settle(store, 'a', 90, 20)).toBe('settled');
    expect(await settle(store, 'a', 90, 20)).toBe('already_ended');
    expect(await seen(store)).toEqual([0, 9_890, 1, 20]);
  });

  test('leaves nothing when it is cancelled', async () => {
    expect(await store.cancel('a', T0)).toBe('settled');
    expect(await seen(store)).toEqual([0, 10_000, 0, 0]);
    expect(await store.isIdle('acme', T0)).toBe(true);
  });

  test('is not known to others: they book nothing, and its own processor does, once', async () => {
    const other = storeOf(connect());
    expect([await settle(other, 'a', 90, 20), await other.cancel('a', T0)]).toEqual(['unknown', 'unknown']);
    expect(await settle(store, 'a', 90, 20)).toBe('settled');
    expect(await seen(other)).toEqual([0, 9_890, 1, 20]);
  });

  test('of a tenant under a parent is seen with its buckets by a processor that started since', async () => {
    const ofParent = charge('tokens', { tenantId: 'corp', limit: 600, capacity: 10_000, amount: 500 });
    await store.reserve(request('child', T0, [tokens, ofParent], [], 'acme', { rootId: 'corp' }));
    await server.restart();
    await store.renew([{ leaseId: 'child', outputTokens: 0 }], T0);
    const other = storeOf(connect());
    expect(await seen(other, [tokens, ofParent])).toEqual([1, 9_500, 9_500, 0, 0]);
    expect([await other.isIdle('acme', T0), await other.isIdle('corp', T0)]).toEqual([false, false]);
  });

  test('comes back into a limit that others filled since: over it while both run, right once they ended', async () => {
    const other = storeOf(connect());
    await store.reserve(leased('mine', [place]));
    await server.restart();
    expect(await other.reserve(leased('theirs', [place]))).toMatchObject({ kind: 'reserved' });
    await store.renew([{ leaseId: 'mine', outputTokens: 0 }], T0);
    expect(await seen(other, [place])).toEqual([2, -1, 0, 0]);
    expect(await other.reserve(leased('third', [place]))).toMatchObject({ kind: 'refused' });
    expect([await settle(store, 'mine', 1, 1), await settle(other, 'theirs', 1, 1)]).toEqual(['settled', 'settled']);
    expect(await seen(other, [place])).toEqual([0, 1, 2, 2]);
  });
});

describe('a reservation whose answer never came', () => {
  /** A store whose reservations are on their way until they are let through. */
  function slow(): { readonly store: Store; arrive(): Promise<Buffer> } {
    const client = connect();
    const store = storeOf(client);
    const scripts = client as unknown as Scripts;
    const reserve = scripts.twReserveBuffer.bind(client);
    let sent: Parameters<Scripts['twReserveBuffer']> | null = null;
    scripts.twReserveBuffer = (...args) => {
      scripts.twReserveBuffer = reserve;
      sent = args;
      return Promise.reject(new Error('timed out'));
    };
    return { store, arrive: () => (sent === null ? Promise.reject(new Error('nothing was sent')) : reserve(...sent)) };
  }

  test('and arrives after its cancellation does nothing', async () => {
    const { store, arrive } = slow();
    await expect(store.reserve(leased('a'))).rejects.toThrow('timed out');
    expect(await store.cancel('a', T0)).toBe('unknown');
    expect((await arrive()).readDoubleLE()).toBe(2);
    expect(await seen(store)).toEqual([0, 10_000, 0, 0]);
    await expect(store.reserve(leased('a'))).rejects.toThrow('cancelled before it began');
    expect(await settle(store, 'a', 1, 1)).toBe('already_ended');
    expect(await seen(store)).toEqual([0, 10_000, 0, 0]);
  });

  test('but arrived is given back by its cancellation', async () => {
    const { store, arrive } = slow();
    await expect(store.reserve(leased('a'))).rejects.toThrow('timed out');
    await arrive();
    expect(await seen(store)).toEqual([1, 9_500, 0, 0]);
    expect(await store.cancel('a', T0)).toBe('settled');
    expect(await seen(store)).toEqual([0, 10_000, 0, 0]);
  });
});

test('a server that forgets all scripts before every call is taught each of them again', async () => {
  const client = connect();
  const store = storeOf(client);
  const after = async <T>(call: () => Promise<T>): Promise<T> => {
    await client.script('FLUSH');
    return call();
  };
  for (const id of ['a', 'b', 'c']) expect(await after(() => store.reserve(leased(id)))).toMatchObject({ kind: 'reserved' });
  await after(() => store.renew([{ leaseId: 'a', outputTokens: 7 }, { leaseId: 'c', outputTokens: 7 }], T0));
  expect(await after(() => settle(store, 'a', 90, 20))).toBe('settled');
  expect(await after(() => store.cancel('b', T0))).toBe('settled');
  let reaped = 0;
  for (let s = 1; s <= 10; s++) reaped += await after(() => store.reap(T0 + s * 1_000));
  expect(reaped).toBe(1);
  expect(await after(() => store.heartbeat('p1', T0))).toBe(1);
  expect(await after(() => store.claimExport!('p1', T0))).toBe(true);
  await after(() => store.saveLearned([{ key: 'chat m', observations: 1, state: 's' }]));
  expect(await store.loadLearned()).toHaveLength(1);
  expect(await seen(store)).toEqual([0, 9_883, 2, 27]);
});

test('what was learned is read and saved beside entries that make no sense, which give way to what does', async () => {
  const client = connect();
  const store = storeOf(client, { learnedKeys: 4 });
  const state = (key: string) => ({ key, observations: 3, state: `${key} 7` });
  await store.saveLearned([state('chat a')]);
  const [states, order, sums] = ['s', 'o', 'n'].map((name) => `${keyPrefix}tw1:{learned}:${name}`) as [string, string, string];
  const garbage: Readonly<Record<string, string>> = { empty: '', word: 'null', short: '3 4', nan: 'NaN 4 x', less: '-1 4 x', binary: '\u0000 \uffff {' };
  await client.hset(states, garbage);
  for (const key of [...Object.keys(garbage), 'absent']) await client.zadd(order, 0, key);
  await client.set(sums, 'nonsense');
  expect(await store.loadLearned()).toEqual([state('chat a')]);
  await store.saveLearned([state('word'), state('chat b')]);
  expect((await store.loadLearned()).map(({ key }) => key).toSorted()).toEqual(['chat a', 'chat b', 'word']);
  expect(await client.hlen(states)).toBeLessThanOrEqual(4);
});

describe('by the time of the server', () => {
  const HOUR_MS = 3_600_000;
  const serverMs = async (client: Redis): Promise<number> => Number((await client.time())[0]) * 1_000;

  test('clocks of processors need not agree: nothing refills or expires by them', async () => {
    const [first, second] = [storeOf(connect(), { time: 'server' }), storeOf(connect(), { time: 'server' })];
    const slow = charge('tokens', { limit: 1, capacity: 1_000, amount: 900, inputAmount: 100 });
    expect(await first.reserve(leased('a', [slow]))).toMatchObject({ kind: 'reserved', levels: [{ remaining: 100 }] });
    const ahead = { ...leased('b', [slow]), nowMs: T0 + 1_000 * HOUR_MS };
    expect(await second.reserve(ahead)).toMatchObject({ kind: 'refused', shortage: { level: { remaining: 100 } } });
    for (let i = 1; i <= 20; i++) expect(await second.reap(T0 + i * HOUR_MS)).toBe(0);
    expect(await settle(first, 'a', 100, 850, T0 - HOUR_MS)).toBe('settled');
    expect((await second.snapshot([slow], 0)).levels[0]?.remaining).toBe(50);
    expect(await second.isIdle('acme', T0 + 1_000 * HOUR_MS)).toBe(false);
  });

  test('what nobody renews is reaped and what is renewed lives, though the clocks of the callers stand still', async () => {
    const client = connect();
    const [first, second] = [storeOf(client, { time: 'server' }), storeOf(connect(), { time: 'server' })];
    const beganMs = await serverMs(client);
    for (const id of ['dead', 'alive']) await first.reserve(leased(id));
    await first.renew([{ leaseId: 'dead', outputTokens: 40 }], T0);
    await until(async () => {
      await first.renew([{ leaseId: 'alive', outputTokens: 1 }], T0);
      await delay(400);
      return (await second.reap(T0)) === 1;
    });
    expect((await second.snapshot([], T0)).leases).toBe(1);
    const [abandoned] = await second.recentEvents(5);
    expect(abandoned).toMatchObject({ leaseId: 'dead', outcome: 'abandoned', inputTokens: 100, outputTokens: 40 });
    expect(abandoned!.settledAtMs - beganMs).toBeGreaterThanOrEqual(10_000);
    expect(await settle(first, 'dead', 100, 60)).toBe('corrected');
    expect(await settle(first, 'alive', 100, 10)).toBe('settled');
    expect((await second.snapshot([], T0)).totals.get('acme')).toMatchObject({ requests: 2, inputTokens: 200, outputTokens: 70 });
  });
});

test('a bucket is never forgotten while a lease holds it, nor before it is full again; what ended goes by itself', async () => {
  const client = connect();
  const store = storeOf(client);
  const left = async (part: string): Promise<readonly number[]> => Promise.all((await client.keys(`${keyPrefix}*${part}*`)).map((key) => client.pttl(key)));
  await store.reserve(leased('a'));
  await store.reserve(leased('b', [place]));
  expect(await left(':b:')).toEqual([-1, -1]);
  // In debt by 6,000 at 600 a minute: full after 26.7 minutes.
  await settle(store, 'a', 100, 15_900);
  await store.cancel('b', T0);
  const { levels } = await store.snapshot([tokens, place], T0);
  expect(levels.map(({ remaining, resetMs }) => [remaining, resetMs])).toEqual([[-6_000, 1_600_000], [1, 0]]);
  const kept = (await left(':b:')).toSorted((a, b) => a - b);
  for (const [i, fullMs] of [0, 1_600_000].entries()) {
    expect(kept[i]).toBeGreaterThan(fullMs);
    expect(kept[i]).toBeLessThanOrEqual(fullMs + 600_000);
  }
  for (const ms of await left(':l:')) {
    expect(ms).toBeGreaterThan(ENDED_MS - 60_000);
    expect(ms).toBeLessThanOrEqual(ENDED_MS);
  }
});

test('a replica that takes no writes is a fault and no decision; promoted it goes on with what it knows', async () => {
  const replica = await startRedis({ args: ['--replicaof', `127.0.0.1 ${server.port}`, '--repl-diskless-sync-delay', '0'] });
  const client = connect(replica);
  try {
    await storeOf(connect()).reserve(leased('a'));
    const store = storeOf(client);
    await until(async () => (await client.exists(`${keyPrefix}tw1:{acme}:l:a`)) === 1);
    expect(await seen(store)).toEqual([1, 9_500, 0, 0]);
    for (const write of [() => store.reserve(leased('b')), () => store.renew([{ leaseId: 'a', outputTokens: 1 }], T0), () => settle(store, 'a', 1, 1), () => store.heartbeat('p1', T0)]) {
      await expect(write()).rejects.toThrow(/READONLY/);
    }
    expect(await seen(store)).toEqual([1, 9_500, 0, 0]);
    await client.call('REPLICAOF', 'NO', 'ONE');
    expect(await store.reserve(leased('b'))).toMatchObject({ kind: 'reserved', levels: [{ remaining: 9_000 }] });
    expect(await settle(store, 'a', 90, 20)).toBe('settled');
    expect(await seen(store)).toEqual([1, 9_390, 1, 20]);
  } finally {
    client.disconnect();
    await replica.stop();
  }
});
