import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Observation } from '../../src/domain/estimate.js';
import type { Media, Reference } from '../../src/domain/request.js';
import { createEstimator } from '../../src/estimate/estimator.js';
import { answer, requestOf, textOf } from '../unit/estimate/facts.js';

const figure = fc.oneof(fc.integer({ min: -10, max: 2 ** 31 }), fc.constantFrom(NaN, Infinity, -Infinity, 0, 1e300));
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.lorem({ maxCount: 60 }));
const size = fc.option(fc.oneof(fc.nat(5000), figure));
const media: fc.Arbitrary<Media> = fc.record({
  kind: fc.constantFrom('image' as const, 'audio' as const, 'video' as const, 'file' as const),
  bytes: fc.option(fc.nat()),
  widthPx: size,
  heightPx: size,
  detail: fc.constantFrom('low' as const, 'high' as const, null),
  seconds: fc.option(figure),
});
const reference: fc.Arbitrary<Reference> = fc.record({ kind: fc.constantFrom('response' as const, 'conversation' as const, 'file' as const, 'cached_content' as const), id: fc.constantFrom('a', 'b', '__proto__') });
const model = fc.constantFrom('gpt-4o', 'gpt-5-mini', 'us.anthropic.claude-sonnet-4-5-v1:0', 'gemini-2.5-pro', 'gemma', 'nova-2-lite', 'house-model', '__proto__', '');

const facts = fc
  .record({ text, tools: text, media: fc.array(media, { maxLength: 3 }), references: fc.array(reference, { maxLength: 2 }), tokenIds: fc.nat(), messages: fc.nat(100_000), toolCount: fc.nat(50), model })
  .map(({ text, tools, toolCount, model, ...rest }) => requestOf(text, { ...rest, toolText: textOf(tools), tools: toolCount }, { model }));

const observation: fc.Arbitrary<Observation> = fc
  .tuple(facts, figure, figure, figure, fc.option(fc.constantFrom('a', 'b')), fc.constantFrom('right', 'strange', 'short'))
  .map(([facts, inputTokens, outputTokens, cachedInputTokens, responseId, regressors]) => {
    const one = answer(facts, { inputTokens, outputTokens, cachedInputTokens }, { responseId });
    if (regressors === 'right') return one;
    return { ...one, prompt: { ...one.prompt, regressors: regressors === 'short' ? new Float64Array(2) : one.prompt.regressors.map(() => inputTokens) } };
  });

function expectWhole(tokens: number, least: number): void {
  expect(Number.isSafeInteger(tokens)).toBe(true);
  expect(tokens).toBeGreaterThanOrEqual(least);
  expect(tokens).toBeLessThanOrEqual(2 ** 36);
}

describe('estimates, whatever was learned', () => {
  it('are whole, positive and bounded', () => {
    const request = fc.record({ facts, choices: fc.integer({ min: 1, max: 2 ** 31 }), cap: fc.option(fc.nat(2 ** 31 - 1)), most: fc.option(fc.integer({ min: 1, max: 2 ** 31 })) });
    fc.assert(
      fc.property(fc.array(observation, { maxLength: 30 }), request, (observations, { facts, choices, cap, most }) => {
        const estimator = createEstimator();
        for (const one of observations) estimator.learn(one);
        const asked = { ...facts, choices, outputCapTokens: cap };
        const prompt = estimator.prompt('t', asked);
        expectWhole(prompt.lowerBoundTokens, facts.prompt.tokenIds);
        expectWhole(prompt.tokens, prompt.lowerBoundTokens);
        expect(prompt.errorShare > 0 && Number.isFinite(prompt.errorShare)).toBe(true);
        expect(prompt.cachedShare >= 0 && prompt.cachedShare <= 1).toBe(true);
        const output = estimator.output('t', asked, { maxOutputTokens: most, unknownOutputTokens: 500 });
        expectWhole(output.reservedTokens, cap === null ? 1 : 0);
        expectWhole(output.expectedTokens, 0);
        if (most !== null) expect(output.reservedTokens).toBeLessThanOrEqual(most * choices);
        expect(output.expectedTokens).toBeLessThanOrEqual(output.reservedTokens);
        expectWhole(estimator.countOutput(facts.model, facts.prompt.text, 3), 0);
      }),
    );
  });

  it('never fall when text is added', () => {
    fc.assert(
      fc.property(fc.array(observation, { maxLength: 30 }), text, text, model, (observations, start, more, model) => {
        const estimator = createEstimator();
        for (const one of observations) estimator.learn(one);
        const [short, long] = [requestOf(start, {}, { model }), requestOf(start + more, {}, { model })].map((facts) => estimator.prompt('t', facts));
        expect(long!.tokens).toBeGreaterThanOrEqual(short!.tokens);
        expect(long!.lowerBoundTokens).toBeGreaterThanOrEqual(short!.lowerBoundTokens);
        expect(estimator.countOutput(model, requestOf(start + more).prompt.text, 1)).toBeGreaterThanOrEqual(estimator.countOutput(model, requestOf(start).prompt.text, 1));
      }),
    );
  });

  it('are the same for one who took up what another had learned', () => {
    fc.assert(
      fc.property(fc.array(observation, { maxLength: 30 }), facts, (observations, facts) => {
        const [one, other] = [createEstimator(), createEstimator()];
        for (const each of observations) one.learn(each);
        const states = one.learned();
        for (const { state } of states) expect(state.length).toBeLessThanOrEqual(32 * 1024);
        other.adopt(states);
        const bare = { ...facts, prompt: { ...facts.prompt, references: [] } };
        const [first, second] = [one, other].map((estimator) => estimator.prompt('t', bare).tokens);
        expect(Math.abs(first! - second!)).toBeLessThanOrEqual(1 + 0.001 * first!);
      }),
      { numRuns: 50 },
    );
  });

  it('are what they were when garbage is taken up', () => {
    const garbage = fc.record({ key: fc.oneof(fc.string(), fc.constantFrom('chat gpt-4o', 'text x')), observations: figure, state: fc.oneof(fc.json(), fc.string()) });
    fc.assert(
      fc.property(fc.array(garbage), facts, (states, facts) => {
        const estimator = createEstimator();
        estimator.adopt(states);
        expect(estimator.prompt('t', facts)).toEqual(createEstimator().prompt('t', facts));
      }),
    );
  });
});
