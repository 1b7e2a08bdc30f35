import { describe, expect, test } from 'vitest';
import { LEASE_MS } from '../../../src/domain/store.js';
import { advance, hasExpired, startClock } from '../../../src/stores/lease-clock.js';

describe('the clock that leases expire by', () => {
  const after = (...timesMs: readonly number[]): number => {
    const clock = startClock(1_000);
    for (const ms of timesMs) advance(clock, ms);
    return clock.clockMs;
  };

  test('follows the clock of the callers', () => {
    expect(after(1_000)).toBe(0);
    expect(after(1_400, 1_900.9, 2_900)).toBe(1_900);
  });

  test('never jumps: a long pause counts as a second, a step back as nothing', () => {
    expect(after(3_601_000)).toBe(1_000);
    expect(after(2_000, 500, 700)).toBe(1_200);
  });

  test('a lease expires when it gave no sign for the whole time', () => {
    expect(hasExpired({ clockMs: LEASE_MS + 4, lastMs: 0 }, 5)).toBe(false);
    expect(hasExpired({ clockMs: LEASE_MS + 5, lastMs: 0 }, 5)).toBe(true);
  });
});
