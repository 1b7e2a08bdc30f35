import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { chart } from '../../src/sim/chart.js';
import type { BatchingSpec } from '../../src/sim/engine.js';
import { ENGINE_PRESETS } from '../../src/sim/engine-presets.js';
import { requestsPerSecond } from '../../src/sim/engine-throughput.js';
import { LEARNING } from '../../src/sim/estimates.js';
import { Samples } from '../../src/sim/measures.js';
import type { SimResult } from '../../src/sim/result.js';
import { runSimulation } from '../../src/sim/simulation.js';
import type { PolicyName, SimSpec, TenantSpec } from '../../src/sim/spec.js';
import { readTrace, type TraceRow } from '../../src/sim/trace.js';
import { poolOf, type EntitlementGiven } from './pool-of.js';
import { atLeast, atMost, percent, ratio, seconds, told, whole, type Figure, type Options, type Report, type Table } from './report.js';

const FOLDER = '../shared/traces';
const NODES = 4;
const LOADS = [1, 1.3, 2];
/** λ of the pool, of what the engine's parameters give: a little less, so that requests wait at the gate and not for their prefill. */
const PACE = 0.9;
/** Slots and KV cache of a guaranteed baseline, beside its part of λ: more is reserved than is used, and requests come in bunches. */
const ASSURED_ROOM = 1.6;
const HOLD_MS = { interactive: 30_000, background: 300_000 };
/** Background work that is begun within its hold limit is in time; a minute is for its prefill. */
const BATCH_SLO_MS = HOLD_MS.background + 60_000;
/** Above what background work can make wait within its hold limit. */
const MAX_WAITING = 5000;
/** Thousands wait: half of what a lease lasts is often enough. */
const RENEW_MS = 5000;
const POLICIES = ['tokenweir', 'fcfs'] as const;
/** The others, at this load. */
const OTHERS = { load: 1.3, policies: ['vtc', 'static'] as const };

interface Source {
  readonly name: string;
  readonly file: string;
  readonly node: BatchingSpec;
  /** Time to first token that interactive tenants want: long prompts take seconds of prefill by themselves. */
  readonly sloMs: number;
}

const ONE = ENGINE_PRESETS['a100-13b'];
const LONG_CONTEXT = { kvTokens: 8 * ONE.kvTokens, perKvTokenMs: ONE.perKvTokenMs / 8, prefillTokensPerSecond: 4 * ONE.prefillTokensPerSecond, maxBatchedTokens: 4 * ONE.maxBatchedTokens };

export const SOURCES: readonly Source[] = [
  { name: 'Azure conversation', file: 'AzureLLMInferenceTrace_conv.csv', node: ENGINE_PRESETS['a100-13b'], sloMs: 2000 },
  // Prompts of up to 126,000 tokens need a model with a smaller KV cache a token (grouped attention: an eighth, so that eight times as much
  // fits), and a node of several GPUs: with one, the long prompts alone take longer than anybody waits.
  { name: 'Mooncake conversation', file: 'mooncake_conversation_trace.jsonl', node: { ...ENGINE_PRESETS['a100-13b'], ...LONG_CONTEXT }, sloMs: 10_000 },
];

/** A group of equal tenants; `share`: of all rows. */
interface Group {
  readonly id: string;
  readonly count: number;
  readonly share: number;
  readonly serviceClass: EntitlementGiven['serviceClass'];
  readonly work: 'interactive' | 'background';
  /** Baselines of the group, of the capacity. */
  readonly baseline: number;
}

/** 20 tenants: who the rows of a trace belong to, since traces do not tell. At twice the capacity interactive tenants want three quarters of their baselines, on average. */
export const GROUPS: readonly Group[] = [
  { id: 'guaranteed', count: 4, share: 0.15, serviceClass: 'guaranteed', work: 'interactive', baseline: 0.4 },
  { id: 'elastic', count: 8, share: 0.15, serviceClass: 'elastic', work: 'interactive', baseline: 0.4 },
  { id: 'batch', count: 6, share: 0.45, serviceClass: 'elastic', work: 'background', baseline: 0.1 },
  { id: 'spot', count: 2, share: 0.25, serviceClass: 'spot', work: 'background', baseline: 0 },
];

interface Run {
  readonly load: number;
  readonly policy: PolicyName;
  readonly result: SimResult;
}

/** Experiment 4: recorded traffic, at and above capacity. */
export async function realTraffic({ short }: Options): Promise<Report> {
  const about = { id: '4', title: 'Real traffic' };
  const missing = SOURCES.filter(({ file }) => !existsSync(`${FOLDER}/${file}`));
  if (missing.length > 0) return { ...about, figures: [], tables: [], charts: [], skipped: `the traces are missing (${missing.map(({ file }) => file).join(', ')})` };
  const traces = await Promise.all(SOURCES.map(async (source) => ({ ...source, rows: rowsOf(await readFile(`${FOLDER}/${source.file}`, 'utf8'), source, short) })));
  const loads = short ? [2] : LOADS;
  const policiesAt = (load: number): readonly PolicyName[] => (!short && load === OTHERS.load ? [...POLICIES, ...OTHERS.policies] : POLICIES);
  const measured = traces.map((source) => ({
    ...source,
    runs: loads.flatMap((load) => policiesAt(load).map((policy): Run => ({ load, policy, result: runSimulation(specOf(source, source.rows, load, policy)) }))),
  }));
  return {
    ...about,
    figures: measured.flatMap(({ name, runs }) => loads.flatMap((load) => figuresOf(`${name}, ${load.toFixed(1)} × capacity`, runs.filter((run) => run.load === load)))),
    tables: measured.map(({ name, runs }) => tableOf(name, runs)),
    charts: measured.flatMap(({ name, runs }, i) =>
      (['tokenweir', 'fcfs'] as const).map((policy) => {
        const { result, load } = runs.filter((run) => run.policy === policy).at(-1)!;
        return { name: `4-traces-${i + 1}-${policy}`, title: `${name}, ${policy}`, svg: chart(result, `Experiment 4: ${name} at ${load.toFixed(1)} × capacity, ${policy}`) };
      }),
    ),
  };
}

/** The short form takes the first part of a trace. Mooncake's prefixes are looked up in a cache of 4 million tokens. */
export function rowsOf(text: string, { node }: Source, short: boolean): readonly TraceRow[] {
  const { rows } = readTrace(text, 4_000_000);
  const fitting = rows.filter(({ promptTokens, outputTokens }) => promptTokens + outputTokens < (node.kvTokens ?? Infinity) / 2);
  return short ? fitting.slice(0, Math.floor(fitting.length / 6)) : fitting;
}

export function specOf({ node, sloMs }: Source, rows: readonly TraceRow[], load: number, policy: PolicyName): SimSpec {
  const mean = (of: (row: TraceRow) => number): number => rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
  const request = { promptTokens: mean((row) => row.promptTokens), uncachedTokens: mean((row) => row.promptTokens - row.cachedTokens), outputTokens: mean((row) => row.outputTokens) };
  // A token of prompt beside one of output: time of prefill over a step's time for one of a full batch.
  const kvEach = request.promptTokens + request.outputTokens / 2;
  const batch = Math.min(node.slots, (node.kvTokens ?? Infinity) / kvEach);
  const stepMs = node.stepMs + node.perSequenceMs * batch + node.perKvTokenMs * batch * kvEach;
  const prefillWeight = 1000 / node.prefillTokensPerSecond / (stepMs / batch);
  const perSecond = requestsPerSecond(node, request) * NODES;
  const capacity = perSecond * (request.outputTokens + prefillWeight * request.uncachedTokens);
  const traceMs = rows.at(-1)!.atMs;
  const rateFactor = (load * perSecond) / (rows.length / (traceMs / 1000));
  const durationMs = Math.floor(traceMs / rateFactor);
  return {
    ...{ seed: 1, policy, durationMs, rateFactor, node, nodes: NODES, trace: rows, processors: [LEARNING], warmupMs: durationMs / 20, renewMs: RENEW_MS },
    pool: poolOf({
      ...{ prefillWeight, kvBytesPerToken: 1, holdMs: HOLD_MS, maxWaiting: MAX_WAITING, maxWaitingBytes: 2 ** 33, capacity: { slots: node.slots * NODES, kvBytes: (node.kvTokens ?? 0) * NODES, tokensPerSecond: PACE * capacity } },
      entitlements: GROUPS.flatMap((group) => entitlementsOf(group, sloMs, capacity, node)),
    }),
    tenants: GROUPS.flatMap(tenantsOf),
  };
}

function namesOf({ id, count }: Group): string[] {
  return Array.from({ length: count }, (_, i) => `${id} ${i + 1}`);
}

function entitlementsOf(group: Group, sloMs: number, capacity: number, node: BatchingSpec): EntitlementGiven[] {
  const { serviceClass, work, baseline, count } = group;
  const each = baseline / count;
  const tier0 = serviceClass === 'guaranteed' ? { slots: Math.floor(ASSURED_ROOM * each * node.slots * NODES), kvBytes: Math.floor(ASSURED_ROOM * each * (node.kvTokens ?? 0) * NODES) } : {};
  return namesOf(group).map((id) => ({
    ...{ id, serviceClass, defaultWork: work, sloMs: work === 'interactive' ? sloMs : BATCH_SLO_MS },
    baseline: serviceClass === 'spot' ? {} : { tokensPerSecond: each * capacity, ...tier0 },
  }));
}

function tenantsOf(group: Group): TenantSpec[] {
  const fixed = { kind: 'fixed', tokens: 1 } as const;
  return namesOf(group).map((id) => ({ id, arrivals: { kind: 'trace', weight: group.share / group.count }, prompt: fixed, output: fixed }));
}

function interactive({ result }: Run): SimResult['tenants'] {
  const names = new Set(GROUPS.filter(({ work }) => work === 'interactive').flatMap(namesOf));
  return result.tenants.filter(({ id }) => names.has(id));
}

/** Percentile of the times to first token of some tenants together. */
function ttft(tenants: SimResult['tenants'], share: number): number {
  const all = new Samples();
  for (const { samples } of tenants) for (let i = 1; i <= samples.ttftMs.count; i++) all.add(samples.ttftMs.quantile(i / samples.ttftMs.count));
  return all.quantile(share);
}

function refused(tenants: SimResult['tenants']): number {
  const sum = (of: (tenant: SimResult['tenants'][number]) => number): number => tenants.reduce((total, tenant) => total + of(tenant), 0);
  return sum(({ requests, finished }) => requests - finished) / sum(({ requests }) => requests);
}

function figuresOf(name: string, runs: readonly Run[]): Figure[] {
  const [own, fcfs] = (['tokenweir', 'fcfs'] as const).map((policy) => runs.find((run) => run.policy === policy)!);
  const ownP99 = ttft(interactive(own!), 0.99);
  // Where it serves nobody in time, they all waited for as long as they may.
  const served = ttft(interactive(fcfs!), 0.99);
  const fcfsP99 = Number.isNaN(served) ? HOLD_MS.interactive : served;
  return [
    { ...atMost(`${name}: interactive TTFT P99`, ownP99, fcfsP99 / 4, seconds), target: `≤ ¼ of FCFS’s ${seconds(fcfsP99)}` },
    { ...atLeast(`${name}: goodput, of FCFS’s`, own!.result.pool.goodputPerSecond / fcfs!.result.pool.goodputPerSecond, 1, ratio) },
    told(`${name}: interactive requests refused (FCFS)`, `${percent(refused(interactive(own!)))} (${percent(refused(interactive(fcfs!)))})`),
  ];
}

function tableOf(name: string, runs: readonly Run[]): Table {
  return {
    title: `${name}, 20 tenants. Shares are of requests; goodput is work a second that finished within the SLO.`,
    head: ['load', 'policy', 'interactive TTFT P50', 'P99', 'refused', ...GROUPS.map(({ id }) => `${id}: within SLO`), 'goodput/s', 'served/s', 'preemptions'],
    rows: runs.map((run) => {
      const { pool, tenants } = run.result;
      const people = interactive(run);
      const within = GROUPS.map((group) => {
        const own = tenants.filter(({ id }) => namesOf(group).includes(id));
        const requests = own.reduce((sum, tenant) => sum + tenant.requests, 0);
        return percent(own.reduce((sum, { sloShare, requests: all }) => sum + (all > 0 ? sloShare * all : 0), 0) / requests);
      });
      return [run.load.toFixed(1), run.policy, seconds(ttft(people, 0.5)), seconds(ttft(people, 0.99)), percent(refused(people)), ...within, whole(pool.goodputPerSecond), whole(pool.servedPerSecond), whole(pool.preemptions)];
    }),
  };
}
