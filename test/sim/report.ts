import type { SimResult } from '../../src/sim/result.js';

/** A figure that was asked for. `met` is null where there is no target: it is only told. */
export interface Figure {
  readonly what: string;
  readonly target: string;
  readonly measured: string;
  readonly met: boolean | null;
}

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Chart {
  /** Of the file, without its ending. */
  readonly name: string;
  readonly title: string;
  readonly svg: string;
}

/** What one experiment comes to. */
export interface Report {
  readonly id: string;
  readonly title: string;
  readonly figures: readonly Figure[];
  readonly tables: readonly Table[];
  readonly charts: readonly Chart[];
  /** Why it could not be run. */
  readonly skipped?: string;
}

export interface Options {
  /** The form that CI runs: fewer seeds, less time. */
  readonly short: boolean;
}

type Format = (value: number) => string;

export const percent: Format = (value) => (Number.isFinite(value) ? `${(value * 100).toFixed(1)} %` : '–');
/** Milliseconds as seconds. */
export const seconds: Format = (ms) => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(ms < 10_000 ? 3 : 1)} s` : '–');
export const whole: Format = (value) => (Number.isFinite(value) ? String(Math.round(value)) : '–');
export const ratio: Format = (value) => (Number.isFinite(value) ? value.toFixed(3) : '–');

export function atMost(what: string, value: number, limit: number, format: Format): Figure {
  return { what, target: `≤ ${format(limit)}`, measured: format(value), met: value <= limit };
}

export function atLeast(what: string, value: number, limit: number, format: Format): Figure {
  return { what, target: `≥ ${format(limit)}`, measured: format(value), met: value >= limit };
}

export function none(what: string, count: number): Figure {
  return { what, target: 'none', measured: whole(count), met: count === 0 };
}

export function told(what: string, measured: string): Figure {
  return { what, target: '', measured, met: null };
}

/** The one with the largest value: the worst run of several seeds. */
export function highest<T>(of: readonly T[], value: (item: T) => number): number {
  return of.reduce((most, item) => Math.max(most, value(item)), -Infinity);
}

export function lowest<T>(of: readonly T[], value: (item: T) => number): number {
  return of.reduce((least, item) => Math.min(least, value(item)), Infinity);
}

/** Values of a series within a time, of one tenant: their sum. */
export function served(result: SimResult, tenant: number, fromMs: number, toMs: number): number {
  const { values, stepMs } = result.series.served[tenant]!;
  let sum = 0;
  for (let i = Math.ceil(fromMs / stepMs); i < Math.floor(toMs / stepMs) && i < values.length; i++) sum += values[i]!;
  return sum;
}

/** Least sum of a tenant over any window of that length that begins at a point of the series. */
export function leastOver(result: SimResult, tenant: number, windowMs: number, fromMs: number, toMs: number): number {
  const { stepMs } = result.series;
  let least = Infinity;
  for (let at = fromMs; at + windowMs <= toMs; at += stepMs) least = Math.min(least, served(result, tenant, at, at + windowMs));
  return least;
}

/** Figures and tables as Markdown. */
export function markdownOf(report: Report): string {
  if (report.skipped !== undefined) return `Not run: ${report.skipped}.`;
  const figures = markdownTable(['figure', 'target', 'measured', ''], report.figures.map(({ what, target, measured, met }) => [what, target, measured, met === null ? '' : met ? 'met' : '**missed**']));
  const tables = report.tables.map(({ title, head, rows }) => `${title}\n\n${markdownTable(head, rows)}`);
  const charts = report.charts.map(({ name, title }) => `![${title}](charts/${name}.svg)`);
  return [figures, ...tables, ...charts].join('\n\n');
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...rows.map(line)].join('\n');
}
