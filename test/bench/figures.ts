import type { Measured } from './load.js';
import type { Options } from './options.js';
import type { Answer } from './payloads.js';
import { cpuMs, residentMiB } from './process-use.js';
import { median, type Row } from './report.js';
import type { Rig, Way } from './rig.js';

type Figure = (rig: Rig, options: Options) => Promise<Row[]>;

const SMALL_BYTES = 1024;
/** About 100,000 tokens. */
const BIG_BYTES = 400_000;
const CONNECTIONS = 16;
const JSON_ANSWER: Answer = { kind: 'json' };

interface Round extends Measured {
  /** CPU of the processor per request, in milliseconds. */
  readonly cpuMsPerRequest: number;
  /** Messages that the processor was sent. */
  readonly messages: number;
}

/** One round of closed load through a way. */
async function closed(rig: Rig, way: Way, load: { bodyBytes?: number; answer?: Answer; connections?: number; forMs?: number; requests?: number }): Promise<Round> {
  const { bodyBytes = SMALL_BYTES, answer = JSON_ANSWER, connections = CONNECTIONS, forMs = null, requests = null } = load;
  const [messages, usedMs] = [await rig.messages(way), way === 'none' ? 0 : cpuMs(rig.pid[way])];
  const measured = await rig.run({ kind: 'closed', port: rig.port[way], connections, bodyBytes, answer, forMs, requests });
  const cpuMsPerRequest = way === 'none' ? 0 : (cpuMs(rig.pid[way]) - usedMs) / measured.requests;
  return { ...measured, cpuMsPerRequest, messages: (await rig.messages(way)) - messages };
}

/** Rounds of each way by turns, A B A B …, each begun by another so that none is always first. */
async function byTurns<W extends Way, T>(ways: readonly W[], rounds: number, round: (way: W) => Promise<T>): Promise<Record<W, T[]>> {
  const results = Object.fromEntries(ways.map((way) => [way, [] as T[]])) as Record<W, T[]>;
  for (let i = 0; i < rounds; i++) {
    const first = i % ways.length;
    for (const way of [...ways.slice(first), ...ways.slice(0, first)]) results[way].push(await round(way));
    process.stderr.write('.');
  }
  process.stderr.write('\n');
  return results;
}

/** The median of the ratios of rounds that were run one after the other. */
function pairedRatio<T>({ ours, noop }: Record<'ours' | 'noop', T[]>, of: (round: T) => number) {
  return {
    ours: median(ours.map(of)),
    noop: median(noop.map(of)),
    value: median(ours.map((round, i) => of(round) / of(noop[i]!))),
  };
}

const perSecond = (count: number, { elapsedMs }: Measured): number => (count * 1000) / elapsedMs;

/** Until the engine has compiled what matters: a program of many functions needs tens of thousands of calls for that. */
async function warmUp(rig: Rig, ways: readonly Way[], answer: Answer, requests: number): Promise<void> {
  for (const way of ways) await closed(rig, way, { answer, requests });
}

const decision: Figure = async (rig, { rounds, roundMs, quick, redis }) => {
  await warmUp(rig, ['noop', 'ours'], JSON_ANSWER, quick ? 500 : 20_000);
  const results = await byTurns(['noop', 'ours'], rounds, (way) => closed(rig, way, { forMs: roundMs }));
  return [
    { figure: '1 full decision: requests/s', unit: '/s', ...pairedRatio(results, (round) => perSecond(round.requests, round)), target: { atLeast: redis ? 0.6 : 0.75 }, note: failures(results.ours) },
    { figure: '1 full decision: CPU/request', unit: 'us', ...pairedRatio(results, (round) => round.cpuMsPerRequest * 1000), target: { atMost: 1.9 } },
  ];
};

const streams: Figure = async (rig, { rounds, roundMs, quick }) => {
  const answer: Answer = { kind: 'stream', events: 50, everyMs: 1 };
  await warmUp(rig, ['noop', 'ours'], answer, quick ? 50 : 1_000);
  const results = await byTurns(['noop', 'ours'], rounds, (way) => closed(rig, way, { answer, forMs: roundMs }));
  // Envoy joins what it reads at once, so a slow processor gets fewer chunks for the same events: the stricter one counts.
  const events = pairedRatio(results, (round) => perSecond(round.events, round));
  const chunks = pairedRatio(results, (round) => perSecond(round.messages, round));
  const figures = events.value < chunks.value ? events : chunks;
  const note = `events ${events.value.toFixed(2)}, messages ${chunks.value.toFixed(2)}; ${(median(results.ours.map((round) => round.messages / round.requests))).toFixed(0)} messages a stream`;
  return [{ figure: '2 streams of 50 events: chunks/s', unit: '/s', ...figures, target: { atLeast: 0.8 }, note }];
};

const oneAtATime: Figure = async (rig, { rounds, roundMs, quick }) => {
  const ways = ['none', 'noop', 'ours'] as const;
  for (const way of ways) await closed(rig, way, { connections: 1, forMs: quick ? 300 : 1500 });
  const results = await byTurns(ways, rounds, (way) => closed(rig, way, { connections: 1, forMs: roundMs / 2 }));
  return [{ figure: '3 one at a time: added p50', ...added(results, ({ p50Ms }) => p50Ms), target: { atMost: 1.3 } }];
};

/** Answers that were not 200, as a remark; undefined where all were. */
function failures(rounds: readonly Measured[]): string | undefined {
  const failed = rounds.reduce((sum, { statuses }) => sum + Object.entries(statuses).reduce((all, [status, count]) => all + (status === '200' ? 0 : count), 0), 0);
  return failed === 0 ? undefined : `${failed} answers were not 200`;
}

function notes(...parts: (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join('; ');
}

/** What each adds to a way without the filter. */
function added(results: Record<Way, Measured[]>, of: (round: Measured) => number) {
  const each = (way: Way): number => median(results[way].map(of));
  const [none, noop, ours] = [each('none'), each('noop') - each('none'), each('ours') - each('none')];
  return { unit: 'ms', ours, noop, value: ours / noop, note: `without filter ${none.toFixed(2)} ms` };
}

const besideBigPrompts: Figure = async (rig, { rounds, roundMs, quick }) => {
  const ways = ['none', 'noop', 'ours'] as const;
  const load = { kind: 'streams', streams: quick ? 100 : 500, everyMs: 50, warmMs: 1000, bigBodyBytes: BIG_BYTES, bigEveryMs: 200 } as const;
  const round = (way: Way, forMs: number) => rig.run({ ...load, port: rig.port[way], forMs });
  for (const way of ways) await round(way, quick ? 500 : 3_000);
  const results = await byTurns(ways, rounds, (way) => round(way, roundMs));
  const perSec = (way: Way): string => median(results[way].map((round) => perSecond(round.events, round))).toFixed(0);
  const row = added(results, ({ p99Ms }) => p99Ms);
  const note = notes(row.note, `events/s ${perSec('none')}, ${perSec('noop')}, ${perSec('ours')}`, failures([...results.noop, ...results.ours]));
  return [{ figure: '4 500 streams + big prompts: added gap p99', ...row, note, target: { atMost: 1.5 } }];
};

const bigPrompt: Figure = async (rig, { rounds, quick }) => {
  const send = (way: Way, requests: number) => closed(rig, way, { bodyBytes: BIG_BYTES, connections: 1, requests });
  for (const way of ['noop', 'ours'] as const) await send(way, quick ? 10 : 50);
  const results = await byTurns(['noop', 'ours'], rounds, (way) => send(way, quick ? 10 : 40));
  const each = pairedRatio(results, ({ cpuMsPerRequest }) => cpuMsPerRequest);
  return [{ figure: '5 100,000-token prompt: CPU', unit: 'ms', ours: each.ours, noop: each.noop, value: each.ours, target: { atMost: 20 } }];
};

const openStreams: Figure = async (rig, { quick }) => {
  const count = quick ? 400 : 2_000;
  const resident: number[] = [];
  for (const way of ['noop', 'ours'] as const) {
    await rig.run({ kind: 'hold', port: rig.port[way], streams: count, everyMs: 2_000 });
    await pause(quick ? 1_000 : 10_000);
    resident.push(residentMiB(rig.pid[way]));
    await rig.run({ kind: 'release' });
    await pause(1_000);
  }
  const [noop, ours] = resident as [number, number];
  return [{ figure: `6 ${count} open streams: resident`, unit: 'MiB', ours, noop, value: ours, target: { atMost: 250 } }];
};

const many: Figure = async (rig, { quick }) => {
  const half = quick ? 5_000 : 50_000;
  const first = await closed(rig, 'ours', { requests: half });
  const afterHalf = residentMiB(rig.pid.ours);
  const second = await closed(rig, 'ours', { requests: half });
  const atEnd = residentMiB(rig.pid.ours);
  await pause(500);
  const failed = [first, second].reduce((sum, { requests, statuses }) => sum + requests - (statuses['200'] ?? 0), 0);
  const figure = `7 ${half * 2} requests`;
  return [
    { figure: `${figure}: not answered by 200`, unit: '', ours: failed, noop: null, value: failed, target: { atMost: 0 } },
    { figure: `${figure}: leases left`, unit: '', ours: await rig.leases(), noop: null, value: await rig.leases(), target: { atMost: 0 } },
    { figure: `${figure}: memory, end / half`, unit: 'MiB', ours: atEnd, noop: afterHalf, value: atEnd / afterHalf, target: { atMost: 1.1 }, note: 'the second column is at half' },
  ];
};

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}

/** All figures of the bench, by number. */
export const FIGURES: ReadonlyMap<number, Figure> = new Map([
  [1, decision],
  [2, streams],
  [3, oneAtATime],
  [4, besideBigPrompts],
  [5, bigPrompt],
  [6, openStreams],
  [7, many],
]);
