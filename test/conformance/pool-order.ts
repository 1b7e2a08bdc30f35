import { describe, expect, test } from 'vitest';
import { capacity, elastic, pool, spot, type AskParts } from './pool-builders.js';
import { PoolsUnderTest, type MakePools } from './pool-under-test.js';

const ONE = pool({ capacity: capacity({ slots: 1 }), maxWaiting: 1_000 });

/** Who goes next: virtual time, its factors, and the one that room is kept for. */
export function describePoolOrder(makeStore: MakePools): void {
  const on = new PoolsUnderTest(makeStore);

  /** One stream at a time, each for its work in milliseconds: who was served how much work. */
  async function serve(first: string, steps: number, workOf: (leaseId: string) => number): Promise<Record<string, number>> {
    const served: Record<string, number> = {};
    let running = first;
    let at = 0;
    for (let i = 0; i < steps; i++) {
      at += 10;
      await on.settle(running, workOf(running), at);
      const granted = (await on.events(1)).find((words) => words.startsWith('granted '))!;
      running = granted.slice('granted '.length);
      await on.renew([running], { work: 1, at });
      const tenant = running.split('-')[0]!;
      served[tenant] = (served[tenant] ?? 0) + workOf(running);
    }
    return served;
  }

  async function backlog(tenant: string, count: number, parts: AskParts): Promise<void> {
    await on.queue(Array.from({ length: count }, (_, i) => `${tenant}-${i}`), { pool: ONE, entitlement: elastic(tenant), maxWaitMs: 600_000, ...parts });
  }

  test('first come, first served within an entitlement', async () => {
    await on.fill(['x'], { pool: ONE });
    await on.queue(['a', 'b', 'c'], { pool: ONE });
    for (const [i, id] of ['x', 'a', 'b'].entries()) await on.settle(id, 100, i);
    expect(await on.events(3)).toEqual(['granted a', 'granted b', 'granted c']);
  });

  test('work is shared, not requests', async () => {
    await on.fill(['x'], { pool: ONE });
    await backlog('large', 20, { demand: { work: 400 } });
    await backlog('small', 100, { demand: { work: 100 } });
    const served = await serve('x', 60, (id) => (id.startsWith('large') ? 400 : 100));
    expect(Math.abs(served['large']! - served['small']!)).toBeLessThanOrEqual(800);
  });

  test('true work counts, not what was expected', async () => {
    await on.fill(['x'], { pool: ONE });
    await backlog('modest', 60, { demand: { work: 100 } });
    await backlog('liar', 60, { demand: { work: 100 } });
    const served = await serve('x', 60, (id) => (id.startsWith('liar') ? 300 : 100));
    expect(Math.abs(served['modest']! - served['liar']!)).toBeLessThanOrEqual(800);
  });

  test('shares are by weight: class weight and SLO', async () => {
    await on.fill(['x'], { pool: ONE });
    await backlog('heavy', 60, { entitlement: elastic('heavy', {}, { classWeight: 30 }) });
    await backlog('light', 60, {});
    await backlog('slow', 60, { entitlement: elastic('slow', {}, { sloMs: 32_000 }) });
    const served = await serve('x', 85, () => 100);
    expect(served['heavy']! / served['light']!).toBeCloseTo(3, 0);
    expect(served['light']! / served['slow']!).toBeGreaterThan(3);
  });

  test('who comes back has saved nothing: it shares from now on', async () => {
    await on.fill(['x'], { pool: ONE });
    await backlog('old', 60, {});
    await serve('x', 30, () => 100);
    await backlog('new', 30, { at: 300 });
    const now = (await on.snapshot(300)).entitlements;
    expect(now.find(({ id }) => id === 'new')!.virtualTime).toBe(now.find(({ id }) => id === 'old')!.virtualTime);
  });

  test('a baseline lets one that comes back be ahead by two seconds of it', async () => {
    await on.fill(['x'], { pool: ONE });
    await backlog('old', 60, {});
    await serve('x', 30, () => 100);
    await backlog('new', 30, { entitlement: elastic('new', { tokensPerSecond: 50 }), at: 300 });
    const now = (await on.snapshot(300)).entitlements;
    expect(now.find(({ id }) => id === 'new')!.virtualTime).toBe(now.find(({ id }) => id === 'old')!.virtualTime - 10);
  });

  describe('debt', () => {
    const owed = elastic('owed', { tokensPerSecond: 10 });
    const settings = pool({ capacity: capacity({ slots: 1, tokensPerSecond: 100 }), elasticTokensPerSecond: 10 });
    const debtAt = async (at: number) => (await on.snapshot(at)).entitlements.find(({ id }) => id === 'owed')!;

    test('grows by what is missing of the baseline once one has waited for a second, and lifts the weight', async () => {
      await on.fill(['x'], { pool: settings });
      await on.queue(['a'], { pool: settings, entitlement: owed, maxWaitMs: 600_000 });
      expect((await debtAt(1_000)).debtTokens).toBe(0);
      expect(await debtAt(4_000)).toMatchObject({ debtTokens: 30, debtFactor: 1.75, weight: 17.5, burstFactor: 1 });
      expect((await debtAt(10_000)).debtTokens).toBeCloseTo(90, 6);
      expect((await debtAt(400_000)).debtTokens).toBe(600);
    });

    test('decays when nobody waits, to nothing', async () => {
      await on.fill(['x'], { pool: settings });
      await on.queue(['a'], { pool: settings, entitlement: owed, maxWaitMs: 600_000 });
      await on.tick(10_000, settings);
      await on.cancel('a', 10_000);
      expect((await debtAt(40_000)).debtTokens).toBeCloseTo(90 * Math.exp(-1), 6);
      expect((await debtAt(300_000)).debtTokens).toBe(0);
    });

    test('is not owed to who is served its baseline, nor on an idle pool', async () => {
      await on.fill(['x'], { pool: settings, entitlement: owed, demand: { work: 200 } });
      await on.queue(['a'], { pool: settings, entitlement: owed, maxWaitMs: 600_000 });
      expect((await debtAt(5_000)).debtTokens).toBe(0);
      expect(await debtAt(1_000)).toMatchObject({ debtTokens: 0, servedTokensPerSecond: 20 * 0.9048374180359595 });
    });

    test('what was served above the baseline lowers the weight', async () => {
      await on.fill(['x'], { pool: settings, entitlement: owed, demand: { work: 1_000 } });
      const { overuse, burstFactor } = await debtAt(5_000);
      expect(overuse).toBeGreaterThan(1);
      expect(burstFactor).toBeCloseTo(1 / (1 + overuse), 12);
    });

    test('without a rate of the pool there is none', async () => {
      await on.fill(['x'], { pool: ONE });
      await on.queue(['a'], { pool: ONE, entitlement: owed });
      expect(await debtAt(8_000)).toMatchObject({ debtTokens: 0, debtFactor: 1, overuse: 0 });
    });
  });

  describe('large ones', () => {
    const four = pool();

    test('smaller ones pass one that does not fit, until it waited for half its hold', async () => {
      await on.fill(['a', 'b', 'c'], { pool: four });
      await on.queue(['wide'], { pool: four, entitlement: elastic('w'), demand: { slots: 3 } });
      await on.fill(['d'], { pool: four, at: 100 });
      await on.settle('a', 100, 5_000);
      await on.tick(5_000, four);
      expect(await on.kind('e', { pool: four, entitlement: elastic('v'), at: 5_001 })).toBe('waiting');
      expect(await on.kind('s', { pool: four, entitlement: spot('s'), at: 5_001 })).toBe('pool_busy');
      await on.settle('b', 100, 5_100);
      expect(await on.events(0)).toEqual([]);
      await on.settle('c', 100, 5_200);
      expect(await on.events(1)).toEqual(['granted wide']);
      await on.settle('d', 100, 5_300);
      expect(await on.events(1)).toEqual(['granted e']);
    });

    test('when the one that room was kept for leaves, the others go', async () => {
      await on.fill(['a', 'b', 'c'], { pool: four });
      await on.queue(['wide'], { pool: four, entitlement: elastic('w'), demand: { slots: 3 } });
      await on.tick(6_000, four);
      await on.queue(['e'], { pool: four, entitlement: elastic('v'), at: 6_000 });
      await on.cancel('wide', 6_100);
      expect(await on.events(1)).toEqual(['granted e']);
    });

    test('smaller ones behind a head that does not fit are looked at', async () => {
      await on.fill(['a', 'b', 'c'], { pool: four });
      await on.queue(['wide'], { pool: four, demand: { slots: 3 } });
      await on.fill(['d'], { pool: four, at: 1 });
    });
  });
}
