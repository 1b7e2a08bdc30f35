import { describe, expect, it } from 'vitest';
import { Estimator, EXACT, Learned, LEARNING } from '../../../src/sim/estimates.js';
import { Level, Samples, Series } from '../../../src/sim/measures.js';
import { Random } from '../../../src/sim/random.js';

describe('what a processor learns', () => {
  it('is the mean and the 95th percentile of the answers it saw, the newer ones more', () => {
    const learned = new Learned();
    expect([learned.mean, learned.p95]).toEqual([null, null]);
    for (let i = 1; i <= 2000; i++) learned.add((i * 37) % 100 + 1);
    expect(learned.mean!).toBeCloseTo(50.5, -1);
    expect(learned.p95!).toBeGreaterThanOrEqual(95);
    expect(learned.p95!).toBeLessThan(95 * 1.2);
    for (let i = 0; i < 1000; i++) learned.add(1000);
    expect(learned.mean!).toBeGreaterThan(900);
    expect(learned.p95!).toBeGreaterThanOrEqual(1000);
  });

  it('is of its own answers only; before any it takes what is configured', () => {
    const estimator = new Estimator(LEARNING, new Random(1), 2);
    estimator.learn(0, 300);
    expect([estimator.expectedTokens(0, 10, null), estimator.expectedTokens(1, 10, null)]).toEqual([300, 1024]);
    expect([estimator.reservedTokens(0, 10, 50), estimator.reservedTokens(1, 10, null)]).toEqual([50, 1024]);
    expect(estimator.expectedTokens(0, 10, 50)).toBe(50);
  });

  it('can be wrong on purpose: in one direction, at random, in what is reserved', () => {
    const exact = new Estimator({ ...EXACT, bias: 1.5, reservedFactor: 4 }, new Random(1), 1);
    expect([exact.expectedTokens(0, 100, null), exact.reservedTokens(0, 100, null)]).toEqual([150, 400]);
    const noisy = new Estimator({ ...EXACT, errorSigma: 0.5 }, new Random(1), 1);
    const drawn = Array.from({ length: 2000 }, () => noisy.expectedTokens(0, 100, null)).sort((a, b) => a - b);
    expect(drawn[1000]!).toBeCloseTo(100, -1);
    expect(drawn[1900]!).toBeGreaterThan(180);
  });
});

describe('measures', () => {
  it('percentiles are exact', () => {
    const samples = new Samples();
    expect(samples.quantile(0.5)).toBeNaN();
    for (let i = 1000; i >= 1; i--) samples.add(i);
    expect([0.5, 0.9, 0.99, 1, 0].map((share) => samples.quantile(share))).toEqual([500, 900, 990, 1000, 1]);
    expect([samples.mean, samples.count, samples.shareWithin(250)]).toEqual([500.5, 1000, 0.25]);
    samples.add(0);
    expect(samples.quantile(0)).toBe(0);
  });

  it('work is spread over the time in which it was done', () => {
    const series = new Series(100, 400);
    series.spread(60, 50, 350);
    expect([...series.values].map(Math.round)).toEqual([10, 20, 20, 10]);
    series.spread(5, 120, 120);
    series.spread(100, 350, 10_350);
    expect([...series.values].map((value) => Math.round(value * 10) / 10)).toEqual([10, 25, 20, 10.5]);
  });

  it('a level is weighed by time, within its window', () => {
    const level = new Level(1000, 3000);
    level.set(5, 0);
    level.set(2, 2000);
    expect(level.sum(10_000)).toBe(5 * 1000 + 2 * 1000);
  });
});
