// Prints what is learned of a model whose tokenizer nobody told: errors before, and after 200 requests, on other parts of the same
// documents and on other documents, of which many are in languages that were not seen; beside them what a known name would give.
// Usage: node test/estimate/run.mjs learning-table
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEstimator } from '../../src/estimate/estimator.js';
import { quantile } from './measures.js';
import { afterLearning, MIXES, run, trafficOf, type HeldOut } from './traffic.js';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(8);
const figures = (errors: readonly number[]): string => `${percent(quantile(errors, 0.5))} ${percent(quantile(errors, 0.95))}   `;
const NAMES: Readonly<Record<string, string>> = { gemma: 'gemma', llama: 'llama', qwen: 'qwen', o200k: 'gpt-4o' };

const all = JSON.parse(readFileSync(join('test', 'estimate', 'held-out.json'), 'utf8')) as HeldOut[];
console.log('tokenizer, traffic; texts; median and p95: before, after 200 (other parts), after 200 (other documents), known family');
for (const tokenizer of Object.keys(NAMES)) {
  for (const [name, kept] of MIXES) {
    const texts = all.filter(({ kind }) => kept(kind));
    const before = run(createEstimator(), trafficOf(texts, 'house-model', tokenizer), false);
    const known = run(createEstimator(), trafficOf(texts, NAMES[tokenizer]!, tokenizer), false);
    const after = (['part', 'half'] as const).map((by) => figures(afterLearning(createEstimator, texts, tokenizer, by)));
    console.log(`${`${tokenizer}, ${name}`.padEnd(28)} ${String(texts.length).padStart(4)} ${figures(before)}${after.join('')}${figures(known)}`);
  }
}
