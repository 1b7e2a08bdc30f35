import { describe, expect, test } from 'vitest';
import { crossClassProtection } from './exp-1-protection.js';
import { sloAwareShare } from './exp-2-slo-share.js';
import { fairnessBound } from './exp-3-fairness.js';
import { realTraffic } from './exp-4-traces.js';
import { severalProcessors } from './exp-5-processors.js';
import { largeReservations } from './exp-6-reservations.js';
import type { Report } from './report.js';

const SHORT = { short: true };
const LIMIT_MS = 120_000;

/** Means of throughput that are near their target: a short run, with one seed and a pool that is empty at its start, does not show them. */
const ONLY_IN_FULL = [/^64 slots, guaranteed wants 50.0 %: spot's part/, /^27 clients: throughput/];

/** What a report says was missed. */
function missed({ figures }: Report): string[] {
  return figures.filter(({ what, met }) => met === false && !ONLY_IN_FULL.some((name) => name.test(what))).map(({ what, target, measured }) => `${what}: ${measured}, not ${target}`);
}

describe('experiments in their short form', () => {
  test('1: guaranteed tenants do not notice that demand is above supply, and spot takes what they leave', () => expect(missed(crossClassProtection(SHORT))).toEqual([]), LIMIT_MS);
  test('2: the tighter SLO goes first in a shortage, and debt pays back', () => expect(missed(sloAwareShare(SHORT))).toEqual([]), LIMIT_MS);
  test('3: service of backlogged tenants stays within the bound', () => expect(missed(fairnessBound(SHORT))).toEqual([]), LIMIT_MS);
  test('4: recorded traffic above capacity', async ({ skip }) => {
    const report = await realTraffic(SHORT);
    if (report.skipped !== undefined) skip(report.skipped);
    // In so short a time FCFS's queue does not fill: what it refuses tells already.
    const refused = report.figures.filter(({ what }) => what.includes('refused')).map(({ measured }) => (measured.match(/[\d.]+/g) ?? []).map(Number));
    expect(refused.length).toBeGreaterThan(0);
    for (const [own, fcfs] of refused) expect(own).toBeLessThan(fcfs! / 4);
  }, LIMIT_MS);
  test('5: several processors share as one does', () => expect(missed(severalProcessors(SHORT))).toEqual([]), LIMIT_MS);
  test('6: reservations above the truth change no shares', () => expect(missed(largeReservations(SHORT))).toEqual([]), LIMIT_MS);

  test('the same seeds give the same report', () => expect(severalProcessors(SHORT).figures).toEqual(severalProcessors(SHORT).figures), LIMIT_MS);
});
