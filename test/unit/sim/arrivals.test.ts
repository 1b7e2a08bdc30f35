import { describe, expect, it } from 'vitest';
import { meanPerSecond, openArrivals, type Arrivals } from '../../../src/sim/arrivals.js';
import { drawLength, meanLength, type Lengths } from '../../../src/sim/lengths.js';
import { Random } from '../../../src/sim/random.js';

function times(arrivals: Arrivals, untilMs: number, factor = 1): number[] {
  const next = openArrivals(arrivals, new Random(5, 'arrivals'), factor)!;
  const all: number[] = [];
  for (let at = next(0); at < untilMs; at = next(at)) all.push(at);
  return all;
}

/** Variance over mean of the numbers in pieces of a second: 1 for Poisson. */
function dispersion(all: readonly number[], seconds: number): number {
  const counts = new Array<number>(seconds).fill(0);
  for (const at of all) counts[Math.floor(at / 1000)]!++;
  const mean = all.length / seconds;
  return counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / seconds / mean;
}

describe('arrivals', () => {
  it('Poisson: the mean rate, and as irregular as chance alone', () => {
    const all = times({ kind: 'poisson', perSecond: 5 }, 2_000_000);
    expect(Math.abs(all.length / 10_000 - 1)).toBeLessThan(0.04);
    expect(Math.abs(dispersion(all, 2000) - 1)).toBeLessThan(0.15);
  });

  it('regular: at equal distances', () => {
    expect(times({ kind: 'regular', perSecond: 4 }, 1001)).toEqual([250, 500, 750, 1000]);
  });

  it('bursts: the mean rate of both states together, and far more irregular', () => {
    const arrivals: Arrivals = { kind: 'bursts', onPerSecond: 20, offPerSecond: 1, onSeconds: 5, offSeconds: 15 };
    const all = times(arrivals, 4_000_000);
    expect(meanPerSecond(arrivals)).toBe(5.75);
    expect(Math.abs(all.length / 4000 / 5.75 - 1)).toBeLessThan(0.1);
    expect(dispersion(all, 4000)).toBeGreaterThan(4);
  });

  it('a factor multiplies the rate; without a rate nobody comes', () => {
    expect(times({ kind: 'regular', perSecond: 4 }, 1001, 2)).toHaveLength(8);
    expect(times({ kind: 'poisson', perSecond: 0 }, 1e9)).toEqual([]);
    expect(times({ kind: 'bursts', onPerSecond: 0, offPerSecond: 0, onSeconds: 1, offSeconds: 1 }, 1e9)).toEqual([]);
    expect(openArrivals({ kind: 'closed', clients: 3, thinkSeconds: 1 }, new Random(1), 1)).toBeNull();
  });
});

describe('lengths', () => {
  it('have the mean that is told of them, and stay within their bounds', () => {
    const all: Lengths[] = [{ kind: 'fixed', tokens: 100 }, { kind: 'uniform', min: 10, max: 30 }, { kind: 'lognormal', median: 200, sigma: 0.6, max: 100_000 }];
    for (const lengths of all) {
      const random = new Random(2, lengths.kind);
      const drawn = Array.from({ length: 20_000 }, () => drawLength(lengths, random));
      expect(Math.abs(drawn.reduce((sum, one) => sum + one, 0) / 20_000 / meanLength(lengths) - 1)).toBeLessThan(0.03);
    }
    const random = new Random(2);
    const cut = Array.from({ length: 2000 }, () => drawLength({ kind: 'lognormal', median: 2, sigma: 3, max: 50 }, random));
    expect([Math.min(...cut), Math.max(...cut)]).toEqual([1, 50]);
  });
});
