import { describe, expect, it } from 'vitest';
import { createEstimator } from '../../../src/estimate/estimator.js';
import { answer, requestOf, textOf } from './facts.js';

const PROSE = 'The committee met in the afternoon and decided, after some discussion, to publish the report. '.repeat(50);
const UNBOUNDED = { maxOutputTokens: null, unknownOutputTokens: 1000 };

describe('the prompt', () => {
  const tokens = (text: string, prompt = {}) => createEstimator().prompt('t', requestOf(text, prompt)).tokens;

  it('is about right for English prose', () => {
    // 18 tokens a sentence by o200k.
    expect(tokens(PROSE)).toBeGreaterThan(18 * 50 * 0.8);
    expect(tokens(PROSE)).toBeLessThan(18 * 50 * 1.25);
  });

  it('counts scripts by their own density', () => {
    expect(tokens('日本語の文章です'.repeat(100))).toBeGreaterThan(500);
    expect(tokens('日本語の文章です'.repeat(100))).toBeLessThan(900);
  });

  it('is at least 1', () => {
    expect(tokens('', { messages: 0 })).toBe(1);
  });

  it('takes a token id for one token, also in the lower bound', () => {
    const estimate = createEstimator().prompt('t', requestOf('', { messages: 0, tokenIds: 4321 }));
    expect(estimate).toMatchObject({ tokens: 4321, lowerBoundTokens: 4321 });
  });

  it('counts messages, tools and schemas', () => {
    expect(tokens('hi', { messages: 10 })).toBeGreaterThanOrEqual(33);
    expect(tokens('hi', { tools: 1, schema: textOf('{"type":"object"}'.repeat(20)) })).toBeGreaterThan(tokens('hi') + 60);
  });

  it('takes a picture for a few hundred tokens, whatever its length', () => {
    const image = tokens('', { media: [{ kind: 'image', bytes: 2_500_000 }] });
    expect(image).toBeGreaterThan(80);
    expect(image).toBeLessThan(1500);
    for (const kind of ['audio', 'video', 'file'] as const) expect(tokens('', { media: [{ kind, bytes: null }] })).toBeGreaterThan(100);
  });

  it('has a lower bound that floods of one character do not break', () => {
    // By o200k, 100,000 of each are 12,500, 782, 1,550 and 33,334 tokens.
    const least = (text: string) => createEstimator().prompt('t', requestOf(text)).lowerBoundTokens;
    expect(least('a'.repeat(100_000))).toBeLessThan(12_500);
    expect(least(' '.repeat(100_000))).toBeLessThan(782);
    expect(least('-'.repeat(100_000))).toBeLessThan(1550);
    expect(least('1'.repeat(100_000))).toBeLessThan(33_334);
    expect(least(PROSE)).toBeGreaterThan(200);
  });
});

describe('learning about prompts', () => {
  it('follows the true ratio of a tenant and model, and of no other', () => {
    const estimator = createEstimator();
    const request = requestOf(PROSE);
    const before = estimator.prompt('t', request);
    for (let i = 0; i < 20; i++) estimator.learn(answer(1000, 1500));
    expect(estimator.prompt('t', request).tokens).toBe(Math.round(before.rawTokens * 1.5));
    expect(estimator.prompt('t', request).rawTokens).toBe(before.rawTokens);
    expect(estimator.prompt('u', request).tokens).toBe(before.tokens);
    expect(estimator.prompt('t', requestOf(PROSE, {}, { model: 'other' })).tokens).toBe(before.tokens);
  });

  it('keeps tenant and model apart whatever they are called', () => {
    const estimator = createEstimator();
    estimator.learn(answer(100, 400, 10, { tenantId: 'a', model: 'bc' }));
    expect(estimator.prompt('ab', requestOf('hello world', {}, { model: 'c' })).tokens).toBe(createEstimator().prompt('x', requestOf('hello world')).tokens);
  });

  it('adapts when the ratio changes', () => {
    const estimator = createEstimator();
    for (let i = 0; i < 100; i++) estimator.learn(answer(1000, 500));
    for (let i = 0; i < 100; i++) estimator.learn(answer(1000, 2000));
    const { tokens, rawTokens } = estimator.prompt('t', requestOf(PROSE));
    expect(tokens / rawTokens).toBeGreaterThan(1.9);
  });

  it('does not let a hidden preamble on short prompts spoil long ones', () => {
    const estimator = createEstimator();
    for (let i = 0; i < 50; i++) {
      estimator.learn(answer(10, 310));
      estimator.learn(answer(10_000, 10_300));
    }
    const { tokens, rawTokens } = estimator.prompt('t', requestOf(PROSE));
    expect(tokens / rawTokens).toBeLessThan(1.1);
  });

  it.each([0, -5, NaN, Infinity])('is not misled by %d tokens', (strange) => {
    const estimator = createEstimator();
    estimator.learn(answer(strange, 100));
    estimator.learn(answer(100, strange));
    const { tokens, rawTokens } = estimator.prompt('t', requestOf(PROSE));
    expect(tokens).toBe(rawTokens);
  });

  it('bounds the ratio', () => {
    const estimator = createEstimator();
    estimator.learn(answer(10, 1_000_000));
    const { tokens, rawTokens } = estimator.prompt('t', requestOf(PROSE));
    expect(tokens).toBe(rawTokens * 4);
  });

  it('learns the cached share: the first answer sets it, later ones move it', () => {
    const estimator = createEstimator();
    const request = requestOf('hi');
    expect(estimator.prompt('t', request).cachedShare).toBe(0);
    estimator.learn(answer(100, 100, 10, { cachedInputTokens: 80 }));
    expect(estimator.prompt('t', request).cachedShare).toBeCloseTo(0.8);
    estimator.learn(answer(100, 100));
    expect(estimator.prompt('t', request).cachedShare).toBeCloseTo(0.64);
    estimator.learn(answer(100, 100, 10, { cachedInputTokens: 5000 }));
    expect(estimator.prompt('t', request).cachedShare).toBeLessThanOrEqual(1);
  });

  it('forgets the key that was unused for longest', () => {
    const estimator = createEstimator({ maxKeys: 2 });
    const ratio = (tenantId: string) => {
      const { tokens, rawTokens } = estimator.prompt(tenantId, requestOf(PROSE));
      return tokens / rawTokens;
    };
    for (const tenantId of ['a', 'b']) estimator.learn(answer(100, 200, 10, { tenantId }));
    expect(ratio('a')).toBeCloseTo(2);
    estimator.learn(answer(100, 200, 10, { tenantId: 'c' }));
    expect([ratio('a'), ratio('b'), ratio('c')].map(Math.round)).toEqual([2, 1, 2]);
  });
});

describe('the output', () => {
  it('is the cap times the choices, bounded by the model', () => {
    const request = requestOf('hi', {}, { outputCapTokens: 300, choices: 2 });
    expect(createEstimator().output('t', request, UNBOUNDED)).toMatchObject({ reservedTokens: 600, explicitCapTokens: 600 });
    expect(createEstimator().output('t', request, { ...UNBOUNDED, maxOutputTokens: 100 })).toMatchObject({ reservedTokens: 200, explicitCapTokens: 200 });
  });

  it('is the unknown value times the choices while nothing is learned', () => {
    expect(createEstimator().output('t', requestOf('hi', {}, { choices: 3 }), UNBOUNDED)).toEqual({ reservedTokens: 3000, expectedTokens: 3000, explicitCapTokens: null });
    expect(createEstimator().output('t', requestOf('hi'), { ...UNBOUNDED, maxOutputTokens: 400 }).reservedTokens).toBe(400);
  });

  it('is the learned 95th percentile, and the mean for what is expected', () => {
    const estimator = createEstimator();
    for (let i = 1; i <= 100; i++) estimator.learn(answer(100, 100, i * 10));
    const output = estimator.output('t', requestOf('hi'), UNBOUNDED);
    expect(output.reservedTokens).toBeGreaterThanOrEqual(950);
    expect(output.reservedTokens).toBeLessThanOrEqual(950 * 1.25);
    expect(output.expectedTokens).toBeGreaterThan(505 * 0.88);
    expect(output.expectedTokens).toBeLessThan(505 * 1.12);
    expect(estimator.output('u', requestOf('hi'), UNBOUNDED).reservedTokens).toBe(1000);
    expect(estimator.output('t', requestOf('hi', {}, { outputCapTokens: 50 }), UNBOUNDED)).toEqual({ reservedTokens: 50, expectedTokens: 50, explicitCapTokens: 50 });
  });

  it('does not take a single answer for a rule', () => {
    const estimator = createEstimator();
    estimator.learn(answer(100, 100, 3));
    expect(estimator.output('t', requestOf('hi'), UNBOUNDED).reservedTokens).toBe(1000);
  });

  it('is counted from text that no usage was told for', () => {
    const estimator = createEstimator();
    expect(estimator.countOutput('m', textOf(''), 0)).toBe(0);
    expect(estimator.countOutput('m', textOf('a'), 1)).toBe(1);
    expect(estimator.countOutput('m', textOf(PROSE), 1)).toBeGreaterThan(680);
    // Each piece is at least one token, unless there are more of them than the text can explain.
    expect(estimator.countOutput('m', textOf('<><><><>'), 6)).toBe(6);
    expect(estimator.countOutput('m', textOf('hello'), 5)).toBeLessThan(3);
  });
});
