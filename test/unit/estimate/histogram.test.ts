import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Histogram } from '../../../src/estimate/histogram.js';

const counts = fc.array(fc.nat(2 ** 31 - 1), { minLength: 1, maxLength: 200 });

function histogramOf(values: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const value of values) histogram.add(value);
  return histogram;
}

describe('a histogram of output tokens', () => {
  it('is empty at first', () => {
    expect([new Histogram().quantile(0.95), new Histogram().mean()]).toEqual([0, 0]);
  });

  it('has an edge at most 25 % above each value', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31 - 1), (value) => {
        const edge = histogramOf([value]).quantile(1);
        expect(edge).toBeGreaterThanOrEqual(value);
        expect(edge).toBeLessThanOrEqual(value * 1.25);
      }),
    );
  });

  it('has quantiles that hold what they say', () => {
    fc.assert(
      fc.property(counts, fc.double({ min: 0.01, max: 1, noNaN: true }), (values, q) => {
        const edge = histogramOf(values).quantile(q);
        expect(values.filter((value) => value <= edge).length).toBeGreaterThanOrEqual(Math.ceil(q * values.length));
      }),
    );
  });

  it('has a mean within an eighth of the true one', () => {
    fc.assert(
      fc.property(counts, (values) => {
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
        expect(Math.abs(histogramOf(values).mean() - mean)).toBeLessThanOrEqual(mean * 0.125);
      }),
    );
  });

  it('merged is the histogram of both', () => {
    fc.assert(
      fc.property(counts, counts, (a, b) => {
        const merged = histogramOf(a);
        merged.merge(histogramOf(b));
        const both = histogramOf([...a, ...b]);
        expect(merged).toEqual(both);
        expect(merged.quantile(0.95)).toBe(both.quantile(0.95));
      }),
    );
  });

  it('follows a change, and stays bounded', () => {
    const histogram = histogramOf(Array.from({ length: 10_000 }, () => 100_000));
    for (let i = 0; i < 2000; i++) histogram.add(100);
    expect(histogram.quantile(0.95)).toBeLessThan(200);
    expect(histogram.total).toBeLessThanOrEqual(512);
  });

  it('takes no value for more than its last bucket', () => {
    for (const value of [-5, 1e12, 2 ** 31, 3.7]) expect(histogramOf([value]).quantile(1)).toBeLessThanOrEqual(2 ** 31 - 1);
  });
});
