import { beforeEach, describe, expect, test } from 'vitest';
import { LEASE_MS, PROCESSOR_MS, type Store } from '../../src/domain/store.js';
import { createRedisStore, type RedisStoreOptions } from '../../src/stores/redis/redis-store.js';
import { definePoolScripts } from '../../src/stores/pools/scripts.js';
import { charge, draft, event, request, used } from '../conformance/store-builders.js';
import { T0, reapFor } from '../conformance/store-under-test.js';
import { redisOfFile } from '../support/redis-of-file.js';

const HOUR_MS = 3_600_000;
const AHEAD_MS = T0 + HOUR_MS;

const redis = redisOfFile();

let stores = 0;
let keyPrefix = '';
let store: Store;
const another = (options: Partial<RedisStoreOptions> = {}): Store => createRedisStore({ client: redis(), time: 'caller', onFault: () => undefined, keepEvents: true, keyPrefix, ...options });
beforeEach(() => {
  keyPrefix = `t${++stores}:`;
  store = another();
});
const use = async (id: string, nowMs: number, tenantId = id): Promise<void> => {
  await store.reserve(request(id, nowMs, [charge('tokens', { tenantId, limit: 600, amount: 5 })], [], tenantId));
  await store.settle(id, used(1, 1), event(id, used(1, 1), { tenantId, settledAtMs: nowMs }), nowMs);
};

/** The server's clock was an hour ahead for a while, and is right again. */
describe('after the clock was an hour ahead', () => {
  test('a processor that died meanwhile is not counted for the rest of the hour', async () => {
    await store.heartbeat('dead', AHEAD_MS);
    expect(await store.heartbeat('p1', T0)).toBe(2);
    expect(await store.heartbeat('p1', T0 + PROCESSOR_MS)).toBe(1);
  });

  test('a claim to the export of one that died meanwhile is free within a lease time', async () => {
    expect(await store.claimExport!('dead', AHEAD_MS)).toBe(true);
    expect(await store.claimExport!('p1', T0)).toBe(false);
    expect(await store.claimExport!('p1', T0 + LEASE_MS)).toBe(true);
  });

  test('a keeper of a pool that died meanwhile is followed within its claim, and is not counted for the rest of the hour', async () => {
    const pool = definePoolScripts(redis());
    const [claim, processors, saved, asks, told] = ['owner', 'procs', 'state', 'asks', 'to:p'].map((name) => `${keyPrefix}{pool:p}:${name}`) as [string, string, string, string, string];
    const beat = async (processor: string, atMs: number): Promise<readonly string[]> => {
      const [keeper = '', , leftMs = '', , , , ...live] = await pool.twPoolBeat(claim, processors, saved, asks, told, atMs, processor, '', '1', 2_000, '', 5_000, 600_000, '', '');
      return [keeper, leftMs, ...live];
    };
    expect(await beat('dead', AHEAD_MS)).toEqual(['dead', '2000', 'dead']);
    expect(await beat('p1', T0)).toEqual(['dead', '2000', 'dead', 'p1']);
    expect(await beat('p1', T0 + 1_999)).toEqual(['dead', '1', 'dead', 'p1']);
    expect(await beat('p1', T0 + 2_000)).toEqual(['p1', '2000', 'p1']);
  });

  test('roots that were used meanwhile leave the lists when they are unused, and do not push out those in use', async () => {
    store = another({ roots: 3 });
    for (const id of ['a', 'b', 'c']) await use(id, AHEAD_MS);
    await store.acknowledgeEvents(await store.pendingEvents(10));
    await store.reap(T0);
    await store.pendingEvents(10);
    expect(await redis().zcard(`${keyPrefix}tw1:live`)).toBe(3);
    for (let ms = 1_000; ms <= 61_000; ms += 1_000) await store.reap(T0 + ms);
    await use('now', T0 + 61_500);
    await store.acknowledgeEvents(await store.pendingEvents(10));
    await store.reap(T0 + 121_000);
    await store.pendingEvents(10);
    expect(await redis().zrange(`${keyPrefix}tw1:live`, '0', '-1')).toEqual([]);
    expect(await redis().zrange(`${keyPrefix}tw1:queued`, '0', '-1')).toEqual([]);
    expect(await redis().zrange(`${keyPrefix}tw1:roots`, '0', '-1')).toContain('now');
    expect((await store.recentEvents(1)).map(({ leaseId }) => leaseId)).toHaveLength(1);
  });

  test('a lease dies a lease time after its processor, also where the clock of its root was lost', async () => {
    for (const id of ['old', 'late']) await store.reserve(request(id, T0, [], [], 'acme', { draft: draft(id, 1) }));
    await redis().zadd(`${keyPrefix}tw1:{acme}:x`, String(T0 + HOUR_MS), 'late');
    await redis().del(`${keyPrefix}tw1:{acme}:c`);
    expect(await reapFor(store, T0, LEASE_MS + 2_000)).toBe(2);
  });

  test('totals of the days after are right, and those of the wrong day stay under it', async () => {
    const midnight = Date.parse('2027-01-16T00:00:00Z');
    await use('ahead', midnight + HOUR_MS / 2, 'acme');
    await use('right', midnight - HOUR_MS / 2, 'acme');
    await use('next', midnight + HOUR_MS, 'acme');
    const days = await Promise.all(['2027-01-15', '2027-01-16', '2027-01'].map((period) => store.totalsIn(period)));
    expect(days.map((totals) => totals.get('acme')?.requests)).toEqual([1, 2, 3]);
  });
});
