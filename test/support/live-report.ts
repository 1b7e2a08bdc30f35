import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../src/services/resolve.js';
import type { LiveRequest } from './live-load.js';
import { SERVICE_MS, type Run } from './live-protection.js';

const DOCUMENT = join(PROJECT_ROOT, 'docs', 'experiments.md');
const [BEGIN, END] = ['<!-- experiment 1 live -->', '<!-- /experiment 1 live -->'];

export interface LiveTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A figure a row, a run a column. */
export function liveTable(runs: readonly Run[]): LiveTable {
  const row = (what: string, target: string, of: (run: Run) => string): string[] => [what, target, ...runs.map(of)];
  const count = (of: (run: Run) => readonly LiveRequest[], outcome: LiveRequest['outcome']) => (run: Run): string => String(of(run).filter((request) => request.outcome === outcome).length);
  const spot = ({ spot: all }: Run): readonly LiveRequest[] => all;
  return {
    head: ['', 'target', ...runs.map(({ setup }) => setup.name)],
    rows: [
      row('guaranteed: asked', '', (run) => String(run.guaranteed.length)),
      row('refused, ended, failed', 'none', (run) => String(run.guaranteed.filter(({ outcome }) => outcome !== 'done').length)),
      row('latency P50', '', (run) => ms(quantile(latencies(run), 0.5))),
      row('latency P99', '1.2 s + transport', (run) => ms(quantile(latencies(run), 0.99))),
      row('of that, held P99', '0.15 s, where spot may be ended', (run) => ms(quantile(waits(run), 0.99))),
      row('transport P50, P99', '', (run) => `${ms(quantile(transports(run), 0.5))}, ${ms(quantile(transports(run), 0.99))}`),
      row('spot: asked', '', (run) => String(run.spot.length)),
      row('done', '', count(spot, 'done')),
      row('refused', '', count(spot, 'refused')),
      row('ended', '', count(spot, 'ended')),
      row('of these left at the upstream', '', ({ accounts }) => String(accounts.filter(({ upstream }) => upstream?.disconnected === true).length)),
      row('failed', 'none', count(spot, 'failed')),
      row('held', 'none', ({ spot: all, setup }) => (setup.baseline === null ? '–' : String(all.filter(({ waitedMs }) => waitedMs !== 0).length))),
      row('refused while it fits', 'none', (run) => String(run.refusedWhileFree)),
      row('refusal after P50, P99', 'at once', (run) => `${ms(quantile(refusalTimes(run), 0.5))}, ${ms(quantile(refusalTimes(run), 0.99))}`),
      row('part of what guaranteed leaves', '≥ 85 %, where none is ended', ({ spotPart }) => `${(spotPart * 100).toFixed(1)} %`),
      row('that part, by the time that slots were taken', '', ({ spotTime, setup }) => (setup.baseline === null ? '–' : `${(spotTime * 100).toFixed(1)} %`)),
      row('most at the upstream at one time', '16', ({ mostAtOnce }) => String(mostAtOnce)),
      row('done, and to the token in the ledger as at the upstream', 'all', ({ accounts }) => `${accounts.filter(isCounted).length} of ${accounts.filter(({ sent }) => sent.whole).length}`),
      row('load of the machine (2 cores)', '', ({ load }) => load.toFixed(1)),
    ],
  };
}

const isCounted = ({ sent, events, tooMuch }: Run['accounts'][number]): boolean => sent.whole && events.length === 1 && tooMuch.input === 0 && tooMuch.output === 0;

const latencies = ({ guaranteed }: Run): number[] => guaranteed.filter(({ outcome }) => outcome === 'done').map(({ startedAtMs, endedAtMs }) => endedAtMs - startedAtMs);
const refusalTimes = ({ spot }: Run): number[] => spot.filter(({ outcome }) => outcome === 'refused').map(({ startedAtMs, endedAtMs }) => endedAtMs - startedAtMs);

/** Of the guaranteed, as the answers tell it. */
export const waits = ({ guaranteed }: Run): number[] => guaranteed.map(({ waitedMs }) => waitedMs).filter((waitedMs) => !Number.isNaN(waitedMs));

/** What is neither service nor hold: Envoy, the processor, the client, and the machine. */
function transports({ guaranteed, setup }: Run): number[] {
  if (setup.baseline === null) return [];
  return guaranteed.filter(({ outcome }) => outcome === 'done').map(({ startedAtMs, endedAtMs, waitedMs }) => endedAtMs - startedAtMs - waitedMs - SERVICE_MS);
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

function ms(value: number): string {
  return Number.isNaN(value) ? '–' : `${(value / 1000).toFixed(3)} s`;
}

/** Puts the table between its marks in the document. @throws Error where it has no place for it. */
export async function writeLive({ head, rows }: LiveTable, seconds: number): Promise<void> {
  const text = await readFile(DOCUMENT, 'utf8');
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error('docs/experiments.md has no place for the live form of experiment 1');
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const table = [line(head), line(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...rows.map(line)].join('\n');
  const about = `Through a real Envoy and a processor, ${seconds} s of each; 16 slots, 0.85 s a request, demand 138 % of supply. Transport: what is neither service nor hold.`;
  await writeFile(DOCUMENT, `${text.slice(0, from + BEGIN.length)}\n\n${about}\n\n${table}\n\n${text.slice(to)}`);
}
