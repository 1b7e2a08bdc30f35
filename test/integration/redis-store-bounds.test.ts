import { expect, test } from 'vitest';
import type { Store } from '../../src/domain/store.js';
import { createRedisStore } from '../../src/stores/redis/redis-store.js';
import { charge, event, request, used } from '../conformance/store-builders.js';
import { T0 } from '../conformance/store-under-test.js';
import { redisOfFile } from '../support/redis-of-file.js';

const redis = redisOfFile();

async function use(store: Store, tenantId: string, rootId: string, nowMs: number): Promise<void> {
  const id = `${tenantId}-${nowMs}`;
  await store.reserve(request(id, nowMs, [charge('tokens', { tenantId, limit: 600, amount: 5 })], [], tenantId, { rootId }));
  await store.settle(id, used(1, 1), event(id, used(1, 1), { tenantId, settledAtMs: nowMs }), nowMs);
}

test('tenants that clients make up by the thousand leave a bounded index, and none of those that are in use is lost', async () => {
  const store = createRedisStore({ client: redis(), time: 'caller', onFault: () => undefined, roots: 50 });
  for (let i = 0; i < 200; i++) await use(store, `made-up-${i}`, `made-up-${i}`, T0 + i * 1_000);
  await use(store, 'child', 'corp', T0 + 200_000);
  for (const afterMs of [300_000, 360_000]) await store.reap(T0 + afterMs);
  expect(await redis().zcard('tw1:roots')).toBe(50);
  expect(await redis().hgetall('tw1:tenants')).toEqual({ child: 'corp' });
  expect([...(await store.snapshot([], T0 + 360_000)).totals.keys()]).toContain('child');
  await use(store, 'made-up-0', 'made-up-0', T0 + 400_000);
  expect((await store.snapshot([], T0 + 400_000)).totals.get('made-up-0')?.requests).toBe(2);
});

test('a tenant that is put under a parent, and taken out again, is found where it is by a processor that started since', async () => {
  const store = createRedisStore({ client: redis(), time: 'caller', onFault: () => undefined });
  const bucket = charge('tokens', { tenantId: 'mover', limit: 600, amount: 5 });
  const seen = async (): Promise<number | undefined> => {
    const other = createRedisStore({ client: redis(), time: 'caller', onFault: () => undefined });
    return (await other.snapshot([bucket], T0)).levels[0]?.remaining;
  };
  const roots = ['mover', 'corp', 'mover'];
  for (const [i, rootId] of roots.entries()) await store.reserve(request(`m${i}`, T0, Array<typeof bucket>(1).fill({ ...bucket, amount: 10 ** i }), [], 'mover', { rootId }));
  expect(await seen()).toBe(600 - 1 - 100);
  await store.reserve(request('m3', T0, [bucket], [], 'mover', { rootId: 'corp' }));
  expect(await seen()).toBe(600 - 10 - 5);
});

test('what clients make up leaves keys whose number is bounded: those of roots that are not known any more go within a day', async () => {
  await redis().flushall();
  const store = createRedisStore({ client: redis(), time: 'caller', onFault: () => undefined, keepEvents: true, roots: 20, tenants: 20 });
  for (let i = 0; i < 100; i++) {
    await use(store, `own-${i}`, `own-${i}`, T0 + i * 1_000);
    await use(store, `below-${i}`, 'corp', T0 + i * 1_000);
    await store.saveLearned([{ key: `chat model-${i}`, observations: 1, state: 's' }]);
  }
  await store.acknowledgeEvents(await store.pendingEvents(1_000));
  for (let ms = 100_000; ms <= 300_000; ms += 10_000) {
    await store.reap(T0 + ms);
    await store.pendingEvents(10);
  }
  const keys = await redis().keys('*');
  const left = await Promise.all(keys.map(async (key) => ({ key, ms: await redis().pttl(key) })));
  const [dayMs, monthsMs] = [86_400_000, 460 * 86_400_000];
  expect(left.filter(({ ms }) => ms > dayMs).filter(({ key }) => key.endsWith(':u'))).toHaveLength(20);
  expect(left.filter(({ key, ms }) => key.endsWith(':u') && (ms < 0 || ms > monthsMs))).toEqual([]);
  expect(left.filter(({ ms }) => ms < 0).map(({ key }) => key).toSorted()).toEqual(['roots', 'tenants', '{learned}:n', '{learned}:o', '{learned}:s'].map((name) => `tw1:${name}`));
  expect(await redis().hlen('tw1:tenants')).toBe(20);
});

test('a root that was forgotten and is used again keeps its totals', async () => {
  await redis().flushall();
  const store = createRedisStore({ client: redis(), time: 'caller', onFault: () => undefined, roots: 1 });
  await use(store, 'first', 'first', T0);
  await use(store, 'second', 'second', T0 + 1_000);
  await store.reap(T0 + 1_000);
  expect(await redis().pttl('tw1:{first}:u')).toBeLessThanOrEqual(86_400_000);
  await use(store, 'first', 'first', T0 + 5_000);
  await expect.poll(() => redis().pttl('tw1:{first}:u')).toBeGreaterThan(400 * 86_400_000);
});

test('tenants that are made up below one parent push out those of the fewest requests, and none of those used today', async () => {
  await redis().flushall();
  const store = createRedisStore({ client: redis(), time: 'caller', onFault: () => undefined });
  const dayMs = 86_400_000;
  await use(store, 'made-up', 'corp', T0 - dayMs);
  const record = (await redis().hgetBuffer('tw1:{corp}:u', 'made-up'))!;
  const some = Array.from({ length: 9_999 }, (_, i): [string, Buffer] => [`made-up-${i}`, record]);
  await redis().hset('tw1:{corp}:u', new Map(some));
  for (let i = 0; i < 50; i++) await use(store, `new-${i}`, 'corp', T0 + i);
  expect(await redis().hlen('tw1:{corp}:u')).toBe(10_000);
  const { totals } = await store.snapshot([], T0);
  expect([...totals.keys()].filter((id) => id.startsWith('new-'))).toHaveLength(50);
});

test('a sink that never takes anything does not fill the store: beyond the bound the oldest events are lost, and counted', async () => {
  await redis().flushall();
  let lost = 0;
  const store = createRedisStore({ client: redis(), time: 'caller', onFault: () => undefined, keepEvents: true, queuedEvents: 100, onEventsLost: (events) => (lost += events) });
  for (let i = 0; i < 500; i++) await use(store, 'acme', 'acme', T0 + i * 1_000);
  const queued = await redis().xlen('tw1:{acme}:q');
  expect(queued).toBeGreaterThanOrEqual(100);
  expect(queued).toBeLessThan(200);
  expect(queued + lost).toBe(500);
  expect((await store.pendingEvents(1)).map(({ event: one }) => one.settledAtMs)).toEqual([T0 + lost * 1_000]);
});
