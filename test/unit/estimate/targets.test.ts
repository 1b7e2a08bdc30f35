import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createEstimator } from '../../../src/estimate/estimator.js';
import { judged, measured, median, quantile, shareNear } from '../../estimate/measures.js';
import { readPairs } from '../../estimate/pairs.js';
import { afterLearning, MIXES, run, trafficOf, type HeldOut } from '../../estimate/traffic.js';

const FILE = fileURLToPath(new URL('../../../../shared/prefill/pairs.jsonl', import.meta.url));
const read = readPairs(FILE);
const WHERE = read === null ? ' (skipped: ../shared/prefill is missing)' : '';

describe.skipIf(read === null)(`recorded requests with their provider’s own count${WHERE}`, () => {
  const all = (read?.pairs ?? []).map((pair) => measured(pair, createEstimator().prompt('tenant', pair.facts).tokens));
  const { plain, long, tools } = judged(all);

  it('are all read by our parsers', () => {
    expect(read?.unread).toEqual([]);
  });

  it('without tools: 95 % within max(30 %, 12 tokens)', () => {
    expect(plain.length).toBeGreaterThan(80);
    expect(shareNear(plain)).toBeGreaterThanOrEqual(0.95);
  });

  it('without tools, above 100 tokens: median at most 8 %', () => {
    expect(median(long)).toBeLessThanOrEqual(0.08);
  });

  it('with tools: median at most 15 %', () => {
    expect(tools.length).toBeGreaterThan(50);
    expect(median(tools)).toBeLessThanOrEqual(0.15);
  });

  // The one: Qwen's template drops what earlier answers thought, `<think>` and all.
  it('lie above the lower bound, all but one', () => {
    const below = all.filter(({ facts, tokens }) => createEstimator().prompt('tenant', facts).lowerBoundTokens > tokens);
    expect(below.filter(({ media, opaque }) => !media && !opaque).length).toBeLessThanOrEqual(1);
  });
});

describe('a model whose tokenizer nobody told, after 200 requests', () => {
  const heldOut = JSON.parse(readFileSync(new URL('../../estimate/held-out.json', import.meta.url), 'utf8')) as HeldOut[];
  const texts = (mix: string) => heldOut.filter(({ kind }) => MIXES.find(([name]) => name === mix)![1](kind));

  it.each([
    ['gemma', 'everything'],
    ['o200k', 'everything'],
    ['gemma', 'English, code, JSON'],
    ['o200k', 'English, code, JSON'],
    ['llama', 'English, code, JSON'],
    ['qwen', 'English, code, JSON'],
  ])('%s, %s: p95 at most 15 % on texts that nothing was fitted on', (tokenizer, mix) => {
    const before = run(createEstimator(), trafficOf(texts(mix), 'house-model', tokenizer), false);
    const after = afterLearning(createEstimator, texts(mix), tokenizer, 'part');
    expect(quantile(after, 0.95)).toBeLessThanOrEqual(0.15);
    expect(quantile(after, 0.5)).toBeLessThan(0.05);
    expect(quantile(after, 0.95)).toBeLessThan(quantile(before, 0.95));
  });

  it.each([['house-model', 'gemma'], ['house-model', 'llama'], ['gpt-4o', 'o200k']])('tells how far off it may be: %s, in truth %s', (model, tokenizer) => {
    const estimator = createEstimator();
    const within = trafficOf(heldOut, model, tokenizer).map((truth) => {
      const { tokens, errorShare } = estimator.prompt('tenant', truth.facts);
      run(estimator, [truth], true);
      return Math.abs(tokens - truth.tokens) <= errorShare * tokens;
    });
    expect(within.filter(Boolean).length / within.length).toBeGreaterThan(0.93);
  });
});
