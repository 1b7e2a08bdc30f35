import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEstimator } from '../../src/estimate/estimator.js';
import { answer, requestOf } from '../unit/estimate/facts.js';

const figure = fc.oneof(fc.integer({ min: -10, max: 2 ** 31 }), fc.constantFrom(NaN, Infinity, -Infinity, 0, 1e300));
const observation = fc.tuple(figure, figure, figure, figure).map(([raw, input, output, cached]) => answer(raw, input, output, { cachedInputTokens: cached }));
const text = fc.string({ unit: 'binary', maxLength: 200 });

function expectWhole(tokens: number, least: number): void {
  expect(Number.isSafeInteger(tokens)).toBe(true);
  expect(tokens).toBeGreaterThanOrEqual(least);
  expect(tokens).toBeLessThanOrEqual(2 ** 36);
}

describe('estimates, whatever was learned', () => {
  it('are whole, positive and bounded', () => {
    const media = fc.record({ kind: fc.constantFrom('image' as const, 'audio' as const, 'video' as const, 'file' as const), bytes: fc.option(fc.nat()) });
    const request = fc.record({ text, media: fc.array(media), tokenIds: fc.nat(), choices: fc.integer({ min: 1, max: 2 ** 31 }), cap: fc.option(fc.nat(2 ** 31 - 1)), most: fc.option(fc.integer({ min: 1, max: 2 ** 31 })) });
    fc.assert(
      fc.property(fc.array(observation), request, (observations, { text, media, tokenIds, choices, cap, most }) => {
        const estimator = createEstimator();
        observations.forEach(estimator.learn);
        const facts = requestOf(text, { media, tokenIds }, { choices, outputCapTokens: cap });
        const prompt = estimator.prompt('t', facts);
        expectWhole(prompt.rawTokens, 1);
        expectWhole(prompt.lowerBoundTokens, tokenIds);
        expectWhole(prompt.tokens, prompt.lowerBoundTokens);
        expect(prompt.cachedShare >= 0 && prompt.cachedShare <= 1).toBe(true);
        const output = estimator.output('t', facts, { maxOutputTokens: most, unknownOutputTokens: 500 });
        expectWhole(output.reservedTokens, cap === null ? 1 : 0);
        expectWhole(output.expectedTokens, 0);
        if (most !== null) expect(output.reservedTokens).toBeLessThanOrEqual(most * choices);
        expect(output.expectedTokens).toBeLessThanOrEqual(output.reservedTokens);
      }),
    );
  });

  it('never fall when text is added', () => {
    fc.assert(
      fc.property(fc.array(observation), text, text, (observations, start, more) => {
        const estimator = createEstimator();
        observations.forEach(estimator.learn);
        const [short, long] = [requestOf(start), requestOf(start + more)].map((facts) => estimator.prompt('t', facts));
        expect(long!.tokens).toBeGreaterThanOrEqual(short!.tokens);
        expect(long!.lowerBoundTokens).toBeGreaterThanOrEqual(short!.lowerBoundTokens);
        expect(estimator.countOutput('m', requestOf(start + more).prompt.text, 1)).toBeGreaterThanOrEqual(estimator.countOutput('m', requestOf(start).prompt.text, 1));
      }),
    );
  });
});
