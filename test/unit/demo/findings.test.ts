import { describe, expect, test } from 'vitest';
import { findingsOf } from '../../../src/demo/findings.js';
import type { Told } from '../../../src/demo/story.js';
import { answer, event, GOOD, withStep } from './told.js';

function wrong(told: Told): string[] {
  return findingsOf(told).filter(({ ok }) => !ok).map(({ text }) => text);
}

describe('what the demo shows (point 9)', () => {
  test('all of it, where all went as it should', () => {
    expect(wrong(GOOD)).toEqual([]);
    expect(findingsOf(GOOD)).toHaveLength(9);
  });

  test('a bucket that is full again has all of it back, though it had less to get', () => {
    expect(wrong({ ...GOOD, cedar: { whileStreaming: 400, afterLeaving: 600 } })).toEqual([]);
  });

  test.each<[string, Told, RegExp]>([
    ['a request within the limits that is refused', withStep(1, { answer: answer({ status: 429 }) }), /within its limits/],
    ['a usage chunk that was not asked for', withStep(1, { answer: answer({ sawUsage: true }) }), /did not ask for usage/],
    ['a usage chunk that was asked for and hidden', withStep(2, { answer: answer() }), /did not ask for usage/],
    ['a charge that is not the count of the upstream', withStep(0, { upstream: { input: 20, output: 61 } }), /alder's charge/],
    ['a request above the limit that is admitted', withStep(4, { answer: answer() }), /refused with 429/],
    ['a refusal that tells no wait', { ...GOOD, waitedMs: 0 }, /refused with 429/],
    ['a told wait that was too short', withStep(5, { answer: answer({ status: 429 }) }), /comes again/],
    ['a charge for a refusal', { ...GOOD, charged: { ...GOOD.charged, birch: { input: 60, output: 120 } } }, /nothing for the refusal/],
    ['a cut answer that is taken for a whole one', withStep(6, { event: event(24, 18, { reservedOutputTokens: 400, reservedInputTokens: 24 }) }), /leaves in mid-stream/],
    ['tokens that passed and were not counted', withStep(6, { event: event(24, 0, { outcome: 'cut', reservedOutputTokens: 382, reservedInputTokens: 24 }) }), /leaves in mid-stream/],
    ['a reservation that is not given back', { ...GOOD, cedar: { whileStreaming: 176, afterLeaving: 186 } }, /given back/],
    ['a lease that is left', { ...GOOD, leases: 1 }, /left open/],
  ])('sees %s', (_name, told, text) => {
    expect(wrong(told)).toEqual([expect.stringMatching(text)]);
  });
});
