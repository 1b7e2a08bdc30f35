// Prints what is learned of a model whose tokenizer nobody told: errors before, and after 200 requests, on texts of which neither
// the weights nor the learning has seen any. Usage: node test/estimate/run.mjs learning-table [--clones FOLDER]
import { createEstimator } from '../../src/estimate/estimator.js';
import { quantile } from './measures.js';
import { heldOutTraffic, run, type Truth } from './traffic.js';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(8);
const figures = (errors: readonly number[]): string => `${percent(quantile(errors, 0.5))} ${percent(quantile(errors, 0.95))}`;

/** What traffic consists of: everything, or what most tenants send. */
const MIXES: readonly (readonly [string, (kind: string) => boolean])[] = [
  ['everything', () => true],
  ['English, code, JSON', (kind) => / en$|^code|^json json|^made|^minified/.test(kind)],
  ['22 languages', (kind) => /^(markdown|prose)/.test(kind)],
];

async function main(): Promise<void> {
  const at = process.argv.indexOf('--clones');
  const clones = at < 0 ? null : (process.argv[at + 1] ?? null);
  console.log(`${'tokenizer, traffic'.padEnd(32)} requests  before: median, p95; after 200: other parts, other documents; known family`);
  for (const tokenizer of ['gemma', 'llama', 'qwen', 'o200k']) {
    const all = await heldOutTraffic('house-model', tokenizer, () => true, clones);
    for (const [name, kept] of MIXES) {
      const traffic = all.filter(({ kind }) => kept(kind));
      console.log(`${`${tokenizer}, ${name}`.padEnd(32)} ${String(traffic.length).padStart(6)}   ${figures(run(createEstimator(), traffic, false))}    ${figures(afterLearning(traffic, 'part'))} ${figures(afterLearning(traffic, 'half'))}    ${figures(run(createEstimator(), traffic.map((one) => named(one, tokenizer)), false))}`);
    }
  }
}

/** Learned from 200 requests with one half of the texts, judged on all of the other half; and the other way round. */
function afterLearning(traffic: readonly Truth[], by: 'part' | 'half'): number[] {
  return ([0, 1] as const).flatMap((half) => {
    const estimator = createEstimator();
    run(estimator, traffic.filter((one) => one[by] === half).slice(0, 200), true);
    return run(estimator, traffic.filter((one) => one[by] !== half), false);
  });
}

function named(truth: Truth, tokenizer: string): Truth {
  return { ...truth, facts: { ...truth.facts, model: tokenizer === 'o200k' ? 'gpt-4o' : tokenizer } };
}

await main();
