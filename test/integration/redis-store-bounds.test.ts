import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Store } from '../../src/domain/store.js';
import { createRedisStore } from '../../src/stores/redis/redis-store.js';
import { charge, event, request, used } from '../conformance/store-builders.js';
import { T0 } from '../conformance/store-under-test.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

let server: RedisServer;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url, { protocol: 2 });
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

async function use(store: Store, tenantId: string, rootId: string, nowMs: number): Promise<void> {
  const id = `${tenantId}-${nowMs}`;
  await store.reserve(request(id, nowMs, [charge('tokens', { tenantId, limit: 600, amount: 5 })], [], tenantId, { rootId }));
  await store.settle(id, used(1, 1), event(id, used(1, 1), { tenantId, settledAtMs: nowMs }), nowMs);
}

test('tenants that clients make up by the thousand leave a bounded index, and none of those that are in use is lost', async () => {
  const store = createRedisStore({ client, time: 'caller', onFault: () => undefined, roots: 50 });
  for (let i = 0; i < 200; i++) await use(store, `made-up-${i}`, `made-up-${i}`, T0 + i * 1_000);
  await use(store, 'child', 'corp', T0 + 200_000);
  for (const afterMs of [300_000, 360_000]) await store.reap(T0 + afterMs);
  expect(await client.zcard('tw1:roots')).toBe(50);
  expect(await client.hgetall('tw1:tenants')).toEqual({ child: 'corp' });
  expect([...(await store.snapshot([], T0 + 360_000)).totals.keys()]).toContain('child');
  await use(store, 'made-up-0', 'made-up-0', T0 + 400_000);
  expect((await store.snapshot([], T0 + 400_000)).totals.get('made-up-0')?.requests).toBe(2);
});

test('a tenant that is put under a parent, and taken out again, is found where it is by a processor that started since', async () => {
  const store = createRedisStore({ client, time: 'caller', onFault: () => undefined });
  const bucket = charge('tokens', { tenantId: 'mover', limit: 600, amount: 5 });
  const seen = async (): Promise<number | undefined> => {
    const other = createRedisStore({ client, time: 'caller', onFault: () => undefined });
    return (await other.snapshot([bucket], T0)).levels[0]?.remaining;
  };
  const roots = ['mover', 'corp', 'mover'];
  for (const [i, rootId] of roots.entries()) await store.reserve(request(`m${i}`, T0, Array<typeof bucket>(1).fill({ ...bucket, amount: 10 ** i }), [], 'mover', { rootId }));
  expect(await seen()).toBe(600 - 1 - 100);
  await store.reserve(request('m3', T0, [bucket], [], 'mover', { rootId: 'corp' }));
  expect(await seen()).toBe(600 - 10 - 5);
});
