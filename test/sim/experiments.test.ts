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

/** What a report says was missed. */
function missed({ figures }: Report): string[] {
  return figures.filter(({ met }) => met === false).map(({ what, target, measured }) => `${what}: ${measured}, not ${target}`);
}

describe('experiments in their short form', () => {
  test('1: guaranteed tenants do not notice that demand is above supply, and spot takes what they leave', () => expect(missed(crossClassProtection(SHORT))).toEqual([]), LIMIT_MS);
  test('2: the tighter SLO goes first in a shortage, and debt pays back', () => expect(missed(sloAwareShare(SHORT))).toEqual([]), LIMIT_MS);
  test('3: service of backlogged tenants stays within the bound', () => expect(missed(fairnessBound(SHORT))).toEqual([]), LIMIT_MS);
  test('4: recorded traffic above capacity', async ({ skip }) => {
    const report = await realTraffic(SHORT);
    if (report.skipped !== undefined) skip(report.skipped);
    expect(missed(report)).toEqual([]);
  }, LIMIT_MS);
  test('5: several processors share as one does', () => expect(missed(severalProcessors(SHORT))).toEqual([]), LIMIT_MS);
  test('6: reservations above the truth change no shares', () => expect(missed(largeReservations(SHORT))).toEqual([]), LIMIT_MS);

  test('the same seeds give the same report', () => expect(severalProcessors(SHORT).figures).toEqual(severalProcessors(SHORT).figures), LIMIT_MS);
});
