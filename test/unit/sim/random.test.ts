import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/sim/random.js';

const draw = (count: number, one: () => number): number[] => Array.from({ length: count }, one);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('the simulator’s chance', () => {
  it('is the same for the same seed and name, and another for each other', () => {
    const first = (seed: number, name: string): number[] => {
      const random = new Random(seed, name);
      return draw(5, () => random.uniform());
    };
    expect(first(7, 'a')).toEqual(first(7, 'a'));
    expect(first(7, 'a')).not.toEqual(first(8, 'a'));
    expect(first(7, 'a')).not.toEqual(first(7, 'b'));
  });

  it('keeps its numbers from one version to the next: experiments name seeds', () => {
    const random = new Random(1, 'fixed');
    expect(draw(3, () => Math.round(random.uniform() * 1e9))).toEqual([965_574_670, 778_124_842, 7_656_846]);
  });

  it('is uniform, exponential, normal and lognormal', () => {
    const random = new Random(3);
    const uniform = draw(20_000, () => random.uniform());
    expect(Math.min(...uniform)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...uniform)).toBeLessThan(1);
    expect(mean(uniform)).toBeCloseTo(0.5, 1);
    for (let tenth = 0; tenth < 10; tenth++) expect(uniform.filter((u) => Math.floor(u * 10) === tenth).length).toBeGreaterThan(1800);
    expect(mean(draw(20_000, () => random.exponential(40)))).toBeCloseTo(40, -1);
    const normal = draw(20_000, () => random.normal());
    expect(mean(normal)).toBeCloseTo(0, 1);
    expect(mean(normal.map((x) => x * x))).toBeCloseTo(1, 1);
    const sorted = draw(20_001, () => random.lognormal(100, 0.5)).sort((a, b) => a - b);
    expect(Math.abs(sorted[10_000]! - 100)).toBeLessThan(3);
  });
});
