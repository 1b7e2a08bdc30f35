import { describe, expect, it } from 'vitest';
import type { Media } from '../../../src/domain/request.js';
import { createEstimator } from '../../../src/estimate/estimator.js';
import { answer, requestOf, textOf } from './facts.js';

const PROSE = 'The committee met in the afternoon and decided, after some discussion, to publish the report. '.repeat(50);
const UNBOUNDED = { maxOutputTokens: null, unknownOutputTokens: 1000 };
const MEDIA: Media = { kind: 'image', bytes: null, widthPx: null, heightPx: null, detail: null, seconds: null };

function tokens(text: string, prompt = {}, model = 'gpt-4o'): number {
  return createEstimator().prompt('t', requestOf(text, prompt, { model })).tokens;
}

describe('a prompt before anything was learned', () => {
  it('is about right for English prose', () => {
    // 18 tokens a sentence by o200k.
    expect(tokens(PROSE)).toBeGreaterThan(18 * 50 * 0.85);
    expect(tokens(PROSE)).toBeLessThan(18 * 50 * 1.15);
  });

  it('is about right for other scripts', () => {
    // Counted by o200k.
    expect(tokens('日本語の文章です。'.repeat(100)) / 600).toBeCloseTo(1, 0);
    expect(tokens('Комитет собрался во второй половине дня. '.repeat(50)) / 550).toBeCloseTo(1, 0);
  });

  it('depends on the family of the model', () => {
    const digits = '8273645 '.repeat(100);
    expect(tokens(digits, {}, 'gemma-3-27b')).toBeGreaterThan(1.5 * tokens(digits, {}, 'gpt-4o'));
    expect(tokens(PROSE, {}, 'us.anthropic.claude-opus-4-8')).toBeGreaterThan(1.4 * tokens(PROSE, {}, 'gpt-4o'));
    expect(tokens(PROSE, {}, 'a-deployment')).toBeGreaterThan(0.8 * tokens(PROSE, {}, 'gpt-4o'));
  });

  it('is at least 1', () => {
    expect(tokens('', { messages: 0 })).toBeGreaterThanOrEqual(1);
  });

  it('takes a token id for one token, also in the lower bound', () => {
    const facts = requestOf('', { messages: 0, tokenIds: 4321 }, { api: 'openai-completions' });
    expect(createEstimator().prompt('t', facts)).toMatchObject({ tokens: 4321, lowerBoundTokens: 4321 });
  });

  it('counts messages, tools and schemas', () => {
    expect(tokens('hi', { messages: 10 })).toBeGreaterThanOrEqual(33);
    expect(tokens('hi', { tools: 1, toolText: textOf('{"type":"object"}'.repeat(20)) })).toBeGreaterThan(tokens('hi') + 40);
    expect(tokens('hi', { schema: textOf('{"type":"object"}'.repeat(20)) })).toBeGreaterThan(tokens('hi') + 40);
  });

  it('knows that Claude and Nova get hundreds of tokens with the first tool, and that Gemini counts no schema', () => {
    const tool = { tools: 1, toolText: textOf('{"name":"f"}') };
    for (const model of ['claude-sonnet-4-5', 'amazon.nova-lite-v1%3A0']) expect(tokens('hi', tool, model) - tokens('hi', {}, model)).toBeGreaterThan(250);
    expect(tokens('hi', { schema: textOf('{"type":"object"}'.repeat(20)) }, 'gemini-2.5-flash')).toBe(tokens('hi', {}, 'gemini-2.5-flash'));
  });

  it('adds the instructions that a switched-on reasoning brings', () => {
    const [off, on] = [false, true].map((reasoning) => createEstimator().prompt('t', requestOf('hi', {}, { model: 'claude-sonnet-4-5', reasoning })).tokens);
    expect(on! - off!).toBeGreaterThan(10);
  });

  it('has a lower bound that floods of one character do not break', () => {
    // By o200k, 100,000 of each are 12,500, 782, 1,550 and 33,334 tokens.
    const least = (text: string) => createEstimator().prompt('t', requestOf(text)).lowerBoundTokens;
    expect(least('a'.repeat(100_000))).toBeLessThan(12_500);
    expect(least(' '.repeat(100_000))).toBeLessThan(782);
    expect(least('-'.repeat(100_000))).toBeLessThan(1550);
    expect(least('1'.repeat(100_000))).toBeLessThanOrEqual(33_335);
    expect(least(PROSE)).toBeGreaterThan(200);
  });

  it('tells how sure it is: less of pictures and of what it does not know, more once it has learned', () => {
    const estimator = createEstimator();
    const share = (prompt = {}, model = 'gpt-4o') => estimator.prompt('t', requestOf(PROSE, prompt, { model })).errorShare;
    expect(share()).toBeLessThan(share({}, 'some-deployment'));
    expect(share({ references: [{ kind: 'response', id: 'r' }] })).toBeGreaterThan(share());
    const before = share();
    for (let i = 0; i < 100; i++) estimator.learn(answer(requestOf(PROSE, {}, { model: 'gpt-4o' }), { inputTokens: 905 }));
    expect(share()).toBeLessThan(before / 2);
  });
});

describe('pictures, sound and files', () => {
  const image = (model: string, size: Partial<Media> = {}) => tokens('', { media: [{ ...MEDIA, ...size }] }, model) - tokens('', {}, model);
  const px = (widthPx: number, heightPx: number) => ({ widthPx, heightPx });

  it.each([
    ['gpt-4o', px(1024, 1024), 765],
    ['gpt-4o', px(2048, 4096), 1105],
    ['gpt-4o-mini', px(512, 512), 8500],
    ['claude-sonnet-4-5', px(1092, 1092), 1590],
    ['claude-sonnet-4-5', px(8000, 8000), 1600],
    ['gemini-2.5-flash', px(300, 300), 258],
    ['gemini-2.5-flash', px(1536, 768), 516],
    ['gemma-3-4b', px(4000, 100), 256],
    ['gpt-4.1-mini', px(1024, 1024), 1659],
  ])('%s takes a picture of %o for %d tokens', (model, size, expected) => {
    expect(Math.abs(image(model, size) - expected)).toBeLessThanOrEqual(1);
  });

  it('takes a picture for a few hundred tokens where its size is not known, whatever its length', () => {
    expect(image('gpt-4o', { bytes: 2_500_000 })).toBe(250);
    expect(image('gpt-4o', { ...px(0, 5), bytes: 10 })).toBe(250);
  });

  it('looks closer only where it is asked to', () => {
    expect(image('gpt-4o', { ...px(1024, 1024), detail: 'low' })).toBe(85);
  });

  it('takes sound and films by their length', () => {
    expect(Math.abs(image('gemini-2.5-flash', { kind: 'audio', seconds: 60 }) - 1920)).toBeLessThanOrEqual(1);
    expect(Math.abs(image('gemini-2.5-flash', { kind: 'video', seconds: 10 }) - 2630)).toBeLessThanOrEqual(1);
    for (const kind of ['audio', 'video', 'file'] as const) expect(image('gemini-2.5-flash', { kind, seconds: 1e300, bytes: 1e300 })).toBeLessThanOrEqual(200_000);
  });
});

describe('what a body only refers to', () => {
  const references = (kind: 'response' | 'conversation' | 'file' | 'cached_content', id = 'x') => ({ references: [{ kind, id }] });

  it('costs what the answer that it names cost, for this tenant only', () => {
    const estimator = createEstimator();
    const bare = estimator.prompt('t', requestOf('go on')).tokens;
    estimator.learn(answer(requestOf('hi'), { inputTokens: 5000, outputTokens: 700 }, { responseId: 'x' }));
    const after = (tenantId: string) => estimator.prompt(tenantId, requestOf('go on', references('response'))).tokens;
    expect(after('t')).toBeGreaterThan(5690);
    expect(after('t')).toBeLessThan(5700 + bare + 50);
    expect(after('u')).toBeLessThan(2500);
  });

  it('grows with a conversation', () => {
    const estimator = createEstimator();
    const request = requestOf('hi', references('conversation'));
    for (const inputTokens of [3000, 9000]) estimator.learn(answer(request, { inputTokens, outputTokens: 100 }));
    expect(estimator.prompt('t', request).tokens).toBeGreaterThan(9100);
  });

  it('is what a prompt cost beyond its text, for files; what came from the cache, for cached contents', () => {
    const estimator = createEstimator();
    for (const [kind, cachedInputTokens] of [['file', 0], ['cached_content', 7000]] as const) {
      estimator.learn(answer(requestOf('hi', references(kind)), { inputTokens: 8000, cachedInputTokens }));
    }
    expect(Math.abs(estimator.prompt('t', requestOf('hi', references('file'))).tokens - 8000)).toBeLessThan(10);
    expect(Math.abs(estimator.prompt('t', requestOf('hi', references('cached_content'))).tokens - 7010)).toBeLessThan(10);
  });

  it('is taken for what this tenant’s longer prompts cost while nothing is known of it', () => {
    const estimator = createEstimator();
    for (let i = 0; i < 20; i++) estimator.learn(answer(requestOf('hi'), { inputTokens: 40_000 }));
    expect(estimator.prompt('t', requestOf('hi', references('response', 'never seen'))).tokens).toBeGreaterThan(40_000);
  });

  it('is not learned from as if it were text', () => {
    const estimator = createEstimator();
    const request = requestOf(PROSE, references('response', 'never seen'));
    const before = estimator.prompt('t', requestOf(PROSE)).tokens;
    for (let i = 0; i < 20; i++) estimator.learn({ ...answer(request, { inputTokens: 200_000 }), prompt: estimator.prompt('t', request) });
    expect(estimator.prompt('t', requestOf(PROSE)).tokens).toBe(before);
  });

  it('is forgotten when it is the longest unused', () => {
    const estimator = createEstimator({ maxReferences: 2 });
    for (const id of ['a', 'b', 'c']) estimator.learn(answer(requestOf('hi'), { inputTokens: 50_000 }, { responseId: id }));
    const of = (id: string) => estimator.prompt('t', requestOf('hi', references('response', id))).tokens;
    expect([of('a') > 40_000, of('b') > 40_000, of('c') > 40_000]).toEqual([false, true, true]);
  });
});

describe('the output', () => {
  const learned = (outputs: readonly number[]) => {
    const estimator = createEstimator();
    for (const outputTokens of outputs) estimator.learn(answer(requestOf('hi'), { inputTokens: 100, outputTokens }));
    return estimator;
  };

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
    const estimator = learned(Array.from({ length: 100 }, (_, i) => (i + 1) * 10));
    const output = estimator.output('t', requestOf('hi'), UNBOUNDED);
    expect(output.reservedTokens).toBeGreaterThanOrEqual(950);
    expect(output.reservedTokens).toBeLessThanOrEqual(950 * 1.25);
    expect(output.expectedTokens).toBeGreaterThan(505 * 0.88);
    expect(output.expectedTokens).toBeLessThan(505 * 1.12);
    expect(estimator.output('u', requestOf('hi'), UNBOUNDED).reservedTokens).toBe(1000);
    expect(estimator.output('t', requestOf('hi', {}, { outputCapTokens: 50 }), UNBOUNDED)).toEqual({ reservedTokens: 50, expectedTokens: 50, explicitCapTokens: 50 });
  });

  it('does not take a single answer for a rule', () => {
    expect(learned([3]).output('t', requestOf('hi'), UNBOUNDED).reservedTokens).toBe(1000);
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
