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
    for (const [factor, answers] of [[1.8, 60], [1.3, 120], [1.26, 200]] as const) {
      const model = known();
      teach(model, 800, () => 1.2);
      expect(teach(model, answers, () => factor)).toBeGreaterThan(answers / 4);
      expect(off(model, factor)).toBeLessThan(0.05);
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
