import { beforeEach, describe, expect, test } from 'vitest';
import { LEASE_MS, type Store } from '../../src/domain/store.js';
import { createRedisStore } from '../../src/stores/redis/redis-store.js';
import { charge, draft, event, request, used } from '../conformance/store-builders.js';
import { T0, reapFor } from '../conformance/store-under-test.js';
import { redisOfFile } from '../support/redis-of-file.js';

const DEAD_MS = T0 + LEASE_MS;
const places = charge('concurrency', { limit: 3 });
const tokens = charge('tokens', { limit: 600, capacity: 1_000, amount: 100 });

const redis = redisOfFile();

let stores = 0;
let root = '';
let store: Store;
let other: Store;
let faults: string[] = [];
beforeEach(() => {
  const keyPrefix = `t${++stores}:`;
  root = `${keyPrefix}tw1:{acme}:`;
  faults = [];
  const make = (): Store => createRedisStore({ client: redis(), time: 'caller', keyPrefix, onFault: (error) => faults.push(String(error)) });
  [store, other] = [make(), make()];
});

const leased = (id: string, charges = [places, tokens], nowMs = T0) => request(id, nowMs, charges, [], 'acme', { draft: draft(id, 0) });
const free = async (nowMs = T0): Promise<number> => (await store.snapshot([places], nowMs)).levels[0]!.remaining;
/** All that scripts and an eviction may have to agree on. */
const held = async (): Promise<readonly string[]> => (await redis().smembers(`${root}h`)).toSorted();

describe('what the store lost', () => {
  test('a lease whose record is gone gives its place back when it would have expired', async () => {
    for (const id of ['a', 'b']) await store.reserve(leased(id));
    await redis().del(`${root}l:a`);
    for (let ms = 0; ms <= LEASE_MS; ms += 1_000) {
      await store.renew([{ leaseId: 'b', outputTokens: 1 }], T0 + ms);
      await other.reap(T0 + ms);
    }
    expect(await free(DEAD_MS)).toBe(2);
    expect(faults).toEqual([expect.stringMatching(/put right/)]);
    await store.settle('b', used(1, 1), event('b'), DEAD_MS);
    expect([await free(DEAD_MS), await held()]).toEqual([3, []]);
  });

  test('one that its processor brings back has one place, not two, within a minute', async () => {
    await store.reserve(leased('a'));
    await redis().del(`${root}l:a`);
    for (let ms = 0; ms <= 60_000; ms += 1_000) {
      await store.renew([{ leaseId: 'a', outputTokens: 1 }], T0 + ms);
      await other.reap(T0 + ms);
    }
    expect(await free(T0 + 60_000)).toBe(2);
    await store.settle('a', used(1, 1), event('a'), T0 + 60_000);
    expect(await free(T0 + 60_000)).toBe(3);
  });

  test('a bucket that is gone has its places taken again within a minute, and never has too few or too many', async () => {
    for (const id of ['a', 'b', 'c']) await store.reserve(leased(id));
    await redis().del(`${root}b:${places.key}`);
    await store.reserve(leased('d'));
    for (let ms = 0; ms <= 60_000; ms += 1_000) {
      await store.renew(['a', 'b', 'c', 'd'].map((leaseId) => ({ leaseId, outputTokens: 1 })), T0 + ms);
      await other.reap(T0 + ms);
    }
    expect(await free(T0 + 60_000)).toBe(-1);
    for (const id of ['a', 'b', 'c', 'd']) await store.settle(id, used(1, 1), event(id), T0 + 60_000);
    expect([await free(T0 + 60_000), await held()]).toEqual([3, []]);
  });

  test('leases of which even the list is gone give their places back to the next that asks', async () => {
    for (const id of ['a', 'b', 'c']) await store.reserve(leased(id));
    await redis().del(`${root}x`);
    expect((await other.reserve(leased('d'))).kind).toBe('refused');
    await other.reap(T0);
    expect((await other.reserve(leased('d'))).kind).toBe('reserved');
    expect(await free()).toBe(2);
  });

  test('a tenant without limits of its own is idle again', async () => {
    const parents = charge('concurrency', { tenantId: 'corp', limit: 5 });
    await store.reserve(leased('a', [parents]));
    await redis().del(`${root}l:a`);
    expect(await store.isIdle('acme', T0)).toBe(false);
    await reapFor(other, T0, LEASE_MS);
    expect([await store.isIdle('acme', DEAD_MS), await store.isIdle('corp', DEAD_MS)]).toEqual([true, true]);
  });

  test('nothing was lost: counting changes nothing and tells nothing', async () => {
    for (const id of ['a', 'b']) await store.reserve(leased(id));
    await store.cancel('b', T0);
    const before = await redis().getBuffer(`${root}b:${places.key}`);
    for (let ms = 0; ms <= 120_000; ms += 1_000) {
      await store.renew([{ leaseId: 'a', outputTokens: 0 }], T0 + ms);
      await other.reap(T0 + ms);
    }
    expect(await redis().getBuffer(`${root}b:${places.key}`)).toEqual(before);
    expect([faults, await held()]).toEqual([[], [places.key, tokens.key]]);
  });
});
