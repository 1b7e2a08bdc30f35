import { describe, expect, test } from 'vitest';
import { charge, used } from '../../../conformance/store-builders.js';
import { Away } from './away.js';

const rpm = charge('requests', { limit: 60 });
const tpm = charge('tokens', { limit: 6_000, amount: 600, inputAmount: 100 });

/** How many of so many requests at one instant pass. */
async function passing(on: Away, count: number, ...charges: Parameters<Away['reserve']>[1][]): Promise<number> {
  let passed = 0;
  for (let i = 0; i < count; i++) if ((await on.reserve(`p${i}-${on.nowMs}`, ...charges)) === 'reserved') passed++;
  return passed;
}

describe('the share of what remained', () => {
  test.each([[1, 40], [2, 20], [3, 13], [4, 10]])('%i processors, 40 of 60 requests left: each gives out %i', async (processors, share) => {
    const on = new Away({ processors });
    for (let i = 0; i < 20; i++) await on.reserve(`before${i}`, rpm);
    await on.goAway('refuses');
    expect(await passing(on, 60, rpm)).toBe(share);
  });

  test('refills at its part of the rate', async () => {
    const on = new Away({ processors: 3 });
    await on.goAway('refuses');
    expect(await passing(on, 60, rpm)).toBe(20);
    await on.pass(2_999);
    expect(await passing(on, 1, rpm)).toBe(0);
    await on.pass(1);
    expect(await passing(on, 5, rpm)).toBe(1);
  });

  test('of a bucket that was in debt there is none until it is refilled', async () => {
    const on = new Away({ processors: 2 });
    await on.reserve('a', tpm);
    await on.settle('a', used(6_000, 1_200));
    await on.reserve('b', tpm);
    await on.goAway('refuses');
    expect(await passing(on, 1, tpm)).toBe(0);
    // 1,200 in debt, and 600 of its half of the bucket: 2,400 at 100 a second.
    await on.pass(23_999, 1_000);
    expect(await passing(on, 1, tpm)).toBe(0);
    await on.pass(1);
    expect(await passing(on, 3, tpm)).toBe(1);
  });

  test('has what leases gave back before the outage', async () => {
    const on = new Away({ processors: 1 });
    await on.reserve('a', charge('tokens', { limit: 6_000, amount: 6_000 }));
    await on.settle('a', used(10, 10));
    await on.goAway('refuses');
    expect(await passing(on, 20, tpm)).toBe(9);
  });

  test('with a number that nobody knows it is a fourth', async () => {
    const on = new Away({ processors: null });
    await on.goAway('refuses');
    expect(await passing(on, 60, rpm)).toBe(15);
  });

  test('what is larger than a share passes when the share is full, and is paid for', async () => {
    const on = new Away({ processors: 3 });
    const large = charge('tokens', { limit: 6_000, amount: 3_000 });
    await on.goAway('refuses');
    expect(await on.reserve('a', large)).toBe('reserved');
    await on.settle('a', used(3_000, 0));
    // 9,000 of the whole limit's 6,000 a minute.
    await on.pass(89_999, 1_000);
    expect(await on.reserve('b', large)).toBe('refused');
    await on.pass(1);
    expect(await on.reserve('b', large)).toBe('reserved');
  });

  test('levels and shortages are told in units of the limit, as they are for this processor', async () => {
    const on = new Away({ processors: 3 });
    await on.goAway('refuses');
    const { result } = await on.reserveIn('a', [tpm]);
    expect(result.levels).toEqual([{ key: tpm.key, tenantId: 'acme', dimension: 'tokens', limit: 6_000, capacity: 6_000, remaining: 1_400, resetMs: 18_000 }]);
    await passing(on, 2, tpm);
    const refused = await on.reserveIn('b', [tpm]);
    expect(refused.result).toMatchObject({ kind: 'refused', shortage: { needed: 600, waitMs: 12_000, exact: false, level: { remaining: 200 } } });
  });

  test('limits in shadow never refuse, and all or none of them are charged', async () => {
    const on = new Away({ processors: 1 });
    const small = charge('requests', { name: 's', limit: 1 });
    await on.goAway('refuses');
    await on.reserveIn('a', [rpm], [small, tpm]);
    const { result } = await on.reserveIn('b', [rpm], [small, tpm]);
    expect(result).toMatchObject({ kind: 'reserved', wouldRefuse: { level: { key: small.key } } });
    expect(result.levels.map(({ remaining }) => remaining)).toEqual([58, 0, 5_400]);
  });

  test('output beyond the reservation is charged while it streams', async () => {
    const on = new Away({ processors: 2 });
    await on.goAway('refuses');
    await on.reserve('a', tpm);
    await on.store.renew([{ leaseId: 'a', outputTokens: 1_000 }], on.nowMs);
    expect((await on.store.snapshot([tpm], on.nowMs)).levels[0]?.remaining).toBe(1_900);
    await on.cancel('a');
    expect((await on.store.snapshot([tpm], on.nowMs)).levels[0]?.remaining).toBe(3_000);
  });
});

describe('places', () => {
  const places = charge('concurrency', { limit: 6 });

  test('are shared out less those that this processor fills at the store, and come free as those end', async () => {
    const on = new Away({ processors: 3 });
    for (const id of ['a', 'b']) await on.reserve(id, places);
    await on.goAway('refuses');
    expect(await on.reserve('c', places)).toBe('refused');
    await on.settle('a', used(1, 1));
    expect(await on.reserve('c', places)).toBe('reserved');
    expect(await on.reserve('d', places)).toBe('refused');
    await on.settle('c', used(1, 1));
    expect(await on.reserve('d', places)).toBe('reserved');
  });

  test('that others had taken are not given out for a minute, and then as their streams must have ended', async () => {
    const on = new Away({ processors: 2 });
    const other = new Away({ processors: 2, beside: on, owner: 'p2' });
    for (let i = 0; i < 5; i++) await other.reserve(`o${i}`, places);
    await on.reserve('a', places);
    await on.settle('a', used(1, 1));
    await on.goAway('refuses');
    expect(await on.reserve('b', places)).toBe('refused');
    await on.pass(60_000, 1_000);
    expect(await passing(on, 6, places)).toBe(3);
  });

  test('that its own leases give back are its own at once, though others fill all the rest', async () => {
    const on = new Away({ processors: 2 });
    const other = new Away({ processors: 2, beside: on, owner: 'p2' });
    for (let i = 0; i < 3; i++) {
      await other.reserve(`o${i}`, places);
      await on.reserve(`a${i}`, places);
    }
    await on.goAway('refuses');
    expect(await on.reserve('b', places)).toBe('refused');
    await on.settle('a0', used(1, 1));
    expect([await on.reserve('b', places), await on.reserve('c', places)]).toEqual(['reserved', 'refused']);
    await on.settle('a1', used(1, 1));
    expect([await on.reserve('d', places), await on.reserve('e', places)]).toEqual(['reserved', 'refused']);
    await on.comeBack();
    await on.goAway('refuses');
    expect(await on.reserve('f', places)).toBe('refused');
  });

  test('of a limit smaller than the number of processors each has one', async () => {
    const on = new Away({ processors: 3 });
    await on.goAway('refuses');
    expect(await passing(on, 3, charge('concurrency', { limit: 1 }))).toBe(1);
  });
});

describe('when the store is back', () => {
  test('rates are charged what is not yet refilled, not the whole outage', async () => {
    const on = new Away();
    await on.goAway('refuses');
    // A hundred tokens a second for ten minutes: the limit's own rate. At the end at most a minute's worth is missing.
    for (let second = 0; second < 600; second++) {
      await on.reserve(`r${second}`, charge('tokens', { limit: 6_000, amount: 100 }));
      await on.settle(`r${second}`, used(50, 50));
      await on.pass(1_000, 1_000);
    }
    const [own = 0] = (await on.store.snapshot([tpm], on.nowMs)).levels.map(({ remaining }) => remaining);
    expect(own).toBeGreaterThan(5_000);
    await on.comeBack();
    expect((await on.shared.snapshot([], on.nowMs)).totals.get('acme')).toMatchObject({ requests: 600, inputTokens: 30_000, outputTokens: 30_000 });
    const [remaining = 0] = await on.remaining(tpm);
    expect(remaining).toBeGreaterThanOrEqual(own);
    expect(await on.shared.recentEvents(1_000)).toHaveLength(600);
  });

  test('a bucket takes the smaller of its own level and the sum of all shares', async () => {
    const one = new Away({ processors: 2 });
    const other = new Away({ processors: 2, beside: one, owner: 'p2' });
    const slow = charge('tokens', { limit: 60, capacity: 6_000, amount: 1_000 });
    for (const on of [one, other]) await on.goAway('refuses');
    for (const [on, id, tokens] of [[one, 'a', 1_000], [one, 'b', 1_000], [other, 'c', 500]] as const) {
      await on.reserve(id, slow);
      await on.settle(id, used(tokens, 0));
    }
    for (const on of [one, other]) on.flaky.thaw();
    await one.pass(8_000);
    // Eight seconds at one a second, less the moment until it was charged.
    expect(await one.remaining(slow)).toEqual([6_000 - 2_500 + 7]);
  });

  test('what was missing before the outage is not charged again', async () => {
    const on = new Away();
    const slow = charge('tokens', { limit: 60, capacity: 6_000, amount: 1_000 });
    await on.reserve('a', slow);
    await on.settle('a', used(1_000, 0));
    await on.reserve('b', slow);
    await on.goAway('refuses');
    await on.reserve('c', slow);
    await on.settle('c', used(1_000, 0));
    await on.settle('b', used(1_000, 0));
    await on.comeBack();
    expect(await on.remaining(slow)).toEqual([6_000 - 3_000 + 8]);
  });

  test('leases of the share that run move to the store with all that they hold, and are settled there', async () => {
    const on = new Away({ processors: 2 });
    const places = charge('concurrency', { limit: 6 });
    await on.goAway('refuses');
    const slow = charge('tokens', { limit: 1, capacity: 6_000, amount: 600, inputAmount: 100 });
    await on.reserve('a', rpm, slow, places);
    await on.store.renew([{ leaseId: 'a', outputTokens: 900 }], on.nowMs);
    await on.comeBack();
    expect(await on.remaining(rpm, slow, places)).toEqual([60, 5_000, 5]);
    expect((await on.shared.snapshot([], on.nowMs)).leases).toBe(1);
    expect(await on.settle('a', used(100, 1_000))).toBe('settled');
    expect(await on.remaining(places)).toEqual([6]);
    expect((await on.shared.snapshot([], on.nowMs)).totals.get('acme')).toMatchObject({ requests: 1, outputTokens: 1_000 });
  });

  test('moving never fails for want of room: what was admitted was admitted', async () => {
    const one = new Away({ processors: 1 });
    const other = new Away({ processors: 1, beside: one, owner: 'p2' });
    const last = charge('concurrency', { limit: 1 });
    await one.goAway('refuses');
    await one.reserve('a', last);
    await other.reserve('b', last);
    await one.comeBack();
    expect(await one.remaining(last)).toEqual([-1]);
    await one.settle('a', used(1, 1));
    await other.settle('b', used(1, 1));
    expect(await one.remaining(last)).toEqual([1]);
  });

  test('a second outage at once gives out nothing twice', async () => {
    const on = new Away();
    const slow = charge('requests', { limit: 1, capacity: 10 });
    await on.goAway('refuses');
    expect(await passing(on, 20, slow)).toBe(10);
    on.flaky.thaw();
    await on.pass(500);
    await on.goAway('refuses');
    expect(await passing(on, 20, slow)).toBe(0);
  });
});
