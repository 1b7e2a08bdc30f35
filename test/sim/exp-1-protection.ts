import { chart } from '../../src/sim/chart.js';
import type { SimRequest } from '../../src/sim/request.js';
import type { SimResult } from '../../src/sim/result.js';
import { runSimulation } from '../../src/sim/simulation.js';
import type { PolicyName, SimSpec } from '../../src/sim/spec.js';
import { poolOf, type EntitlementGiven } from './pool-of.js';
import { atLeast, atMost, highest, lowest, none, percent, seconds, told, whole, type Figure, type Options, type Report, type Table } from './report.js';
import { rateOf, SLOT_PER_SECOND, STEADY, steadyNode, steadyTenant } from './steady.js';

const DEMAND = 1.38;
const RECLAIM_MS = 1000;
const STREAM_MS = 60_000;

interface Setup {
  readonly slots: number;
  /** Of the supply, wanted by the guaranteed tenant. */
  readonly share: number;
  readonly preemptible: boolean;
  readonly policy: PolicyName;
  readonly seed: number;
  readonly durationMs: number;
}

interface Run {
  readonly result: SimResult;
  /** Spot refused although a slot was free and nobody waited; refused later than it came; held. */
  readonly refusedWhileFree: number;
  readonly refusedLate: number;
  readonly held: number;
}

/** Experiment 1: guaranteed tenants do not notice that demand is above supply; spot takes all that they leave. */
export function crossClassProtection({ short }: Options): Report {
  const seeds = short ? [1] : [1, 2, 3, 4, 5];
  const durationMs = short ? 120_000 : 300_000;
  const sizes = [16, 64].flatMap((slots) => [1 / 3, 1 / 2].map((share) => ({ slots, share })));
  const runs = (part: { slots: number; share: number }, preemptible: boolean, policy: PolicyName = 'tokenweir'): Run[] =>
    seeds.map((seed) => run({ ...part, preemptible, policy, seed, durationMs }));
  const plain = sizes.map((size) => ({ ...size, runs: runs(size, false) }));
  const ended = sizes.map((size) => ({ ...size, runs: runs(size, true) }));
  const compared = (['tokenweir', 'vtc', 'fcfs', 'static', 'none'] as const).map((policy) => ({ policy, runs: runs(sizes[1]!, false, policy) }));
  const borrowed = [true, false].map((preemptible) => ({ preemptible, runs: seeds.map((seed) => borrowedRun(preemptible, seed, short ? 240_000 : 900_000)) }));
  return {
    id: '1',
    title: 'Cross-class protection',
    figures: [
      ...plain.flatMap(({ slots, share, runs: all }) => plainFigures(`${slots} slots, guaranteed wants ${percent(share)}`, slots, all)),
      ...ended.flatMap(({ slots, share, runs: all }) => endedFigures(`${slots} slots, guaranteed wants ${percent(share)}, spot may be ended`, slots, all)),
      noneFigure(compared.at(-1)!.runs),
      ...borrowed.map(({ preemptible, runs: all }) => borrowedFigure(preemptible, all)),
    ],
    tables: [comparison(compared), borrowedTable(borrowed)],
    charts: [
      { name: '1-protection', title: '138 % of supply, 16 slots', svg: chart(plain[1]!.runs[0]!.result, 'Experiment 1: guaranteed wants half of 16 slots, spot the rest and more') },
      { name: '1-no-admission', title: 'The same arrivals without admission', svg: chart(compared.at(-1)!.runs[0]!.result, 'Experiment 1: the same arrivals without admission') },
    ],
  };
}

function run({ slots, share, preemptible, policy, seed, durationMs }: Setup): Run {
  const counts = { refusedWhileFree: 0, refusedLate: 0, held: 0 };
  // Plain: as much as it wants on average; else twice that.
  const baseline = { slots: Math.min(slots, Math.floor((preemptible ? 2 : 1) * share * slots)) };
  const entitlements: EntitlementGiven[] = [
    { id: 'guaranteed', serviceClass: 'guaranteed', baseline },
    { id: 'spot', serviceClass: 'spot', preemptible },
  ];
  const isSpot = (request: SimRequest): boolean => request.parts.entitlement.serviceClass === 'spot';
  const spec: SimSpec = {
    ...{ ...STEADY, seed, durationMs, policy, node: steadyNode(slots) },
    pool: poolOf({ capacity: { slots }, entitlements, prefillWeight: 0, reclaimMs: RECLAIM_MS }),
    tenants: [
      steadyTenant('guaranteed', { kind: 'poisson', perSecond: rateOf(share, slots) }),
      steadyTenant('spot', { kind: 'poisson', perSecond: rateOf(DEMAND - share, slots) }),
    ],
    observer: {
      refused: (request, _reason, now) => {
        if (!isSpot(request)) return;
        if (now.running < now.slots && now.waiting === 0) counts.refusedWhileFree++;
        if (request.endedMs > request.askedMs) counts.refusedLate++;
      },
      dispatched: (request) => void (isSpot(request) && request.dispatchedMs > request.askedMs && counts.held++),
    },
  };
  return { result: runSimulation(spec), ...counts };
}

/** Of what the slots could do beside the guaranteed tenant: the part that spot got, over all seeds. */
function spotTaken(runs: readonly Run[], slots: number): number {
  const sum = (tenant: number): number => runs.reduce((total, { result }) => total + result.tenants[tenant]!.servedPerSecond, 0);
  return sum(1) / (runs.length * slots * SLOT_PER_SECOND - sum(0));
}

function refusals({ result }: Run, tenant: number): number {
  return Object.values(result.tenants[tenant]!.refusals).reduce((sum, count) => sum + count, 0);
}

function plainFigures(name: string, slots: number, runs: readonly Run[]): Figure[] {
  return [
    none(`${name}: guaranteed refused`, highest(runs, (one) => refusals(one, 0))),
    atMost(`${name}: guaranteed latency P99`, highest(runs, ({ result }) => result.tenants[0]!.latencyMs.p99), 1200, seconds),
    none(`${name}: spot held, or refused later than at once`, highest(runs, (one) => one.held + one.refusedLate)),
    none(`${name}: spot refused while it fits`, highest(runs, (one) => one.refusedWhileFree)),
    atLeast(`${name}: spot's part of what guaranteed leaves`, spotTaken(runs, slots), slots === 16 ? 0.85 : 0.95, percent),
  ];
}

function endedFigures(name: string, slots: number, runs: readonly Run[]): Figure[] {
  const lost = (one: Run): number => one.result.tenants[1]!.endedStreams / (one.result.tenants[1]!.finished + one.result.tenants[1]!.endedStreams);
  return [
    none(`${name}: guaranteed refused`, highest(runs, (one) => refusals(one, 0))),
    atMost(`${name}: guaranteed wait P99`, highest(runs, ({ result }) => result.tenants[0]!.waitMs.p99), 150, seconds),
    told(`${name}: spot streams ended, of those begun`, percent(highest(runs, lost))),
    told(`${name}: spot's part of what guaranteed leaves`, percent(spotTaken(runs, slots))),
  ];
}

function noneFigure(runs: readonly Run[]): Figure {
  return atLeast('16 slots, no admission: guaranteed latency P99', lowest(runs, ({ result }) => result.tenants[0]!.latencyMs.p99), 19_000, seconds);
}

function comparison(compared: readonly { policy: PolicyName; runs: readonly Run[] }[]): Table {
  return {
    title: 'The same arrivals under each policy (16 slots, guaranteed wants half; seed 1). VTC and FCFS have the hold limits and bounds of the pool, and hold spot too.',
    head: ['policy', 'guaranteed P50', 'P99', 'guaranteed refused', 'spot P99', 'spot refused', 'spot part of the rest', 'slots used', 'most held'],
    rows: compared.map(({ policy, runs }) => {
      const { result } = runs[0]!;
      const [guaranteed, spot] = result.tenants;
      return [
        ...[policy, seconds(guaranteed!.latencyMs.p50), seconds(guaranteed!.latencyMs.p99), percent(refusals(runs[0]!, 0) / guaranteed!.requests), seconds(spot!.latencyMs.p99)],
        ...[percent(refusals(runs[0]!, 1) / spot!.requests), percent(spotTaken(runs, 16)), percent(result.pool.utilisation), whole(result.pool.waitingMax)],
      ];
    }),
  };
}

interface Borrowed {
  readonly result: SimResult;
  /** Waits of guaranteed requests that were within their baseline when they came, sorted. */
  readonly waits: readonly number[];
}

/** The guaranteed tenant's slots are lent to streams of 60 s whenever it leaves one for a moment. */
function borrowedRun(preemptible: boolean, seed: number, durationMs: number): Borrowed {
  const [slots, baseline] = [16, 8];
  const asked: SimRequest[] = [];
  const spec: SimSpec = {
    ...{ ...STEADY, seed, durationMs, policy: 'tokenweir', node: steadyNode(slots) },
    pool: poolOf({
      ...{ capacity: { slots }, prefillWeight: 0, reclaimMs: RECLAIM_MS, holdMs: { background: 3_600_000 } },
      entitlements: [
        { id: 'guaranteed', serviceClass: 'guaranteed', baseline: { slots: baseline } },
        { id: 'elastic', serviceClass: 'elastic', baseline: { slots: slots - baseline }, preemptible, defaultWork: 'background' },
      ],
    }),
    tenants: [
      // Comes and goes: while it is away, its baseline is lent.
      steadyTenant('guaranteed', { kind: 'bursts', onPerSecond: rateOf(3 / slots, slots), offPerSecond: 0, onSeconds: 20, offSeconds: 20 }),
      steadyTenant('elastic', { kind: 'closed', clients: 24, thinkSeconds: 0 }, { serviceMs: STREAM_MS, output: { kind: 'fixed', tokens: (SLOT_PER_SECOND * STREAM_MS) / 1000 } }),
    ],
    observer: { ended: (request) => void (request.parts.tenant === 0 && asked.push(request)) },
  };
  return { result: runSimulation(spec), waits: withinBaseline(asked, baseline) };
}

function withinBaseline(requests: readonly SimRequest[], baseline: number): number[] {
  const inTime = (at: SimRequest): number => requests.filter((other) => other.askedMs < at.askedMs && other.endedMs > at.askedMs).length;
  const within = requests.filter((request) => inTime(request) < baseline);
  // Who was refused waited until then.
  return within.map((request) => (Number.isNaN(request.dispatchedMs) ? request.endedMs : request.dispatchedMs) - request.askedMs).sort((a, b) => a - b);
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

function borrowedFigure(preemptible: boolean, runs: readonly Borrowed[]): Figure {
  const p99 = highest(runs, ({ waits }) => quantile(waits, 0.99));
  const name = `Baseline lent to elastic streams of ${STREAM_MS / 1000} s that may ${preemptible ? '' : 'not '}be ended: tier 0 wait P99`;
  return preemptible ? atMost(name, p99, RECLAIM_MS + 200, seconds) : told(name, `${seconds(p99)} (${percent(highest(runs, refusedShare))} refused by the hold limit)`);
}

function refusedShare({ result }: Borrowed): number {
  return 1 - result.tenants[0]!.finished / result.tenants[0]!.requests;
}

function borrowedTable(borrowed: readonly { preemptible: boolean; runs: readonly Borrowed[] }[]): Table {
  return {
    title: `Borrowed baselines (16 slots, 8 of them the guaranteed tenant's, which comes and goes and wants 3 on average while it is there; 24 clients with streams of ${STREAM_MS / 1000} s; worst of all seeds).`,
    head: ['streams', 'tier 0 wait P50', 'P90', 'P99', 'max', 'guaranteed latency P99', 'refused', 'elastic streams ended', 'slots used'],
    rows: borrowed.map(({ preemptible, runs }) => [
      preemptible ? 'may be ended' : 'may not be ended',
      ...[0.5, 0.9, 0.99, 1].map((share) => seconds(highest(runs, ({ waits }) => quantile(waits, share)))),
      seconds(highest(runs, ({ result }) => result.tenants[0]!.latencyMs.p99)),
      percent(highest(runs, refusedShare)),
      percent(highest(runs, ({ result }) => result.tenants[1]!.endedStreams / result.tenants[1]!.requests)),
      percent(lowest(runs, ({ result }) => result.pool.utilisation)),
    ]),
  };
}

