import { describe, expect, test } from 'vitest';
import { PeriodTotals } from '../../../src/stores/period-totals.js';

const DAY_MS = 86_400_000;
const JANUARY = Date.UTC(2027, 0, 1);
const one = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 0 };

describe('totals by period', () => {
  test('the latest days and months are kept, at least as many as are promised', () => {
    const totals = new PeriodTotals(1_000_000);
    for (let day = 0; day < 600; day++) totals.add('acme', JANUARY + day * DAY_MS, 1, one);
    const kept = (period: string) => totals.in(period).size === 1;
    const lastMs = JANUARY + 599 * DAY_MS;
    const day = (back: number) => new Date(lastMs - back * DAY_MS).toISOString().slice(0, 10);
    expect([day(0), day(40), day(41)].map(kept)).toEqual([true, true, false]);
    // Day 600 is 2028-08-22: fourteen months before are of 2027-06.
    expect(['2028-08', '2027-06', '2027-05'].map(kept)).toEqual([true, true, false]);
  });

  test('what is booked for a day long past forgets none of the later ones', () => {
    const totals = new PeriodTotals(1_000_000);
    for (let day = 0; day < 41; day++) totals.add('acme', JANUARY + day * DAY_MS, 1, one);
    totals.add('acme', 0, 1, one);
    expect(totals.in('1970-01-01').size).toBe(0);
    expect(totals.in('2027-01-01').size).toBe(1);
  });

  test('their number is bounded: the oldest days give way, the months last', () => {
    const totals = new PeriodTotals(100);
    for (let day = 0; day < 10; day++) for (let i = 0; i < 30; i++) totals.add(`t${i}`, JANUARY + day * DAY_MS, 1, one);
    expect(totals.in('2027-01').get('t7')).toEqual({ requests: 10, inputTokens: 10, cachedInputTokens: 0, outputTokens: 20, reasoningTokens: 0 });
    expect(['2027-01-10', '2027-01-09', '2027-01-08'].map((day) => totals.in(day).size)).toEqual([30, 30, 0]);
  });
});
