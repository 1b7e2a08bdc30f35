import { Redis } from 'ioredis';
import { afterEach, describe, expect, test } from 'vitest';
import type { PoolEvent } from '../../src/domain/pool.js';
import type { RedisAddress } from '../../src/domain/store-settings.js';
import { systemClock } from '../../src/lib/clock.js';
import { openPools, type OpenedPools } from '../../src/stores/open-pools.js';
import { ask, capacity, pool } from '../conformance/pool-builders.js';
import { configOf } from '../support/processor.js';
import { redisAddress } from '../support/redis-address.js';
import { startCluster, until } from '../support/redis-cluster.js';
import { SILENT } from '../support/redis-pools.js';
import { startSentinels } from '../support/redis-sentinel.js';
import { startTlsRedis } from '../support/redis-tls.js';

/** As docs/operations.md tells. */
const ACL = ['-@all', '+@read', '+@write', '+@scripting', '+@connection', '+time', '-@dangerous', '+info'];
const USER = ['--user', 'tokenweir', 'on', '>secret', '~tw1:*', ...ACL];
/** Their keys lie on all nodes of a small cluster. */
const POOLS = ['chat', 'code', 'embed', 'long-context', 'vision', 'batch'];

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function ending<T extends { stop(): Promise<void> }>(started: T): T {
  ends.push(() => started.stop());
  return started;
}

interface Processor extends OpenedPools {
  readonly name: string;
  readonly events: PoolEvent[];
  readonly faults: string[];
  readonly decidedAway: () => number;
}

function open(name: string, address: RedisAddress): Processor {
  const events: PoolEvent[] = [];
  const faults: string[] = [];
  let away = 0;
  const observer = { ...SILENT, poolDecidedAway: () => { away++; }, poolFault: (_: string, error: unknown) => { faults.push(String(error)); } };
  // A busy machine answers late: that alone is not to make a processor decide by itself.
  const settings = { ...configOf('tenants: []').store, address, timeoutMs: 1_000 };
  const opened = openPools(settings, { clock: systemClock, random: Math.random, owner: name, observer });
  opened.store.onEvent(name, (event) => events.push(event));
  ends.push(() => opened.store.close());
  return { ...opened, name, events, faults, decidedAway: () => away };
}

const pair = (address: RedisAddress): readonly [Processor, Processor] => [open('p1', address), open('p2', address)];
const now = (): number => Math.floor(systemClock.nowMs());
const settingsOf = (id: string) => pool({ id, capacity: capacity({ slots: 2 }) });

async function asks({ store, name }: Processor, poolId: string, leaseId: string): Promise<string> {
  return (await store.ask({ ...ask(`${poolId}-${leaseId}`, { owner: name, pool: settingsOf(poolId) }), nowMs: now() })).kind;
}

const settles = ({ store }: Processor, poolId: string, leaseId: string) => store.settle(poolId, `${poolId}-${leaseId}`, 100, now());

async function granted({ events }: Processor, poolId: string, leaseId: string): Promise<void> {
  await until(async () => events.some((event) => event.kind === 'granted' && event.leaseId === `${poolId}-${leaseId}`));
}

/** A keeper answers both. */
async function connected(processors: readonly Processor[], poolIds: readonly string[]): Promise<void> {
  for (const { store } of processors) for (const poolId of poolIds) await until(() => store.snapshot(poolId, now()).then(() => true));
}

/** One queue over two processors, at each pool: what ends at one lets go on what waits at the other. */
async function smoke(p1: Processor, p2: Processor, poolIds: readonly string[]): Promise<void> {
  await connected([p1, p2], poolIds);
  for (const poolId of poolIds) {
    expect([await asks(p1, poolId, 'a'), await asks(p2, poolId, 'b')], poolId).toEqual(['dispatched', 'dispatched']);
    expect([await asks(p2, poolId, 'c'), await asks(p1, poolId, 'd')], poolId).toEqual(['waiting', 'waiting']);
    expect(await p2.store.snapshot(poolId, now())).toMatchObject({ inFlight: 2, waiting: 2 });
    expect(await settles(p1, poolId, 'a')).toMatchObject({ end: 'ended' });
    await granted(p2, poolId, 'c');
    expect(await settles(p2, poolId, 'b')).toMatchObject({ end: 'ended' });
    await granted(p1, poolId, 'd');
    for (const [processor, leaseId] of [[p2, 'c'], [p1, 'd']] as const) expect(await settles(processor, poolId, leaseId)).toMatchObject({ end: 'ended' });
    expect(await p1.store.snapshot(poolId, now())).toMatchObject({ inFlight: 0, waiting: 0 });
  }
  for (const { faults, decidedAway, away } of [p1, p2]) {
    expect([decidedAway(), away()]).toEqual([0, []]);
    expect(faults.filter((fault) => /NOPERM|CROSSSLOT|MOVED/.test(fault))).toEqual([]);
  }
}

describe('pools over two processors', () => {
  test('in a cluster of three, pools on every node', async () => {
    const cluster = ending(await startCluster(3));
    const [p1, p2] = pair(redisAddress(`store: ${cluster.url}`));
    await smoke(p1, p2, POOLS);
    for (const { url } of cluster.nodes) {
      const client = new Redis(url);
      expect(await client.dbsize()).toBeGreaterThan(0);
      client.disconnect();
    }
  });

  test('in a cluster, as a user who may do no more than is needed', async () => {
    const cluster = ending(await startCluster(3, [...USER, '+cluster|slots', '+cluster|info']));
    const [p1, p2] = pair(redisAddress(`store: ${cluster.url.replace('//', '//tokenweir:secret@')}`));
    await smoke(p1, p2, POOLS.slice(0, 3));
  });

  test('over TLS, as a user who may do no more than is needed', async () => {
    const { server, certificates } = ending(await startTlsRedis({ mutual: true, args: [...USER, '--user', 'default', 'off'] }));
    const { cert, key } = certificates.client;
    const yaml = `store: rediss://tokenweir:secret@127.0.0.1:${server.port}\nstoreTls: { caFile: ${certificates.ca}, certFile: ${cert}, keyFile: ${key} }`;
    const [p1, p2] = pair(redisAddress(yaml, [certificates.ca, cert, key]));
    await smoke(p1, p2, POOLS.slice(0, 2));
  });

  test('behind Sentinels: after a fail-over what runs counts again, and what waits is served', async () => {
    const sentinels = ending(await startSentinels());
    const [p1, p2] = pair(redisAddress(`store: ${sentinels.url}`));
    await smoke(p1, p2, ['code']);
    await connected([p1, p2], ['chat']);
    expect([await asks(p1, 'chat', 'a'), await asks(p2, 'chat', 'b')]).toEqual(['dispatched', 'dispatched']);
    const live = (): void => {
      for (const [{ store, name }, leaseId] of [[p1, 'chat-a'], [p2, 'chat-b']] as const) void store.renew('chat', name, [{ leaseId, work: 1, kvBytes: 0 }], now()).catch(() => undefined);
    };
    const renewing = setInterval(live, 500);
    ends.push(async () => {
      clearInterval(renewing);
    });
    await sentinels.master.kill();
    await until(async () => (await sentinels.masterPort()) === sentinels.replica.port);
    for (const { store, away } of [p1, p2]) await until(async () => away().length === 0 && (await store.snapshot('chat', now()))?.inFlight === 2);
    expect(await asks(p2, 'chat', 'c')).toBe('waiting');
    expect(await settles(p1, 'chat', 'a')).toMatchObject({ end: 'ended' });
    await granted(p2, 'chat', 'c');
    for (const leaseId of ['b', 'c']) expect(await settles(p2, 'chat', leaseId)).toMatchObject({ end: 'ended' });
    expect(await p1.store.snapshot('chat', now())).toMatchObject({ inFlight: 0, waiting: 0 });
  });
});
