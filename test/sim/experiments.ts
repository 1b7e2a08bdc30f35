import { mkdir, readFile, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { textTable } from '../../src/sim/table.js';
import { crossClassProtection } from './exp-1-protection.js';
import { sloAwareShare } from './exp-2-slo-share.js';
import { fairnessBound } from './exp-3-fairness.js';
import { realTraffic } from './exp-4-traces.js';
import { severalProcessors } from './exp-5-processors.js';
import { largeReservations } from './exp-6-reservations.js';
import { scaling } from './exp-scaling.js';
import { markdownOf, type Options, type Report } from './report.js';

const EXPERIMENTS: Readonly<Record<string, (options: Options) => Report | Promise<Report>>> = {
  1: crossClassProtection,
  2: sloAwareShare,
  3: fairnessBound,
  4: realTraffic,
  5: severalProcessors,
  6: largeReservations,
  scaling,
};

const DOCUMENT = 'docs/experiments.md';
const CHARTS = 'docs/charts';

/** Usage: node test/sim/run.mjs experiments [--short] [1 … 6, scaling]. Runs those that are named, or all; in full, each writes its part of the document and its charts. */
async function runExperiments(args: readonly string[]): Promise<void> {
  const short = args.includes('--short');
  const named = args.filter((arg) => arg in EXPERIMENTS);
  for (const id of named.length > 0 ? named : Object.keys(EXPERIMENTS)) {
    const startedMs = Date.now();
    const report = await EXPERIMENTS[id]!({ short });
    process.stdout.write(`${textOf(report)}\n(${((Date.now() - startedMs) / 1000).toFixed(1)} s)\n\n`);
    if (!short && report.skipped === undefined) await write(report);
  }
}

function textOf(report: Report): string {
  const { id, title, figures, tables, skipped } = report;
  if (skipped !== undefined) return `Experiment ${id}: ${title}\nnot run: ${skipped}`;
  const rows = figures.map(({ what, target, measured, met }) => [what, target, measured, met === null ? '' : met ? 'met' : 'MISSED']);
  const more = tables.map((table) => `${table.title}\n${textTable(table.head, table.rows)}`);
  return [`Experiment ${id}: ${title}`, textTable(['figure', 'target', 'measured', ''], rows), ...more].join('\n\n');
}

/** What stands between the marks of an experiment is replaced; the words around it are by hand. */
async function write(report: Report): Promise<void> {
  const text = await readFile(DOCUMENT, 'utf8');
  const [begin, end] = [`<!-- experiment ${report.id} -->`, `<!-- /experiment ${report.id} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${DOCUMENT} has no place for experiment ${report.id}`);
  await mkdir(CHARTS, { recursive: true });
  await writeFile(DOCUMENT, `${text.slice(0, from + begin.length)}\n\n${markdownOf(report)}\n\n${text.slice(to)}`);
  for (const { name, svg } of report.charts) await writeFile(`${CHARTS}/${name}.svg`, svg);
}

await runExperiments(process.argv.slice(2));
