import { readdir } from 'node:fs/promises';
import type { Figure } from './micro/figure.js';

const RUNS = 9;
const WARM_UP_RUNS = 3;
const DIGITS: Readonly<Record<Figure['unit'], number>> = { 'MB/s': 0, ms: 3, 'µs': 0, '× GET': 2, '×': 2, MB: 0 };

interface Module {
  readonly figures?: readonly Figure[];
}

/** Measures what `micro/` holds, each figure some times in one process, and prints the medians. `only`: files with this in their name. */
async function main(only: string): Promise<void> {
  const folder = new URL('./micro/', import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.endsWith('.js') && file.includes(only)).sort();
  for (const file of files) {
    const { figures = [] } = (await import(new URL(file, folder).href)) as Module;
    for (const figure of figures) console.log(lineOf(figure, await medianOf(figure)));
  }
}

async function medianOf({ run, once = false }: Figure): Promise<number> {
  if (once) return run();
  for (let i = 0; i < WARM_UP_RUNS; i++) await run();
  const values: number[] = [];
  for (let i = 0; i < RUNS; i++) values.push(await run());
  return values.sort((a, b) => a - b)[Math.floor(RUNS / 2)] ?? NaN;
}

function lineOf({ name, unit, target }: Figure, median: number): string {
  const met = unit === 'MB/s' ? median >= target : median <= target;
  const shown = median.toFixed(DIGITS[unit]).padStart(8);
  return `${name.padEnd(70)} ${shown} ${unit.padEnd(5)} target ${unit === 'MB/s' ? '≥' : '≤'} ${target}  ${met ? 'met' : 'MISSED'}`;
}

await main(process.argv[2] ?? '');
