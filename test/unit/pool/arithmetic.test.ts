import { describe, expect, test } from 'vitest';
import { wholeWork } from '../../../src/pool/amounts.js';
import { has, readyAtMs, refill, take } from '../../../src/pool/bucket.js';
import { decay10, decay30 } from '../../../src/pool/decay.js';
import { advanceRates } from '../../../src/pool/rates.js';
import type { Rates } from '../../../src/pool/state.js';

/** Rates of one that was served 80 tokens a second. */
function served(): Rates {
  return { served: 80, demand: 90, overuse: 0.5, debt: 0, updatedMs: 0 };
}

test('decay is e^(-t/τ)', () => {
  for (const ms of [0, 1, 17, 999, 1_000, 12_345, 600_000]) {
    expect(decay10(ms)).toBeCloseTo(Math.exp(-ms / 10_000), 12);
    expect(decay30(ms)).toBeCloseTo(Math.exp(-ms / 30_000), 12);
  }
  expect(decay30(1e12)).toBe(0);
});

test('amounts of others are whole and bounded', () => {
  expect([NaN, -1, 2.9, Infinity].map((n) => wholeWork(n, 1))).toEqual([1, 1, 2, 10_000_000_000]);
});

describe('a bucket', () => {
  test('tells when so much is there, and has it then', () => {
    for (const [perSecond, amount] of [[3, 7], [1_000, 1], [0.7, 1]] as const) {
      const bucket = { lacking: 0, atMs: 0 };
      take(bucket, 20);
      const ready = readyAtMs(bucket, perSecond, 10, amount, 0);
      refill(bucket, perSecond, ready - 1);
      expect(has(bucket, 10, amount)).toBe(false);
      refill(bucket, perSecond, ready);
      expect(has(bucket, 10, amount)).toBe(true);
    }
  });

  test('is never more than full', () => {
    const bucket = { lacking: 5, atMs: 0 };
    take(bucket, -50);
    expect(bucket.lacking).toBe(0);
  });
});

test('rates that were left alone for long are as those that were looked at often, but for what a step is', () => {
  const often = served();
  const once = served();
  for (let ms = 1_000; ms <= 50_000; ms += 1_000) advanceRates(often, { basePerSecond: 10, duePerSecond: 10, waits: true, waitingWork: 0 }, ms);
  advanceRates(once, { basePerSecond: 10, duePerSecond: 10, waits: true, waitingWork: 0 }, 50_000);
  expect(once).toEqual(often);
});
