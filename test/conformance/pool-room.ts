import { describe, expect, test } from 'vitest';
import { capacity, elastic, guaranteed, pool, spot } from './pool-builders.js';
import { PoolsUnderTest, type MakePools } from './pool-under-test.js';

const TWO_OF_FOUR = { tokensPerSecond: 0, kvBytes: 0, slots: 2 };

/** What fits: tiers, lending, rates, taking back what was lent. */
export function describePoolRoom(makeStore: MakePools): void {
  describe('baselines', () => describeBaselines(makeStore));
  describe('rates', () => describeRates(makeStore));
  describe('reclaim', () => describeReclaim(makeStore));
  describe('pressure', () => describePressure(makeStore));
  describe('capacity', () => describeCapacity(makeStore));
}

function describeBaselines(makeStore: MakePools): void {
  const on = new PoolsUnderTest(makeStore);

  test('tier 0 goes before all that waits longer', async () => {
    await on.fill(['a', 'b', 'c', 'd']);
    await on.queue(['e', 'f']);
    await on.queue(['g'], { entitlement: guaranteed('g'), at: 10 });
    await on.settle('a', 100, 20);
    expect(await on.told(1)).toMatchObject([{ event: { leaseId: 'g', factors: { tier: 0, serviceClass: 'guaranteed' } } }]);
  });

  test('beyond its baseline guaranteed shares as the others do', async () => {
    await on.fill(['g1', 'g2'], { entitlement: guaranteed('g') });
    expect(await on.ask('g3', { entitlement: guaranteed('g') })).toMatchObject({ kind: 'dispatched', factors: { tier: 1 } });
    await on.fill(['a']);
    await on.queue(['b'], { at: 1 });
    await on.queue(['g4'], { entitlement: guaranteed('g'), at: 2 });
    await on.settle('a', 100, 3);
    expect(await on.events(1)).toEqual(['granted b']);
    await on.settle('g1', 100, 4);
    // Two of its own run still.
    expect(await on.told(1)).toMatchObject([{ event: { leaseId: 'g4', factors: { tier: 1 } } }]);
    await on.settle('g2', 100, 5);
    await on.settle('g3', 100, 6);
    expect(await on.ask('g5', { entitlement: guaranteed('g'), at: 7 })).toMatchObject({ kind: 'dispatched', factors: { tier: 0 } });
  });

  test('idle baselines are lent to all, unless they are lent to nobody or to spot only', async () => {
    for (const [lend, tier1, forSpot] of [['all', 'waiting', 'pool_busy'], ['spot', 'waiting', 'dispatched'], ['none', 'waiting', 'pool_busy']] as const) {
      const id = `pool-${lend}`;
      const kept = { ...TWO_OF_FOUR };
      const nothing = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };
      const settings = pool({ id, tier0Baselines: TWO_OF_FOUR, lentToNone: lend === 'none' ? kept : nothing, lentToSpot: lend === 'spot' ? kept : nothing });
      const first = lend === 'all' ? ['a', 'b', 'c', 'd'] : ['a', 'b'];
      await on.fill(first.map((one) => `${lend}-${one}`), { pool: settings });
      expect(await on.kind(`${lend}-x`, { pool: settings }), lend).toBe(tier1);
      expect(await on.kind(`${lend}-s`, { pool: settings, entitlement: spot('s') }), lend).toBe(forSpot);
    }
  });

  test('who lends to nobody uses its own, and what it uses is not kept twice', async () => {
    const settings = pool({ tier0Baselines: TWO_OF_FOUR, lentToNone: TWO_OF_FOUR });
    const holder = guaranteed('g', { slots: 2 }, { lend: 'none' });
    await on.fill(['g1'], { pool: settings, entitlement: holder });
    await on.fill(['a', 'b'], { pool: settings });
    await on.queue(['c'], { pool: settings });
    await on.fill(['g2'], { pool: settings, entitlement: holder });
    await on.queue(['g3'], { pool: settings, entitlement: holder, at: 1 });
    await on.settle('a', 100, 2);
    expect(await on.events(1)).toEqual(['granted c']);
  });

  test('what others keep for good makes a pool too small', async () => {
    const settings = pool({ lentToNone: TWO_OF_FOUR, tier0Baselines: TWO_OF_FOUR });
    expect(await on.kind('a', { pool: settings, demand: { slots: 3 } })).toBe('pool_too_small');
    await on.fill(['b'], { pool: settings, demand: { slots: 2 } });
  });

  test('those without an entitlement of their own share and have neither baseline nor debt', async () => {
    await on.fill(['a', 'b', 'c', 'd']);
    await on.queue(['e'], { entitlement: elastic('implicit') });
    await on.tick(9_000);
    const told = (await on.snapshot(9_000)).entitlements.find(({ id }) => id === 'implicit');
    expect(told).toMatchObject({ waiting: 1, waitingWork: 100, debtTokens: 0, weight: 10, debtFactor: 1, baseline: { slots: null } });
  });

  test('KV is asked for as slots are', async () => {
    const settings = pool({ capacity: capacity({ kvBytes: 1_000 }), tier0Baselines: { tokensPerSecond: 0, kvBytes: 400, slots: 0 } });
    await on.fill(['a'], { pool: settings, demand: { kvBytes: 700 } });
    await on.queue(['b'], { pool: settings, demand: { kvBytes: 400 } });
    expect(await on.ask('g', { pool: settings, entitlement: guaranteed('g', { kvBytes: 400 }), demand: { kvBytes: 300 } })).toMatchObject({ kind: 'dispatched', factors: { tier: 0 } });
    expect(await on.snapshot()).toMatchObject({ inUse: { kvBytes: 1_000 } });
    await on.settle('a');
    expect(await on.events(1)).toEqual(['granted b']);
  });

  test('output beyond the reservation takes more KV while it streams, and gives it back at the end', async () => {
    const settings = pool({ capacity: capacity({ kvBytes: 1_000 }) });
    await on.fill(['a'], { pool: settings, demand: { kvBytes: 600 } });
    await on.renew(['a'], { work: 120, kvBytes: 900 });
    expect(await on.snapshot()).toMatchObject({ inUse: { kvBytes: 900, tokensPerSecond: 12 } });
    expect(await on.kind('b', { pool: settings, demand: { kvBytes: 200 }, maxWaitMs: 0 })).toBe('pool_busy');
    await on.settle('a', 150);
    expect(await on.snapshot()).toMatchObject({ inUse: { kvBytes: 0, tokensPerSecond: 15 } });
  });
}

function describeRates(makeStore: MakePools): void {
  const on = new PoolsUnderTest(makeStore);
  const tokens = pool({ capacity: capacity({ tokensPerSecond: 100 }), burstSeconds: 2 });

  test('tokens a second are a bucket: what it lacks is told to the millisecond', async () => {
    await on.fill(['a', 'b'], { pool: tokens });
    expect(await on.ask('c', { pool: tokens })).toMatchObject({ kind: 'waiting', nextAtMs: expect.any(Number) as number });
    expect(await on.tick(0, tokens)).toBe(1_000);
    await on.tick(999, tokens);
    expect(await on.events(0)).toEqual([]);
    await on.tick(1_000, tokens);
    expect(await on.events(1)).toEqual(['granted c']);
  });

  test('a settlement puts the bucket right, both ways', async () => {
    await on.fill(['a', 'b'], { pool: tokens });
    await on.queue(['c'], { pool: tokens });
    await on.settle('a', 0);
    expect(await on.events(1)).toEqual(['granted c']);
    await on.queue(['d'], { pool: tokens });
    await on.settle('b', 400);
    // 100 are lacking for d, and 300 more were used.
    expect(await on.tick(0, tokens)).toBe(2_000);
    await on.renew(['c'], { work: 1 });
    expect(await on.tick(0, tokens)).toBe(4_000);
  });

  test('what is larger than the bucket passes when it is full', async () => {
    await on.fill(['a'], { pool: tokens, demand: { work: 1_000 } });
    await on.queue(['b'], { pool: tokens, maxWaitMs: 60_000 });
    await on.renew(['a'], { work: 1 });
    expect(await on.tick(0, tokens)).toBe(9_000);
  });

  test('nobody passes the one whose turn it is and who saves tokens up: neither the small nor spot', async () => {
    await on.fill(['a'], { pool: tokens, demand: { work: 190 } });
    await on.queue(['big'], { pool: tokens, entitlement: elastic('b'), demand: { work: 150 } });
    await on.queue(['small'], { pool: tokens, entitlement: elastic('c'), demand: { work: 5 }, at: 1 });
    expect(await on.kind('s', { pool: tokens, entitlement: spot('s'), demand: { work: 1 }, at: 1 })).toBe('pool_busy');
    await on.tick(1_400, tokens);
    expect((await on.events(1))[0]).toBe('granted big');
  });

  test('requests a second hold all, tier 0 too', async () => {
    const settings = pool({ capacity: capacity({ requestsPerSecond: 1 }), burstSeconds: 1, tier0Baselines: TWO_OF_FOUR });
    await on.fill(['a'], { pool: settings });
    await on.queue(['g'], { pool: settings, entitlement: guaranteed('g') });
    expect(await on.tick(0, settings)).toBe(1_000);
    await on.tick(1_000, settings);
    expect(await on.events(1)).toEqual(['granted g']);
  });

  test('tier 0 takes tokens into debt that others wait for, as far as its own rate has them', async () => {
    const g = guaranteed('g', { tokensPerSecond: 50 });
    const settings = { ...tokens, tier0Baselines: { tokensPerSecond: 50, kvBytes: 0, slots: 0 } };
    await on.fill(['a', 'b'], { pool: settings });
    expect(await on.ask('g1', { pool: settings, entitlement: g })).toMatchObject({ kind: 'dispatched', factors: { tier: 0 } });
    expect(await on.ask('g2', { pool: settings, entitlement: g })).toMatchObject({ kind: 'waiting', factors: { tier: 1 } });
    // Its own 100 are back after 2 s: it need not wait for the pool's.
    await on.tick(1_999, settings);
    expect(await on.events(0)).toEqual([]);
    await on.tick(2_000, settings);
    expect(await on.told(1)).toMatchObject([{ event: { leaseId: 'g2', factors: { tier: 0 } } }]);
  });
}

function describeReclaim(makeStore: MakePools): void {
  const on = new PoolsUnderTest(makeStore);
  const settings = pool({ tier0Baselines: TWO_OF_FOUR });
  const g = guaranteed('g');
  const borrower = elastic('e', { slots: 1 }, { preemptible: true });

  test('spot streams end at once where tier 0 needs room, the youngest first, and only as many as it needs', async () => {
    await on.fill(['s1', 's2', 's3', 's4'], { pool: settings, entitlement: spot('s') });
    await on.queue(['g1'], { pool: settings, entitlement: g });
    expect(await on.events(1)).toEqual(['end s4 (reclaimed)']);
    await on.tick(500, settings);
    await on.queue(['g2'], { pool: settings, entitlement: g, at: 500 });
    expect(await on.events(1)).toEqual(['end s3 (reclaimed)']);
    await on.settle('s4', 40, 600);
    expect(await on.events(1)).toEqual(['granted g1']);
    await on.tick(5_000, settings);
    expect(await on.events(0)).toEqual([]);
    await on.settle('s3', 40, 5_000);
    expect(await on.events(1)).toEqual(['granted g2']);
  });

  test('other streams above their baseline end after the time to wait, never those within it', async () => {
    await on.fill(['e1', 'e2', 'e3', 'e4'], { pool: settings, entitlement: borrower });
    const answer = await on.ask('g1', { pool: settings, entitlement: g, at: 100 });
    expect(answer).toMatchObject({ kind: 'waiting', nextAtMs: expect.any(Number) as number });
    expect(await on.tick(100, settings)).toBe(1_100);
    await on.tick(1_099, settings);
    expect(await on.events(0)).toEqual([]);
    await on.tick(1_100, settings);
    expect(await on.events(1)).toEqual(['end e4 (reclaimed)']);
    await on.settle('e1', 100, 1_200);
    expect(await on.events(1)).toEqual(['granted g1']);
    await on.settle('e4', 10, 1_300);
    expect(await on.snapshot(1_300)).toMatchObject({ inFlight: 3 });
  });

  test('streams that may not be ended are not', async () => {
    await on.fill(['e1', 'e2', 'e3', 'e4'], { pool: settings, entitlement: elastic('e') });
    await on.queue(['g1'], { pool: settings, entitlement: g });
    await on.tick(5_000, settings);
    expect(await on.events(0)).toEqual([]);
  });

  test('a stream within its baseline is left alone, though it is the youngest', async () => {
    await on.fill(['e1', 'e2'], { pool: settings, entitlement: borrower });
    await on.fill(['f1', 'f2'], { pool: settings, entitlement: elastic('f', { slots: 2 }, { preemptible: true }) });
    await on.queue(['g1'], { pool: settings, entitlement: g });
    await on.tick(1_000, settings);
    expect(await on.events(1)).toEqual(['end e2 (reclaimed)']);
    await on.tick(3_000, settings);
    expect(await on.events(0)).toEqual([]);
  });

  test('a request that is refused at once ends nobody', async () => {
    await on.fill(['s1', 's2', 's3', 's4'], { pool: settings, entitlement: spot('s') });
    expect(await on.kind('g1', { pool: settings, entitlement: g, maxWaitMs: 0 })).toBe('pool_busy');
    expect(await on.events(0)).toEqual([]);
  });

  test('room is kept for tier 0 that is too large for what is free', async () => {
    await on.fill(['a', 'b', 'c', 'd'], { pool: settings });
    await on.queue(['g1'], { pool: settings, entitlement: g, demand: { slots: 2 } });
    await on.queue(['e'], { pool: settings });
    await on.settle('a');
    expect(await on.events(0)).toEqual([]);
    expect(await on.kind('s', { pool: settings, entitlement: spot('s') })).toBe('pool_busy');
    await on.settle('b');
    expect(await on.events(1)).toEqual(['granted g1']);
  });
}

function describePressure(makeStore: MakePools): void {
  const on = new PoolsUnderTest(makeStore);
  const critical = pool({ pressure: 'critical', tier0Baselines: TWO_OF_FOUR });

  test('critical: spot and background are refused, tier 0 is served, the rest waits', async () => {
    expect(await on.kind('s', { pool: critical, entitlement: spot('s') })).toBe('pool_busy');
    expect(await on.kind('b', { pool: critical, work: 'background' })).toBe('pool_busy');
    await on.queue(['a'], { pool: critical });
    await on.fill(['g1', 'g2'], { pool: critical, entitlement: guaranteed('g') });
    await on.queue(['g3'], { pool: critical, entitlement: guaranteed('g') });
    await on.tick(10, pool());
    expect(await on.events(2)).toEqual(['granted a', 'granted g3']);
  });

  test('when it becomes critical, spot streams are to end and waiting background is refused', async () => {
    await on.fill(['s1', 's2'], { entitlement: spot('s') });
    await on.fill(['a', 'b']);
    await on.queue(['w', 'x'], { work: 'background' });
    await on.queue(['y']);
    await on.tick(10, critical);
    expect((await on.events(4)).sort()).toEqual(['end s1 (pressure)', 'end s2 (pressure)', 'pool_busy w', 'pool_busy x']);
    await on.tick(20, critical);
    await on.settle('s1', 10, 20);
    expect(await on.events(0)).toEqual([]);
    expect(await on.snapshot(20)).toMatchObject({ waiting: 1, inFlight: 3, pressure: 'critical' });
  });

  test('elevated: the shortest first, among those near the least served', async () => {
    const elevated = pool({ capacity: capacity({ slots: 1 }), pressure: 'elevated' });
    await on.fill(['a'], { pool: elevated });
    await on.queue(['long'], { pool: elevated, entitlement: elastic('x'), demand: { work: 900 } });
    await on.queue(['short'], { pool: elevated, entitlement: elastic('y'), demand: { work: 10 }, at: 1 });
    await on.settle('a', 100, 2);
    expect(await on.events(1)).toEqual(['granted short']);
  });

  test('elevated: who waited for half its hold goes first', async () => {
    const elevated = pool({ capacity: capacity({ slots: 1 }), pressure: 'elevated' });
    await on.fill(['a'], { pool: elevated });
    await on.queue(['long'], { pool: elevated, entitlement: elastic('x'), demand: { work: 900 } });
    await on.queue(['short'], { pool: elevated, entitlement: elastic('y'), demand: { work: 10 }, at: 1 });
    await on.settle('a', 100, 5_000);
    expect(await on.events(1)).toEqual(['granted long']);
  });
}

function describeCapacity(makeStore: MakePools): void {
  const on = new PoolsUnderTest(makeStore);

  test('more capacity grants at the next tick', async () => {
    await on.fill(['a', 'b', 'c', 'd']);
    await on.queue(['e', 'f', 'g']);
    await on.tick(100, pool({ capacity: capacity({ slots: 6 }) }));
    expect(await on.events(2)).toEqual(['granted e', 'granted f']);
  });

  test('less capacity ends nothing: it drains', async () => {
    await on.fill(['a', 'b', 'c', 'd']);
    const less = pool({ capacity: capacity({ slots: 2 }) });
    await on.queue(['e'], { pool: less });
    await on.settle('a', 100, 1);
    await on.settle('b', 100, 2);
    expect(await on.events(0)).toEqual([]);
    await on.settle('c', 100, 3);
    expect(await on.events(1)).toEqual(['granted e']);
  });

  test('baselines of tier 0 shrink by one factor when capacity is lost', async () => {
    const half = pool({ capacity: capacity({ slots: 2 }), tier0Baselines: { tokensPerSecond: 0, kvBytes: 0, slots: 4 } });
    expect(await on.ask('g1', { pool: half, entitlement: guaranteed('g') })).toMatchObject({ kind: 'dispatched', factors: { tier: 0 } });
    expect(await on.ask('g2', { pool: half, entitlement: guaranteed('g') })).toMatchObject({ kind: 'dispatched', factors: { tier: 1 } });
    await on.queue(['h1'], { pool: half, entitlement: guaranteed('h') });
    await on.settle('g2');
    expect(await on.told(1)).toMatchObject([{ event: { leaseId: 'h1', factors: { tier: 0 } } }]);
  });
}
