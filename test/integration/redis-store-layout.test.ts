import { Redis, Cluster } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.js';
import { openStore, type OpenedStore, type StoreObserver } from '../../src/stores/open-store.js';
import { charge, event, request, used } from '../conformance/store-builders.js';
import { ask } from '../conformance/pool-builders.js';
import { configOf } from '../support/processor.js';
import { startCluster, until } from '../support/redis-cluster.js';
import { redisPools } from '../support/redis-pools.js';
import { startSentinels } from '../support/redis-sentinel.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

const KEY = 'tw1:layout';
const NEWER = 'the layout of the store is 2, and this release knows 1';
const nothing = (): void => undefined;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** What the log is told of layouts. */
let told: (string | null)[] = [];
beforeEach(() => {
  told = [];
});

async function open(url: string): Promise<OpenedStore> {
  const observer: StoreObserver = { connection: nothing, storeAway: nothing, storeBack: nothing, decidedAway: nothing, journal: nothing, storeFault: nothing, layout: (newer) => told.push(newer) };
  const opened = await openStore(configOf(`store: ${url}\ntenants: []`).store, { clock: systemClock, random: Math.random, owner: 'p1', observer });
  ends.push(() => opened.close());
  await opened.start();
  return opened;
}

const tokens = charge('tokens', { limit: 600, capacity: 1_000, amount: 100 });
const leased = (id: string) => request(id, Date.now(), [tokens]);
const settle = ({ store }: OpenedStore, id: string) => store.settle(id, used(10, 1), event(id, used(10, 1), { settledAtMs: Date.now() }), Date.now());
const requests = async ({ store }: OpenedStore): Promise<number> => (await store.snapshot([], Date.now())).totals.get('acme')?.requests ?? 0;

describe('one server', () => {
  let server: RedisServer;
  let client: Redis;
  beforeEach(async () => {
    server = await startRedis();
    ends.push(() => server.stop());
    client = new Redis(server.url, { protocol: 2 });
    ends.push(() => client.disconnect());
  });

  test('the first that connects writes the number of its layout', async () => {
    const opened = await open(server.url);
    expect([await client.get(KEY), opened.health(), opened.refusal(), told]).toEqual(['1', 'up', null, []]);
  });

  test('what nobody of us wrote there is passed over', async () => {
    await client.set(KEY, 'two');
    expect((await open(server.url)).health()).toBe('up');
  });

  test('a processor that starts beside a later release writes nothing, and goes by onStoreFailure', async () => {
    await client.set(KEY, '2');
    const opened = await open(server.url);
    expect([opened.health(), opened.refusal(), told]).toEqual(['away', NEWER, [NEWER]]);
    // A quarter of 1,000 tokens, as nobody told how many processors there are.
    for (const id of ['a', 'b']) expect((await opened.store.reserve(leased(id))).kind).toBe('reserved');
    expect(await settle(opened, 'a')).toBe('settled');
    await opened.store.reap(Date.now()).catch(nothing);
    expect(await client.keys('*')).toEqual([KEY]);
  });

  test('one that runs notices a later release within its heartbeats, writes nothing more, and books what it did when the layout is known again', async () => {
    const opened = await open(server.url);
    await opened.store.reserve(leased('before'));
    await client.set(KEY, '2');
    await until(async () => opened.health() === 'away');
    const before = await client.dump('tw1:{acme}:b:acme/*:tokens');
    for (const id of ['a', 'b', 'c']) expect((await opened.store.reserve(leased(id))).kind).toBe('reserved');
    for (const id of ['before', 'a']) expect(await settle(opened, id)).toBe('settled');
    expect(await client.dump('tw1:{acme}:b:acme/*:tokens')).toEqual(before);
    expect(await client.exists('tw1:{acme}:u')).toBe(0);
    await client.set(KEY, '1');
    await until(async () => opened.health() === 'up');
    expect([opened.refusal(), told]).toEqual([null, [NEWER, null]]);
    await until(async () => (await requests(opened)) === 2);
  }, 30_000);

  test('a pool is not written to either: this processor decides alone', async () => {
    const pools = redisPools(server.url, 'p1', { refusal: () => NEWER, timeoutMs: 50 });
    ends.push(() => pools.close());
    expect((await pools.ask(ask('a'))).kind).toBe('dispatched');
    expect(await client.keys('*')).toEqual([]);
  });
});

test('behind Sentinels the layout is looked at too', async () => {
  const sentinels = await startSentinels();
  ends.push(() => sentinels.stop());
  const client = new Redis(await sentinels.masterPort(), { protocol: 2 });
  ends.push(() => client.disconnect());
  await client.set(KEY, '2');
  const opened = await open(sentinels.url);
  expect([opened.health(), opened.refusal()]).toEqual(['away', NEWER]);
  await client.set(KEY, '1');
  await until(async () => opened.health() === 'up');
}, 60_000);

test('in a cluster the layout is looked at too', async () => {
  const cluster = await startCluster();
  ends.push(() => cluster.stop());
  const client = new Cluster(cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })));
  ends.push(() => client.disconnect());
  await client.set(KEY, '2');
  const opened = await open(cluster.url);
  expect([opened.health(), opened.refusal()]).toEqual(['away', NEWER]);
  await client.set(KEY, '1');
  await until(async () => opened.health() === 'up');
}, 60_000);
