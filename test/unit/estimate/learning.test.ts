import { describe, expect, it } from 'vitest';
import type { Estimator, LearnedState } from '../../../src/domain/estimate.js';
import { createEstimator } from '../../../src/estimate/estimator.js';
import { answer, requestOf, textOf } from './facts.js';

const PROSE = 'The committee met in the afternoon and decided, after some discussion, to publish the report. '.repeat(50);
const CODE = 'export function add(left: number, right: number): number {\n  return left + right; // 12345\n}\n'.repeat(40);
const TEXTS = [PROSE, CODE, 'Комитет собрался во второй половине дня. '.repeat(60), '日本語の文章です。'.repeat(80), PROSE.slice(0, 300), CODE.slice(0, 500)];

const estimate = (estimator: Estimator, text: string, model = 'm') => estimator.prompt('t', requestOf(text, {}, { model })).tokens;
const fresh = (text: string, model = 'm') => estimate(createEstimator(), text, model);

/** Answers to all texts in turn, each at `factor` times what was expected of it at first, plus `hidden`. */
function teach(estimator: Estimator, rounds: number, factor: number, hidden = 0, model = 'm'): void {
  for (let i = 0; i < rounds; i++) {
    const request = requestOf(TEXTS[i % TEXTS.length]!, {}, { model });
    const inputTokens = Math.round(factor * fresh(TEXTS[i % TEXTS.length]!, model) + hidden);
    estimator.learn({ ...answer(request, { inputTokens }), prompt: estimator.prompt('t', request) });
  }
}

describe('learning how a model counts', () => {
  it('follows a tokenizer that takes more tokens, and that of no other model', () => {
    const estimator = createEstimator();
    teach(estimator, 60, 1.5);
    for (const text of TEXTS) expect(Math.abs(estimate(estimator, text) / fresh(text) / 1.5 - 1)).toBeLessThan(0.1);
    expect(estimate(estimator, PROSE, 'another')).toBe(fresh(PROSE, 'another'));
  });

  it('serves all tenants: the tokenizer is the model’s', () => {
    const estimator = createEstimator();
    teach(estimator, 60, 1.5);
    expect(estimator.prompt('another tenant', requestOf(PROSE)).tokens).toBe(estimate(estimator, PROSE));
  });

  it('tells what each kind of text costs apart: a single ratio would make one right and the other wrong', () => {
    const estimator = createEstimator();
    for (let i = 0; i < 60; i++) {
      for (const [text, factor] of [[PROSE, 1], [TEXTS[2]!, 2]] as const) estimator.learn(answer(requestOf(text), { inputTokens: Math.round(factor * fresh(text)) }));
    }
    expect(estimate(estimator, PROSE) / fresh(PROSE)).toBeLessThan(1.1);
    expect(estimate(estimator, TEXTS[2]!) / fresh(TEXTS[2]!)).toBeGreaterThan(1.8);
  });

  it('adapts when the model behind a name changes', () => {
    const estimator = createEstimator();
    teach(estimator, 200, 0.8);
    teach(estimator, 200, 1.6);
    expect(Math.abs(estimate(estimator, PROSE) / fresh(PROSE) / 1.6 - 1)).toBeLessThan(0.1);
  });

  it('finds a hidden preamble, and does not let it spoil long prompts', () => {
    const estimator = createEstimator();
    const [short, long] = ['hello', PROSE.repeat(10)];
    for (let i = 0; i < 50; i++) for (const text of [short, long]) estimator.learn(answer(requestOf(text), { inputTokens: fresh(text) + 300 }));
    expect(Math.abs(estimate(estimator, short) / (fresh(short) + 300) - 1)).toBeLessThan(0.15);
    expect(Math.abs(estimate(estimator, long) / (fresh(long) + 300) - 1)).toBeLessThan(0.1);
  });

  it('learns what tools cost', () => {
    const estimator = createEstimator();
    const request = requestOf('hello', { tools: 2, toolText: textOf('{"name": "f", "description": "does it"}'.repeat(2)) });
    for (let i = 0; i < 40; i++) estimator.learn(answer(request, { inputTokens: 900 }));
    expect(Math.abs(estimator.prompt('t', request).tokens / 900 - 1)).toBeLessThan(0.1);
    expect(estimate(estimator, PROSE) / fresh(PROSE)).toBeLessThan(1.25);
  });

  it('counts output with what it has learned', () => {
    const estimator = createEstimator();
    const before = estimator.countOutput('m', textOf(PROSE), 1);
    teach(estimator, 100, 1.5);
    expect(estimator.countOutput('m', textOf(PROSE), 1) / before).toBeGreaterThan(1.3);
  });

  it('forgets the model that was unused for longest', () => {
    const estimator = createEstimator({ maxModels: 2 });
    for (const model of ['a', 'b', 'c']) teach(estimator, 30, 1.5, 0, model);
    expect(['a', 'b', 'c'].map((model) => estimate(estimator, PROSE, model) > 1.3 * fresh(PROSE, model))).toEqual([false, true, true]);
  });
});

describe('learning from wrong figures', () => {
  it.each([0, -5, NaN, Infinity, 2 ** 40])('is not misled by %d tokens', (inputTokens) => {
    const estimator = createEstimator();
    for (let i = 0; i < 20; i++) estimator.learn(answer(requestOf(PROSE), { inputTokens, outputTokens: inputTokens, cachedInputTokens: inputTokens }));
    expect(estimate(estimator, PROSE)).toBe(fresh(PROSE));
  });

  it('passes over an upstream that tells only what was not in its cache', () => {
    const estimator = createEstimator();
    for (let i = 0; i < 20; i++) estimator.learn(answer(requestOf(PROSE), { inputTokens: 12 }));
    expect(estimate(estimator, PROSE)).toBe(fresh(PROSE));
  });

  it('is hardly moved by one bad figure among good ones', () => {
    const estimator = createEstimator();
    teach(estimator, 60, 1.2);
    const before = estimate(estimator, PROSE);
    for (const inputTokens of [1_000_000, before * 5]) {
      estimator.learn(answer(requestOf(PROSE), { inputTokens }));
      expect(Math.abs(estimate(estimator, PROSE) / before - 1)).toBeLessThan(0.15);
      teach(estimator, 12, 1.2);
    }
    expect(Math.abs(estimate(estimator, PROSE) / before - 1)).toBeLessThan(0.05);
  });

  it('stays within bounds whatever an upstream tells, for as long as it likes', () => {
    const estimator = createEstimator();
    for (let i = 0; i < 300; i++) estimator.learn(answer(requestOf(PROSE), { inputTokens: 1_000_000_000 }));
    expect(estimate(estimator, PROSE)).toBeLessThanOrEqual(8 * fresh(PROSE) + 20_000);
    teach(estimator, 300, 1);
    expect(estimate(estimator, PROSE) / fresh(PROSE)).toBeLessThan(1.5);
  });

  it('passes over an estimate that is not ours', () => {
    const estimator = createEstimator();
    const odd = answer(requestOf(PROSE), { inputTokens: 5000 });
    for (const regressors of [new Float64Array(0), new Float64Array(3), odd.prompt.regressors.map(() => NaN)]) estimator.learn({ ...odd, prompt: { ...odd.prompt, regressors } });
    expect(estimate(estimator, PROSE)).toBe(fresh(PROSE));
  });
});

describe('the cached share', () => {
  it('is set by the first answer and moved by later ones', () => {
    const estimator = createEstimator();
    const request = requestOf('hi');
    const share = () => estimator.prompt('t', request).cachedShare;
    expect(share()).toBe(0);
    estimator.learn(answer(request, { inputTokens: 100, cachedInputTokens: 80 }));
    expect(share()).toBeCloseTo(0.8);
    estimator.learn(answer(request, { inputTokens: 100 }));
    expect(share()).toBeCloseTo(0.64);
    estimator.learn(answer(request, { inputTokens: 100, cachedInputTokens: 5000 }));
    expect(share()).toBeLessThanOrEqual(1);
  });

  it('is that of a tenant and model', () => {
    const estimator = createEstimator();
    estimator.learn(answer(requestOf('hi', {}, { model: 'bc' }), { inputTokens: 100, cachedInputTokens: 80 }, { tenantId: 'a' }));
    expect(estimator.prompt('ab', requestOf('hi', {}, { model: 'c' })).cachedShare).toBe(0);
  });
});

describe('what was learned', () => {
  it('is told once, and taken up by another', () => {
    const one = createEstimator();
    teach(one, 60, 1.5);
    const states = one.learned();
    expect(one.learned()).toEqual([]);
    expect(states).toHaveLength(1);
    expect(states[0]!.state.length).toBeLessThan(32 * 1024);
    const other = createEstimator();
    other.adopt(states);
    for (const text of TEXTS) expect(Math.abs(estimate(other, text) / estimate(one, text) - 1)).toBeLessThan(0.01);
    teach(other, 10, 1.5);
    expect(other.learned()[0]!.observations).toBe(70);
  });

  it('gives way only to what stands for more answers', () => {
    const [one, other] = [createEstimator(), createEstimator()];
    teach(one, 20, 1.5);
    teach(other, 60, 1);
    other.adopt(one.learned());
    expect(estimate(other, PROSE) / fresh(PROSE)).toBeLessThan(1.1);
  });

  it('is passed over where it can’t be read', () => {
    const one = createEstimator();
    teach(one, 20, 1.5);
    const [good] = one.learned();
    const other = createEstimator();
    const changed = (change: object) => JSON.stringify({ ...(JSON.parse(good!.state) as object), ...change });
    const bad = ['', 'null', '[]', '{}', '"x"', '{', changed({ version: 99 }), changed({ features: 3 }), changed({ weights: [1, 2] }), changed({ weights: null }), changed({ covariance: ['x'] }), changed({ observations: -1 })];
    other.adopt(bad.map((state) => ({ ...good!, state })));
    other.adopt([{ ...good!, key: 'nonsense' }, { ...good!, observations: NaN }, { ...good!, state: 'x'.repeat(100_000) }]);
    const garbage: readonly unknown[] = [null, undefined, 'text', 7, [], {}, { ...good, key: null }, { ...good, key: 7 }, { ...good, state: null }, { ...good, state: {} }, { ...good, observations: 'many' }, { ...good, observations: {} }];
    other.adopt(garbage as readonly LearnedState[]);
    expect(estimate(other, PROSE)).toBe(fresh(PROSE));
    other.adopt([null as unknown as LearnedState, good!]);
    expect(estimate(other, PROSE)).toBe(estimate(one, PROSE));
  });
});
