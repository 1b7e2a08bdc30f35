import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RedisAddress } from '../../src/domain/store-settings.js';
import { systemClock } from '../../src/lib/clock.js';
import { connectStore, type StoreConnection } from '../../src/stores/connect/connect.js';
import { openStore } from '../../src/stores/open-store.js';
import { createRedisStore } from '../../src/stores/redis/redis-store.js';
import { describeStore } from '../conformance/store-conformance.js';
import { T0 } from '../conformance/store-under-test.js';
import { charge, request } from '../conformance/store-builders.js';
import { configOf } from '../support/processor.js';
import { redisAddress } from '../support/redis-address.js';
import { valkeyBinary } from '../support/redis-binary.js';
import { startCluster, until } from '../support/redis-cluster.js';
import { startFaultProxy } from '../support/redis-proxy.js';
import { startSentinels } from '../support/redis-sentinel.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { smoke } from '../support/redis-smoke.js';
import { startTlsRedis } from '../support/redis-tls.js';

/** What an observer of a store is told besides its connection. */
const QUIET = { storeAway: () => undefined, storeBack: () => undefined, decidedAway: () => undefined, journal: () => undefined, storeFault: () => undefined, misconfigured: () => undefined };

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Ended with the test, newest first. */
function ending<T extends { stop(): Promise<void> }>(started: T): T {
  ends.push(() => started.stop());
  return started;
}

function connect(address: RedisAddress): StoreConnection {
  const connection = connectStore(address, { clock: systemClock, random: Math.random });
  ends.push(() => {
    connection.close();
  });
  return connection;
}

async function connected(yaml: string, files: readonly string[] = []): Promise<StoreConnection> {
  const connection = connect(redisAddress(yaml, files));
  expect([await connection.ready(5_000), connection.lastFault()]).toEqual([true, null]);
  return connection;
}

/** What nobody waits for may fail here: connections are lost all the time, and it is written again. */
const storeOf = ({ client }: StoreConnection, keyPrefix = '') => createRedisStore({ client, time: 'caller', keepEvents: true, keyPrefix, onFault: () => undefined });

/** As docs/operations.md tells. */
const ACL = ['-@all', '+@read', '+@write', '+@scripting', '+@connection', '+time', '-@dangerous', '+info'];
const CLUSTER_ACL = [...ACL, '+cluster|slots', '+cluster|info'];

/** Spread over all nodes of a small cluster. */
const TENANTS = Array.from({ length: 12 }, (_, i) => `tenant-${i}`);
const one = (tenantId: string, leaseId: string) => request(leaseId, T0, [charge('tokens', { tenantId, limit: 1_000, amount: 100 })], [], tenantId);

describe('a single server', () => {
  test('serves all that a store does', async () => {
    const server = ending(await startRedis());
    await smoke(storeOf(await connected(`store: ${server.url}`)), TENANTS);
  });

  test('that is gone is told at once and not waited for; one that is back is found by itself', async () => {
    const server = ending(await startRedis());
    const connection = await connected(`store: ${server.url}`);
    const states: string[] = [];
    connection.onChange((state) => states.push(state));
    await server.kill();
    await until(async () => connection.state() === 'away');
    const beganMs = performance.now();
    await expect(storeOf(connection).reserve(one('acme', 'a'))).rejects.toThrow();
    expect(performance.now() - beganMs).toBeLessThan(50);
    await server.restart();
    expect(await connection.ready(5_000)).toBe(true);
    expect(states).toEqual(['away', 'ready']);
    expect(await storeOf(connection).reserve(one('acme', 'a'))).toMatchObject({ kind: 'reserved' });
  });

  test('that stays away is told of with each new reason once, however often it is tried', async () => {
    const server = ending(await startRedis());
    const told: (string | null)[] = [];
    const observer = { ...QUIET, connection: (_: string, fault: string | null) => told.push(fault) };
    const opened = await openStore(configOf(`store: ${server.url}\ntenants: []`).store, { clock: systemClock, random: Math.random, owner: 'p1', observer });
    ends.push(() => opened.close());
    await opened.start();
    const { client } = await connected(`store: ${server.url}`);
    let attempts = 0;
    client.on('reconnecting', () => attempts++);
    await server.kill();
    await until(async () => attempts >= 5);
    expect(told.filter((fault) => fault?.includes('ECONNREFUSED'))).toHaveLength(1);
  });

  test('that forgot the scripts is taught them again', async () => {
    const server = ending(await startRedis());
    const connection = await connected(`store: ${server.url}`);
    const store = storeOf(connection);
    await store.reserve(one('acme', 'a'));
    await connection.client.script('FLUSH');
    expect(await store.reserve(one('acme', 'b'))).toMatchObject({ kind: 'reserved' });
  });

  test('whose network swallows everything counts as away within seconds, and is found again', async () => {
    const server = ending(await startRedis());
    const proxy = await startFaultProxy(server.port);
    ends.push(() => proxy.close());
    const connection = await connected(`store: redis://127.0.0.1:${proxy.port}/0`);
    proxy.swallow(true);
    await expect(storeOf(connection).reserve(one('acme', 'a'))).rejects.toThrow();
    await until(async () => connection.state() === 'away');
    proxy.swallow(false);
    proxy.cut();
    expect(await connection.ready(10_000)).toBe(true);
  });

  test('whose answer was lost after the write answers the same again, and has charged once', async () => {
    const server = ending(await startRedis());
    const proxy = await startFaultProxy(server.port);
    ends.push(() => proxy.close());
    const connection = await connected(`store: redis://127.0.0.1:${proxy.port}/0`);
    const store = storeOf(connection);
    await store.reserve(one('acme', 'a'));
    proxy.loseReplies(1);
    await expect(store.reserve(one('acme', 'b'))).rejects.toThrow();
    expect(await connection.ready(5_000)).toBe(true);
    expect(await store.reserve(one('acme', 'b'))).toMatchObject({ kind: 'reserved', levels: [{ remaining: 800 }] });
  });

  test('that refuses the password says so, without it', async () => {
    const server = ending(await startRedis({ args: ['--requirepass', 'right-password'] }));
    const connection = connect(redisAddress(`store: redis://:wrong-password@127.0.0.1:${server.port}/0`));
    expect(await connection.ready(500)).toBe(false);
    expect(connection.lastFault()).toMatch(/WRONGPASS/);
    expect(connection.lastFault()).not.toContain('wrong-password');
    await smoke(storeOf(await connected(`store: redis://127.0.0.1:${server.port}/0\nstoreLogin: { password: right-password }`)), ['acme']);
  });
});

describe('a store that is set up wrong', () => {
  test('a database that does not exist is no connection, and never database 0', async () => {
    const server = ending(await startRedis());
    const connection = connect(redisAddress(`store: ${server.url.replace(/0$/, '99')}`));
    expect([await connection.ready(1_000), connection.lastFault()]).toEqual([false, 'ERR DB index is out of range (database 99)']);
    await expect(storeOf(connection).reserve(one('acme', 'a'))).rejects.toThrow();
    expect(await (await connected(`store: ${server.url}`)).client.dbsize()).toBe(0);
  });

  test('a port without TLS, and one with TLS only, are hinted at', async () => {
    const plain = ending(await startRedis());
    const { server } = ending(await startTlsRedis());
    const [asTls, asPlain] = [connect(redisAddress(`store: rediss://127.0.0.1:${plain.port}`)), connect(redisAddress(`store: redis://127.0.0.1:${server.port}`))];
    await until(async () => [asTls, asPlain].every((connection) => connection.lastFault() !== null));
    expect([asTls.lastFault(), asPlain.lastFault()]).toEqual([expect.stringMatching(/does this port speak TLS\?/), expect.stringMatching(/TLS only/)]);
  });

  test('one that forgets when it is full is warned of; scripts are there before the first request, on every new connection', async () => {
    const server = ending(await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] }));
    const advice: string[] = [];
    const told: (string | null)[] = [];
    const observer = { ...QUIET, connection: (_: string, fault: string | null) => told.push(fault), misconfigured: (text: string) => advice.push(text) };
    const opened = await openStore(configOf(`store: ${server.url}\ntenants: []`).store, { clock: systemClock, random: Math.random, owner: 'p1', observer });
    ends.push(() => opened.close());
    await opened.start();
    expect(advice).toEqual([expect.stringMatching(/maxmemory-policy is allkeys-lru/)]);
    const { client } = await connected(`store: ${server.url}`);
    await client.config('RESETSTAT');
    expect(await opened.store.reserve(one('acme', 'a'))).toMatchObject({ kind: 'reserved' });
    await opened.store.cancel('a', systemClock.nowMs());
    expect(await client.info('errorstats')).not.toContain('NOSCRIPT');
    await client.script('FLUSH');
    await client.config('SET', 'requirepass', 'later-password');
    await client.call('CLIENT', 'KILL', 'TYPE', 'normal');
    await until(async () => told.some((fault) => /NOAUTH/.test(fault ?? '')));
    expect(told.filter((fault) => /NOAUTH/.test(fault ?? ''))).toHaveLength(1);
  });
});

describe('TLS', () => {
  test('with the authority that signed, a client certificate, and a user who may do no more than is needed', async () => {
    const user = ['--user', 'tokenweir', 'on', '>secret', '~tw1:*', ...ACL, '--user', 'default', 'off'];
    const { server, certificates } = ending(await startTlsRedis({ mutual: true, args: user }));
    const { cert, key } = certificates.client;
    const yaml = `store: rediss://tokenweir:secret@127.0.0.1:${server.port}\nstoreTls: { caFile: ${certificates.ca}, certFile: ${cert}, keyFile: ${key} }`;
    const connection = await connected(yaml, [certificates.ca, cert, key]);
    await smoke(storeOf(connection), ['acme', 'birch']);
    await expect(connection.client.get('other')).rejects.toThrow(/NOPERM/);
    await expect(connection.client.flushall()).rejects.toThrow(/NOPERM/);
  });

  test('a certificate that nobody trusted signed is refused, unless any is accepted', async () => {
    const { url, certificates } = ending(await startTlsRedis());
    const refused = connect(redisAddress(`store: ${url}`));
    expect([await refused.ready(500), refused.lastFault()]).toEqual([false, expect.stringMatching(/certificate/)]);
    await connected(`store: ${url}\nstoreTls: { acceptAnyCertificate: true }`);
    const misnamed = connect(redisAddress(`store: ${url}\nstoreTls: { caFile: ${certificates.ca}, serverName: redis.internal }`, [certificates.ca]));
    expect([await misnamed.ready(500), misnamed.lastFault()]).toEqual([false, expect.stringMatching(/redis\.internal/)]);
    await connected(`store: ${url}\nstoreTls: { caFile: ${certificates.ca}, serverName: localhost }`, [certificates.ca]);
  });
});

describe('a cluster of three', () => {
  test('serves all that a store does, tenants on every node', async () => {
    const cluster = ending(await startCluster(3));
    const connection = await connected(`store: ${cluster.url}`);
    expect(connection.isCluster).toBe(true);
    await smoke(storeOf(connection), TENANTS);
  });

  test('serves a user who may do no more than is needed', async () => {
    const cluster = ending(await startCluster(3, ['--user', 'tokenweir', 'on', '>secret', '~tw1:*', ...CLUSTER_ACL]));
    const connection = await connected(`store: ${cluster.url.replace('//', '//tokenweir:secret@')}`);
    await smoke(storeOf(connection), TENANTS);
    await expect(connection.client.get('other')).rejects.toThrow(/NOPERM/);
  });

  test('one node that dies takes its own tenants with it and no others, until it is back', async () => {
    const cluster = ending(await startCluster(3, ['--cluster-require-full-coverage', 'no', '--appendonly', 'yes']));
    const store = storeOf(await connected(`store: ${cluster.url}`));
    const reserves = (round: string): Promise<boolean[]> =>
      Promise.all(TENANTS.map((tenantId) => store.reserve(one(tenantId, `${tenantId}-${round}`)).then(() => true, () => false)));
    expect(await reserves('first')).toEqual(TENANTS.map(() => true));
    await cluster.nodes[0]!.kill();
    const served = (await reserves('second')).filter(Boolean).length;
    expect(served).toBeGreaterThan(0);
    expect(served).toBeLessThan(TENANTS.length);
    await cluster.nodes[0]!.restart({ keepData: true });
    await until(async () => (await reserves('third')).every(Boolean));
    const bucket = TENANTS.map((tenantId) => charge('tokens', { tenantId, limit: 1_000 }));
    const { levels } = await store.snapshot(bucket, T0);
    expect(levels.filter(({ remaining }) => remaining === 700)).toHaveLength(served);
  });
});

describe('Sentinels', () => {
  test('serve all that a store does, with passwords of their own', async () => {
    const { url, ...sentinels } = ending(await startSentinels({ password: 'servers', sentinelPassword: 'sentinels' }));
    const yaml = `store: ${url}\nstoreLogin: { password: servers, sentinelPassword: sentinels }`;
    await smoke(storeOf(await connected(yaml)), TENANTS.slice(0, 3));
    expect(await sentinels.masterPort()).toBe(sentinels.master.port);
  });

  test('after a fail-over the same connection goes on with the new master, which knows the leases', async () => {
    const sentinels = ending(await startSentinels());
    const connection = await connected(`store: ${sentinels.url}`);
    const store = storeOf(connection);
    await store.reserve(one('acme', 'a'));
    await connection.client.wait(1, 1_000);
    await sentinels.master.kill();
    await until(async () => (await store.reserve(one('acme', 'b'))).kind === 'reserved');
    expect(await sentinels.masterPort()).toBe(sentinels.replica.port);
    expect((await store.snapshot([charge('tokens', { limit: 1_000 })], T0)).levels[0]?.remaining).toBe(800);
    expect(await store.cancel('a', T0)).toBe('settled');
  });

  test('a master that hangs is left for the one that took over', async () => {
    const sentinels = ending(await startSentinels());
    const connection = await connected(`store: ${sentinels.url}`);
    await sentinels.master.pause();
    await until(async () => (await storeOf(connection).reserve(one('acme', 'a'))).kind === 'reserved');
    await sentinels.master.resume();
    // It comes back as a replica of the other: whoever still asks it is told READONLY.
    expect(await storeOf(connection).reserve(one('acme', 'b'))).toMatchObject({ kind: 'reserved' });
  });
});

describe('Valkey', () => {
  let server: RedisServer;
  let connection: StoreConnection;
  let stores = 0;
  beforeAll(async () => {
    server = await startRedis({ binary: await valkeyBinary() });
    connection = connectStore(redisAddress(`store: ${server.url}`), { clock: systemClock, random: Math.random });
    await connection.ready(5_000);
  });
  afterAll(async () => {
    connection.close();
    await server.stop();
  });
  describeStore('valkey', async () => storeOf(connection, `v${++stores}:`));
});
