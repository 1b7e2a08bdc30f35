import { describe, expect, it } from 'vitest';
import { UNBOUNDED, type EntitlementSnapshot, type PoolSnapshot } from '../../../src/domain/pool.js';
import { neededNow, scalingSignal } from '../../../src/pool/scaling.js';

const NOTHING = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };

/** An entitlement that serves so much with so many slots, as it was asked to. */
function entitlement(id: string, rate: number, slots: number, more: Partial<EntitlementSnapshot> = {}): EntitlementSnapshot {
  return {
    id, serviceClass: 'elastic', inFlight: slots, inUse: { tokensPerSecond: rate, kvBytes: slots * 1_000, slots }, baseline: UNBOUNDED, waiting: 0, waitingWork: 0,
    servedTokensPerSecond: rate, demandTokensPerSecond: rate, debtTokens: 0, overuse: 0, weight: 10, sloFactor: 1, burstFactor: 1, debtFactor: 1, virtualTime: 0,
    ...more,
  };
}

function pool(entitlements: readonly EntitlementSnapshot[], more: Partial<PoolSnapshot> = {}): PoolSnapshot {
  const sum = (of: (e: EntitlementSnapshot) => number): number => entitlements.reduce((total, e) => total + of(e), 0);
  return {
    poolId: 'chat', capacity: { tokensPerSecond: 1_000, requestsPerSecond: null, kvBytes: 40_000, slots: 20 }, pressure: 'normal',
    waiting: sum((e) => e.waiting), waitingBytes: 0, inFlight: sum((e) => e.inFlight),
    inUse: { tokensPerSecond: sum((e) => e.servedTokensPerSecond), kvBytes: sum((e) => e.inUse.kvBytes), slots: sum((e) => e.inUse.slots) },
    entitlements, ...more,
  };
}

describe('what a pool needs now (point 6)', () => {
  it('is what elastic tenants use, where nobody waits', () => {
    expect(neededNow(pool([entitlement('a', 500, 10), entitlement('b', 100, 2)]))).toEqual({ tokensPerSecond: 600, kvBytes: 12_000, slots: 12 });
  });

  it('is the whole baseline of a guaranteed tenant that asks for anything, and nothing of one that is idle', () => {
    const baseline = { tokensPerSecond: 400, requestsPerSecond: null, kvBytes: 8_000, slots: 8 };
    const gold = entitlement('gold', 50, 1, { serviceClass: 'guaranteed', baseline });
    expect(neededNow(pool([gold]))).toEqual({ tokensPerSecond: 400, kvBytes: 8_000, slots: 8 });
    expect(neededNow(pool([{ ...gold, inFlight: 0, inUse: NOTHING, servedTokensPerSecond: 0.5, demandTokensPerSecond: 0.5 }]))).toEqual(NOTHING);
    expect(neededNow(pool([entitlement('gold', 600, 12, { serviceClass: 'dedicated', baseline })]))).toMatchObject({ tokensPerSecond: 600, slots: 12 });
  });

  it('is nothing for spot, which would fill whatever is added', () => {
    expect(neededNow(pool([entitlement('cheap', 900, 18, { serviceClass: 'spot', demandTokensPerSecond: 9_000 })]))).toEqual(NOTHING);
  });

  it('drains what waits within ten seconds, in rate, slots and memory alike', () => {
    // 40 wait with 100 tokens each: 400 tokens a second, at 0.02 slots each.
    const needed = neededNow(pool([entitlement('a', 1_000, 20, { waiting: 40, waitingWork: 4_000, demandTokensPerSecond: 3_000 })]));
    expect(needed).toEqual({ tokensPerSecond: 1_400, kvBytes: 28_000, slots: 28 });
  });

  it('asks for no more than one request each for those that wait: a few long streams drain no faster with more slots', () => {
    const needed = neededNow(pool([entitlement('a', 10, 20, { waiting: 3, waitingWork: 3_000, demandTokensPerSecond: 3_000 })]));
    expect(needed.slots).toBe(23);
  });

  it('is no more than what is asked for and a slow drain: whoever waits in a full queue is served in the end, and counted once', () => {
    // Of 3,000 a second that come a third is served, and all wait 60 s before that.
    const needed = neededNow(pool([entitlement('a', 1_000, 20, { waiting: 1_800, waitingWork: 180_000, demandTokensPerSecond: 3_000 })]));
    expect(needed.tokensPerSecond).toBe(6_000);
    expect(needed.slots).toBeCloseTo(120);
  });

  it('is not the more for those who ask again and again while little is queued', () => {
    const needed = neededNow(pool([entitlement('a', 1_000, 20, { waiting: 5, waitingWork: 500, demandTokensPerSecond: 90_000 })]));
    expect(needed).toMatchObject({ tokensPerSecond: 1_050, slots: 21 });
  });

  it('pays debts as fast as they fade, in the proportions of the capacity', () => {
    const needed = neededNow(pool([entitlement('a', 500, 10, { debtTokens: 3_000, baseline: { ...UNBOUNDED, tokensPerSecond: 600 } })]));
    expect(needed).toEqual({ tokensPerSecond: 600, kvBytes: 14_000, slots: 12 });
  });

  it('is a number where nothing runs yet and everything waits', () => {
    const cold = entitlement('a', 0, 0, { waiting: 7, waitingWork: 700, demandTokensPerSecond: 70 });
    const needed = neededNow(pool([cold], { capacity: { ...UNBOUNDED, slots: 0 } }));
    expect(needed).toEqual({ tokensPerSecond: 70, kvBytes: 0, slots: 7 });
  });

  it('does not depend on how large the pool is', () => {
    const entitlements = [entitlement('a', 1_000, 20, { waiting: 40, waitingWork: 4_000, demandTokensPerSecond: 1_400 })];
    const capacity = { tokensPerSecond: 9_000, requestsPerSecond: null, kvBytes: 360_000, slots: 180 };
    expect(neededNow(pool(entitlements, { capacity }))).toEqual(neededNow(pool(entitlements)));
  });
});

describe('the scaling signal', () => {
  const high = pool([entitlement('a', 900, 18)]);
  const low = pool([entitlement('a', 300, 6)]);

  it('begins with what is needed, rises within seconds and falls within minutes', () => {
    let signal = scalingSignal(low, null, 0);
    expect(signal.needed.slots).toBe(6);
    signal = scalingSignal(high, signal, 15_000);
    expect(signal.needed.slots).toBeGreaterThan(17);
    const after = [15, 60, 300, 900].map((seconds) => scalingSignal(low, signal, 15_000 + seconds * 1_000).needed.slots);
    expect(after[0]).toBeGreaterThan(15);
    expect(after[1]).toBeGreaterThan(12);
    expect(after[2]).toBeLessThan(8);
    expect(after[3]).toBeCloseTo(6, 1);
  });

  it('is the same however often it is looked at, and does not run backwards', () => {
    const start = scalingSignal(high, null, 0);
    let often = start;
    for (let second = 1; second <= 60; second++) often = scalingSignal(low, often, second * 1_000);
    expect(often.needed.slots).toBeCloseTo(scalingSignal(low, start, 60_000).needed.slots, 9);
    expect(scalingSignal(low, often, 5_000)).toEqual({ ...often, utilisation: often.utilisation });
  });

  it('tells utilisation of what the pool counts: above 1 is too small', () => {
    const signal = scalingSignal(pool([entitlement('a', 1_000, 30)], { capacity: { ...UNBOUNDED, slots: 20 } }), null, 0);
    expect(signal.utilisation).toEqual({ tokensPerSecond: null, kvBytes: null, slots: 1.5 });
    expect(scalingSignal(pool([], { capacity: { ...UNBOUNDED, slots: 0 } }), null, 0).utilisation.slots).toBe(0);
    expect(scalingSignal(pool([entitlement('a', 1, 1)], { capacity: { ...UNBOUNDED, slots: 0 } }), null, 0).utilisation.slots).toBe(1_000);
  });
});
