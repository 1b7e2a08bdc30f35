import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_TOKENS, UNITS_PER_TOKEN, deficitAt, giveBack, remainingTokens, resetMs, take, waitMs, wholeTokens } from '../../../src/quota/bucket.js';

const shape = { limit: 600, capacity: 600 };

describe('token bucket', () => {
  test('an absent bucket is full', () => {
    expect(deficitAt(undefined, 600, 1_000)).toBe(0);
    expect(remainingTokens(0, 600)).toBe(600);
    expect(waitMs(0, shape, 600)).toBe(0);
    expect(resetMs(0, 600)).toBe(0);
  });

  test('a rate of R a minute refills exactly R units a millisecond', () => {
    const state = { deficitUnits: take(0, 600), updatedMs: 5_000 };
    expect(deficitAt(state, 600, 5_001)).toBe(600 * UNITS_PER_TOKEN - 600);
    expect(remainingTokens(deficitAt(state, 600, 5_099), 600)).toBe(0);
    expect(remainingTokens(deficitAt(state, 600, 5_100), 600)).toBe(1);
    expect(deficitAt(state, 600, 64_999)).toBe(600);
    expect(deficitAt(state, 600, 65_000)).toBe(0);
  });

  test('a fraction of a millisecond does not count', () => {
    const state = { deficitUnits: take(0, 600), updatedMs: 5_000 };
    expect(deficitAt(state, 600, 5_000.999)).toBe(deficitAt(state, 600, 5_000));
  });

  test('time that goes back refills nothing and takes nothing away', () => {
    const state = { deficitUnits: take(0, 10), updatedMs: 5_000 };
    expect(deficitAt(state, 600, 1_000)).toBe(take(0, 10));
  });

  test('the wait is exact to the millisecond', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000 }), fc.integer({ min: 1, max: 2_000_000 }), fc.integer({ min: 1, max: 2_000_000 }), (deficitUnits, limit, capacity) => {
        const amount = 1 + (deficitUnits % capacity);
        const state = { deficitUnits, updatedMs: 0 };
        const wait = waitMs(deficitUnits, { limit, capacity }, amount);
        expect(waitMs(deficitAt(state, limit, wait), { limit, capacity }, amount)).toBe(0);
        if (wait > 0) expect(waitMs(deficitAt(state, limit, wait - 1), { limit, capacity }, amount)).toBe(1);
      }),
    );
  });

  test('debt is refilled, not forgiven at a minute boundary', () => {
    const state = { deficitUnits: take(take(0, 600), 900), updatedMs: 0 };
    expect(remainingTokens(state.deficitUnits, 600)).toBe(-900);
    expect(remainingTokens(deficitAt(state, 600, 60_000), 600)).toBe(-300);
    expect(waitMs(state.deficitUnits, shape, 0)).toBe(90_000);
    expect(resetMs(state.deficitUnits, 600)).toBe(150_000);
  });

  test('what is given back never fills beyond full', () => {
    expect(giveBack(take(0, 5), 7)).toBe(0);
    expect(giveBack(take(0, 7), 5)).toBe(2 * UNITS_PER_TOKEN);
  });

  test('a reload changes rate and capacity without touching the state', () => {
    const state = { deficitUnits: take(0, 100), updatedMs: 0 };
    expect(remainingTokens(deficitAt(state, 600, 0), 1_000)).toBe(900);
    expect(waitMs(state.deficitUnits, { limit: 6_000, capacity: 100 }, 100)).toBe(1_000);
  });

  test('huge and senseless numbers stay exact integers', () => {
    const huge = { limit: Number.MAX_VALUE, capacity: Infinity };
    let deficit = 0;
    for (let i = 0; i < 50; i++) deficit = take(deficit, Number.MAX_VALUE);
    expect(Number.isSafeInteger(deficit)).toBe(true);
    expect(Number.isSafeInteger(waitMs(deficit, { limit: 1, capacity: 1 }, Infinity))).toBe(true);
    expect(Number.isSafeInteger(waitMs(deficit, huge, Infinity))).toBe(true);
    expect(deficitAt({ deficitUnits: deficit, updatedMs: 0 }, Number.MAX_VALUE, Number.MAX_SAFE_INTEGER)).toBe(0);
    expect(deficitAt({ deficitUnits: 10, updatedMs: 0 }, 0, 4)).toBe(6);
    expect(wholeTokens(Number.NaN)).toBe(0);
    expect(wholeTokens(-1)).toBe(0);
    expect(wholeTokens(2.9)).toBe(2);
    expect(wholeTokens(1e300)).toBe(MAX_TOKENS);
  });
});
