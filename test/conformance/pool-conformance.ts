import { describe, expect, test } from 'vitest';
import { UNBOUNDED } from '../../src/domain/pool.js';
import { capacity, elastic, guaranteed, pool, spot, T0 } from './pool-builders.js';
import { describePoolLifetimes } from './pool-lifetimes.js';
import { describePoolOrder } from './pool-order.js';
import { describePoolRoom } from './pool-room.js';
import { PoolsUnderTest, type MakePools } from './pool-under-test.js';

/** What every store of pools must do. All times are given with the calls. `makeStore` gives an empty store for each test. */
export function describePools(name: string, makeStore: MakePools): void {
  describe(`pools: ${name}`, () => {
    describe('ask and end', () => describeAsking(makeStore));
    describe('room', () => describePoolRoom(makeStore));
    describe('order', () => describePoolOrder(makeStore));
    describe('lifetimes', () => describePoolLifetimes(makeStore));
  });
}

function describeAsking(makeStore: MakePools): void {
  const on = new PoolsUnderTest(makeStore);
  const two = pool({ capacity: capacity({ slots: 2 }) });

  test('dispatches while there is room, then holds, and grants when room comes', async () => {
    await on.fill(['a', 'b'], { pool: two });
    await on.queue(['c'], { pool: two, at: 10 });
    expect(await on.snapshot(10)).toMatchObject({ waiting: 1, waitingBytes: 100, inFlight: 2, inUse: { slots: 2 }, capacity: two.capacity, pressure: 'normal' });
    expect(await on.settle('a', 90, 250)).toBe('ended');
    expect(await on.told(1)).toMatchObject([{ owner: 'p1', event: { kind: 'granted', poolId: 'pool', leaseId: 'c', waitedMs: 240, factors: { entitlementId: 'acme', tier: 1, weight: 10 } } }]);
    expect(await on.snapshot(250)).toMatchObject({ waiting: 0, waitingBytes: 0, inFlight: 2 });
  });

  test('tells in its answer why it decided so', async () => {
    const answer = await on.ask('a', { entitlement: elastic('acme', {}, { sloMs: 500 }) });
    expect(answer).toMatchObject({ kind: 'dispatched', factors: { serviceClass: 'elastic', tier: 1, weight: 20, sloFactor: 2, burstFactor: 1, debtFactor: 1, debtTokens: 0, waiting: 0 } });
  });

  test('a pool nobody told anything of is not known', async () => {
    expect(await on.store.snapshot('pool', T0)).toBeNull();
    expect(await on.settle('a')).toBe('unknown');
    expect(await on.cancel('a')).toBe('unknown');
  });

  test('the same lease id again answers as it stands now, and takes nothing', async () => {
    await on.fill(['a', 'b'], { pool: two });
    expect(await on.kind('a', { pool: two })).toBe('dispatched');
    await on.queue(['c'], { pool: two });
    await on.queue(['c'], { pool: two });
    expect(await on.snapshot()).toMatchObject({ waiting: 1, inFlight: 2 });
    await on.settle('a');
    expect(await on.events(1)).toEqual(['granted c']);
    expect(await on.kind('c', { pool: two })).toBe('dispatched');
    expect(await on.kind('a', { pool: two })).toBe('dispatched');
    expect(await on.snapshot()).toMatchObject({ waiting: 0, inFlight: 2 });
  });

  test('an end counts once', async () => {
    await on.fill(['a'], { pool: two });
    expect(await on.settle('a', 50)).toBe('ended');
    expect(await on.settle('a', 500)).toBe('already_ended');
    expect(await on.cancel('a')).toBe('already_ended');
    expect(await on.snapshot()).toMatchObject({ inFlight: 0, inUse: { slots: 0, kvBytes: 0, tokensPerSecond: 5 } });
  });

  test('a cancelled waiter leaves the queue in the same step', async () => {
    await on.fill(['a', 'b'], { pool: two });
    await on.queue(['c', 'd'], { pool: two });
    expect(await on.cancel('c')).toBe('ended');
    expect(await on.snapshot()).toMatchObject({ waiting: 1, waitingBytes: 100 });
    expect(await on.cancel('c')).toBe('already_ended');
    await on.settle('a');
    expect(await on.events(1)).toEqual(['granted d']);
  });

  test('a cancelled stream gives all back, its request and its tokens', async () => {
    const settings = pool({ capacity: { ...UNBOUNDED, tokensPerSecond: 100, requestsPerSecond: 1 }, burstSeconds: 1 });
    await on.fill(['a'], { pool: settings });
    expect(await on.kind('b', { pool: settings, maxWaitMs: 0 })).toBe('pool_busy');
    expect(await on.cancel('a')).toBe('ended');
    expect(await on.snapshot()).toMatchObject({ inFlight: 0, inUse: { tokensPerSecond: 0 } });
    await on.fill(['b'], { pool: settings });
  });

  test('a granted one that is cancelled makes room for the next', async () => {
    await on.fill(['a', 'b'], { pool: two });
    await on.queue(['c', 'd'], { pool: two });
    await on.settle('a');
    expect(await on.events(1)).toEqual(['granted c']);
    expect(await on.cancel('c')).toBe('ended');
    expect(await on.events(1)).toEqual(['granted d']);
    expect(await on.snapshot()).toMatchObject({ waiting: 0, inFlight: 2 });
  });

  test('who may not wait is refused at once, with the wait that it would have been', async () => {
    await on.fill(['a', 'b'], { pool: two });
    expect(await on.ask('c', { pool: two, maxWaitMs: 0 })).toMatchObject({ kind: 'refused', reason: 'pool_busy', neededWaitMs: 15_000 });
    expect(await on.snapshot()).toMatchObject({ waiting: 0, inFlight: 2 });
  });

  test('spot never waits, whatever it asks for', async () => {
    await on.fill(['a', 'b'], { pool: two, entitlement: spot('s') });
    expect(await on.kind('c', { pool: two, entitlement: spot('s') })).toBe('pool_busy');
  });

  test('the queue is bounded in requests', async () => {
    const settings = pool({ capacity: capacity({ slots: 1 }), maxWaiting: 2 });
    await on.fill(['a'], { pool: settings });
    await on.queue(['b', 'c'], { pool: settings });
    expect(await on.ask('d', { pool: settings })).toMatchObject({ kind: 'refused', reason: 'queue_full' });
    expect(await on.snapshot()).toMatchObject({ waiting: 2, waitingBytes: 200 });
    await on.cancel('b');
    await on.queue(['d'], { pool: settings });
  });

  test('the queue is bounded in bytes', async () => {
    const settings = pool({ capacity: capacity({ slots: 1 }), maxWaitingBytes: 1_000 });
    await on.fill(['a'], { pool: settings });
    await on.queue(['b'], { pool: settings, bytes: 900 });
    expect(await on.kind('c', { pool: settings, bytes: 101 })).toBe('queue_full');
    await on.queue(['d'], { pool: settings, bytes: 100 });
  });

  test('a full queue takes in tier 0 that its baseline has place for, with all of it that waits, and no more', async () => {
    const settings = pool({ capacity: capacity({ slots: 2 }), maxWaiting: 1, tier0Baselines: { tokensPerSecond: 0, kvBytes: 0, slots: 2 } });
    await on.fill(['a', 'b'], { pool: settings });
    await on.queue(['c'], { pool: settings });
    await on.queue(['g1', 'g2'], { pool: settings, entitlement: guaranteed('g') });
    expect(await on.kind('g3', { pool: settings, entitlement: guaranteed('g') })).toBe('queue_full');
  });

  test('a full queue refuses nobody who is served at once', async () => {
    const settings = pool({ capacity: capacity({ slots: 3 }), maxWaiting: 1 });
    await on.fill(['a', 'b'], { pool: settings });
    await on.queue(['wide'], { pool: settings, demand: { slots: 2 } });
    await on.fill(['c'], { pool: settings, entitlement: elastic('other') });
  });

  test('what is larger than the pool is refused for good', async () => {
    expect(await on.ask('a', { pool: two, demand: { slots: 3 } })).toMatchObject({ kind: 'refused', reason: 'pool_too_small', neededWaitMs: 0 });
    expect(await on.kind('b', { pool: pool({ capacity: capacity({ kvBytes: 10 }) }), demand: { kvBytes: 11 } })).toBe('pool_too_small');
    expect(await on.kind('c', { pool: pool({ capacity: UNBOUNDED }), demand: { slots: 1_000, kvBytes: 1e11 } })).toBe('dispatched');
  });

  test('a deadline refuses at its millisecond and not before', async () => {
    await on.fill(['a', 'b'], { pool: two });
    const answer = await on.ask('c', { pool: two, maxWaitMs: 700, at: 5 });
    expect(answer).toMatchObject({ kind: 'waiting', nextAtMs: T0 + 705 });
    await on.tick(704, two);
    expect(await on.events(0)).toEqual([]);
    await on.tick(705, two);
    expect(await on.told(1)).toMatchObject([{ event: { kind: 'refused', reason: 'queue_timeout', leaseId: 'c', waitedMs: 700, neededWaitMs: 5_366 } }]);
    expect(await on.snapshot(705)).toMatchObject({ waiting: 0 });
    expect(await on.kind('c', { pool: two, at: 706 })).toBe('queue_timeout');
  });

  test('amounts that make no sense count as the least, and break nothing', async () => {
    await on.fill(['a'], { pool: two, demand: { work: NaN, kvBytes: -5, slots: 0 }, bytes: -1 });
    expect(await on.settle('a', NaN)).toBe('ended');
    expect(await on.snapshot()).toMatchObject({ inFlight: 0, inUse: { tokensPerSecond: 0, kvBytes: 0, slots: 0 } });
  });

  test('pools know nothing of each other', async () => {
    await on.fill(['a', 'b'], { pool: two });
    await on.fill(['c'], { pool: pool({ id: 'other' }) });
    expect(await on.settle('c')).toBe('unknown');
  });
}
