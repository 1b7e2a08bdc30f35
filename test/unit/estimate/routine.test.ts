import { describe, expect, it } from 'vitest';
import { Model } from '../../../src/estimate/model.js';
import { familyOf, regressorsOf } from '../../../src/estimate/regressors.js';
import { requestOf } from './facts.js';

const PROSE = 'The committee met in the afternoon and decided, after some discussion, to publish the report. '.repeat(20);
const CODE = 'export function add(left: number, right: number): number {\n  return left + right; // 12345\n}\n'.repeat(20);
const family = familyOf({ api: 'openai-chat', model: 'gpt-4o' });
const PROMPTS = [PROSE, CODE, PROSE.slice(0, 400), CODE.slice(0, 700)].map((text) => regressorsOf(requestOf(text), family, { tokens: 0, unknown: false }));

/** So many answers, of `factor` times the tokens that the family tells, give or take 3 %. @returns of how many anything was learned. */
function teach(model: Model, answers: number, factor: (prompt: number) => number): number {
  let moved = 0;
  for (let i = 0; i < answers; i++) {
    const x = PROMPTS[i % PROMPTS.length]!;
    const before = model.weights.join();
    model.learn(x, new Model(family).predict(x) * factor(i % PROMPTS.length) * (i % 8 < 4 ? 1.03 : 0.97));
    if (model.weights.join() !== before) moved++;
  }
  return moved;
}

/** How far the estimates of all prompts are from so many times what the family tells. */
const off = (model: Model, factor: number): number =>
  Math.max(...PROMPTS.map((x) => Math.abs(model.predict(x) / (new Model(family).predict(x) * factor) - 1)));

describe('a model whose prompts are all of one kind, and whose truth is another from one day to the next', () => {
  it('is followed, up and down, and stays right over thousands of answers', () => {
    const prompts = Array.from({ length: 60 }, (_, i) => regressorsOf(requestOf((i % 2 === 0 ? CODE : PROSE).slice(i * 7, i * 7 + 100 + ((i * 37) % 1_500))), family, { tokens: 0, unknown: false }));
    const truth = (x: Float64Array, factor: number): number => new Model(family).predict(x) * factor;
    const worst = (model: Model, factor: number): number => Math.max(...prompts.map((x) => Math.abs(model.predict(x) / truth(x, factor) - 1)));
    for (const factor of [0.6, 0.8, 0.95, 1.5]) {
      const model = new Model(family);
      for (let i = 0; i < 300; i++) model.learn(prompts[i % 60]!, truth(prompts[i % 60]!, 1.2));
      for (let i = 0; i < 3_000; i++) {
        model.learn(prompts[i % 60]!, truth(prompts[i % 60]!, factor * (i % 8 < 4 ? 1.03 : 0.97)));
        if (i >= 300 && i % 60 === 0) expect(worst(model, factor)).toBeLessThan(0.2);
      }
      expect(worst(model, factor)).toBeLessThan(0.12);
    }
  });
});

describe('answers of a model that is known well', () => {
  const known = (): Model => {
    const model = new Model(family);
    expect(teach(model, 250, () => 1.2)).toBe(250);
    return model;
  };

  it('teach about one time of eight while its estimates are right', () => {
    const model = known();
    const taught = teach(model, 800, () => 1.2);
    expect(taught).toBeGreaterThan(95);
    expect(taught).toBeLessThan(125);
    expect(off(model, 1.2)).toBeLessThan(0.05);
    expect(model.observations).toBe(1_050);
  });

  it('teach each time once the truth is another, by much or by little', () => {
    for (const [factor, answers, most] of [[1.8, 60, 0.05], [1.3, 120, 0.05], [1.26, 200, 0.05], [0.9, 200, 0.05], [0.6, 400, 0.08]] as const) {
      const model = known();
      teach(model, 800, () => 1.2);
      expect(teach(model, answers, () => factor)).toBeGreaterThan(answers / 4);
      expect(off(model, factor)).toBeLessThan(most);
    }
  });

  it('teach each time while errors to both sides make up for each other', () => {
    const model = known();
    expect(teach(model, 200, (prompt) => (prompt % 2 === 0 ? 1.9 : 0.6))).toBeGreaterThan(150);
  });

  it('teach each time in a program that began with stored weights, until these have proved right', () => {
    const model = known();
    const restored = Model.from(model.state()!, family)!;
    expect(teach(restored, 10, () => 1.2)).toBe(10);
    teach(restored, 100, () => 1.2);
    expect(teach(restored, 80, () => 1.2)).toBeLessThan(20);
  });
});
