// Prints how good the estimates are that nothing was learned for yet, over recorded requests with their provider's own count.
// Usage: npm run prefill-table [-- FILE] [-- --each]; FILE is ../shared/prefill/pairs.jsonl where none is named.
import { createEstimator } from '../../src/estimate/estimator.js';
import { judged, measured, median, quantile, shareNear, type Measured } from './measures.js';
import { readPairs } from './pairs.js';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(8);

function row(name: string, all: readonly Measured[]): string {
  const errors = all.map(({ error }) => error);
  return `${name.padEnd(34)} ${String(all.length).padStart(4)} ${percent(quantile(errors, 0.5))} ${percent(quantile(errors, 0.95))} ${percent(shareNear(all))}`;
}

function groupOf({ provider, tools, media, opaque }: Measured): string {
  return `${provider}, ${tools ? 'tools' : 'no tools'}${media ? ', media' : ''}${opaque ? ', sealed' : ''}`;
}

function main(): void {
  const file = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? '../shared/prefill/pairs.jsonl';
  const read = readPairs(file);
  if (read === null) throw new Error(`${file} is missing: name a file of recorded requests, npm run prefill-table -- FILE (test/estimate/pairs.ts tells its fields)`);
  const all = read.pairs.map((pair) => measured(pair, createEstimator().prompt('tenant', pair.facts).tokens));
  if (process.argv.includes('--each')) {
    for (const one of all) console.log([groupOf(one).padEnd(36), one.model.padEnd(44), one.tokens, one.estimate, percent(one.error), one.facts.prompt.tools, one.facts.prompt.messages].join(' '));
  }
  console.log(`${'provider'.padEnd(34)}    n   median      p95   within max(30 %, 12 tokens)`);
  const groups = new Map<string, Measured[]>();
  for (const one of all) groups.set(groupOf(one), [...(groups.get(groupOf(one)) ?? []), one]);
  for (const [name, group] of [...groups].sort()) console.log(row(name, group));
  const { plain, long, tools } = judged(all);
  console.log(`\n${row('without tools', plain)}   target: 95 % within`);
  console.log(`${row('without tools, above 100 tokens', long)}   target: median 8 %`);
  console.log(`${row('with tools', tools)}   target: median 15 %`);
  console.log(`median without tools ${percent(median(plain))}; ${String(read.unread.length)} requests that no parser reads`);
  for (const line of read.unread) console.log(`  ${line}`);
}

main();
