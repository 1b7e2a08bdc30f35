import { expect, test } from 'vitest';
import { LEASE_MS } from '../../src/domain/store.js';
import { capacity, pool } from './pool-builders.js';
import { PoolsUnderTest, type MakePools } from './pool-under-test.js';

/** Owners that live, die, stand still and come back. */
export function describePoolLifetimes(makeStore: MakePools): void {
  const on = new PoolsUnderTest(makeStore);

  test('each owner hears of its own leases', async () => {
    await on.fill(['a', 'b', 'c', 'd']);
    await on.queue(['e'], { owner: 'p2' });
    await on.queue(['f'], { owner: 'p1' });
    await on.settle('a');
    await on.settle('b');
    expect((await on.told(2)).map(({ owner, event }) => `${owner} ${event.leaseId}`).sort()).toEqual(['p1 f', 'p2 e']);
  });

  test('the waiters of a dead owner leave the queue, its streams are settled at what they told last', async () => {
    await on.fill(['a'], { owner: 'p2' });
    await on.fill(['b', 'c', 'd']);
    await on.queue(['x'], { owner: 'p2', maxWaitMs: 60_000 });
    await on.queue(['y'], { maxWaitMs: 60_000, at: 1 });
    await on.renew(['a'], { owner: 'p2', work: 30 });
    await on.pass(0, LEASE_MS - 1_000, { p1: ['b', 'c', 'd', 'y'] });
    expect(await on.snapshot(LEASE_MS - 1_000)).toMatchObject({ waiting: 2, inFlight: 4 });
    await on.pass(LEASE_MS - 1_000, LEASE_MS, { p1: ['b', 'c', 'd', 'y'] });
    const told = await on.events(2);
    expect(told.sort()).toEqual(['granted y', 'queue_timeout x']);
    expect(await on.snapshot(LEASE_MS)).toMatchObject({ waiting: 0, inFlight: 4 });
    expect(await on.settle('x', 5, LEASE_MS)).toBe('already_ended');
    expect(await on.settle('a', 80, LEASE_MS)).toBe('corrected');
    expect(await on.settle('a', 90, LEASE_MS)).toBe('already_ended');
  });

  test('a store that stood still ends nobody', async () => {
    await on.fill(['a', 'b', 'c', 'd']);
    await on.tick(3_600_000);
    expect(await on.snapshot(3_600_000)).toMatchObject({ inFlight: 4 });
  });

  test('a grant that nobody takes up returns, and goes to the next', async () => {
    await on.fill(['a', 'b', 'c', 'd']);
    await on.queue(['e'], { owner: 'p2', maxWaitMs: 60_000 });
    await on.queue(['f'], { maxWaitMs: 60_000, at: 1 });
    await on.settle('a', 100, 10);
    expect(await on.events(1)).toEqual(['granted e']);
    expect(await on.tick(10)).toBe(2_010);
    await on.tick(1_000);
    // It lives, and does not know of its grant.
    await on.renew(['e'], { owner: 'p2', at: 1_900 });
    expect(await on.events(0)).toEqual([]);
    await on.tick(2_010);
    expect(await on.events(1)).toEqual(['granted f']);
  });

  test('a grant is taken up by the first renewal of one that runs', async () => {
    await on.fill(['a', 'b', 'c', 'd']);
    await on.queue(['e'], { maxWaitMs: 60_000 });
    await on.settle('a', 100, 10);
    await on.renew(['e'], { work: 1, at: 900 });
    for (const at of [1_500, 2_000, 3_000]) await on.tick(at);
    expect(await on.snapshot(3_000)).toMatchObject({ inFlight: 4 });
    expect(await on.settle('e', 10, 3_000)).toBe('ended');
  });

  test('a stream that was taken for dead and still runs counts again', async () => {
    await on.fill(['a'], { owner: 'p2' });
    await on.fill(['b', 'c', 'd']);
    await on.renew(['a'], { owner: 'p2', work: 30 });
    await on.pass(0, LEASE_MS, { p1: ['b', 'c', 'd'] });
    expect(await on.snapshot(LEASE_MS)).toMatchObject({ inFlight: 3, inUse: { slots: 3 } });
    await on.fill(['e'], { at: LEASE_MS });
    await on.renew(['a'], { owner: 'p2', work: 200, at: LEASE_MS });
    // The one allowed overshoot.
    expect(await on.snapshot(LEASE_MS)).toMatchObject({ inFlight: 5, inUse: { slots: 5 } });
    expect(await on.settle('a', 300, LEASE_MS)).toBe('ended');
    expect(await on.snapshot(LEASE_MS)).toMatchObject({ inFlight: 4 });
  });

  test('renewals of others, and of leases that nobody knows, are passed over', async () => {
    await on.fill(['a', 'b', 'c', 'd']);
    await on.pass(0, LEASE_MS, { p2: ['a', 'ghost'], p1: ['b', 'c', 'd'] });
    expect(await on.snapshot(LEASE_MS)).toMatchObject({ inFlight: 3 });
  });

  test('a clock that steps back changes nothing', async () => {
    await on.fill(['a', 'b', 'c', 'd'], { at: 5_000 });
    await on.queue(['e'], { at: 5_000, maxWaitMs: 1_000 });
    await on.tick(2_000);
    expect(await on.snapshot(2_000)).toMatchObject({ inFlight: 4, waiting: 1 });
    await on.tick(6_000);
    expect(await on.events(1)).toEqual(['queue_timeout e']);
  });

  test('an entitlement that does nothing is forgotten', async () => {
    await on.fill(['a']);
    await on.settle('a', 1);
    for (let at = 1_000; at < 40_000; at += 10_000) await on.tick(at, pool({ capacity: capacity({ slots: 4 }) }));
    expect((await on.snapshot(40_000)).entitlements).toEqual([]);
  });
}
