import { chart } from '../../src/sim/chart.js';
import { EXACT, type EstimateSpec } from '../../src/sim/estimates.js';
import type { SimResult } from '../../src/sim/result.js';
import { runSimulation } from '../../src/sim/simulation.js';
import type { PolicyName, PoolChange, SimSpec } from '../../src/sim/spec.js';
import { poolOf } from './pool-of.js';
import { atLeast, atMost, highest, leastOver, lowest, percent, ratio, seconds, served, told, whole, type Figure, type Options, type Report, type Table } from './report.js';
import { rateOf, SERVICE_MS, SLOT_PER_SECOND, STEADY, steadyNode, steadyTenant, WORK } from './steady.js';

const SLOTS = 32;
const CAPACITY = SLOTS * SLOT_PER_SECOND;
const HALVED_AT_MS = 120_000;
const RECOVERS_AT_MS = 240_000;
const END_MS = 480_000;
const LONG_MS = 600_000;
const TAU_MS = 30_000;
const DEBT_SECONDS = 4;
const BASELINE = CAPACITY / 2;
/** Each tenant's share of the halved capacity, by their baselines. */
const FAIR = CAPACITY / 4;
const [A, B] = [0, 1];

export interface SharedRun {
  readonly policy?: PolicyName;
  readonly seed: number;
  /** Of the halved capacity. */
  readonly wantsA: number;
  readonly wantsB?: number;
  readonly estimates?: EstimateSpec;
  /** KV cache as a multiple of what full slots truly take; default: never the bound. */
  readonly kv?: number;
  /** How long the shortage is; default 2 min, with 4 min after it. */
  readonly shortageMs?: number;
  readonly halved?: 'slot by slot' | 'at once' | 'not';
}

/**
 * Slot by slot, within one service time. With constant service, slots that are taken away at one moment leave the others in step: all of them
 * become free in the same half of each 0.85 s, until the shortage is over.
 */
function changesOf(halved: SharedRun['halved'], recoversAtMs: number): PoolChange[] {
  if (halved === 'not') return [];
  const half = SLOTS / 2;
  const steps = halved === 'at once' ? [half] : [...Array(half).keys()].map((i) => i + 1);
  const lost = steps.map((step): PoolChange => ({ kind: 'slots', atMs: HALVED_AT_MS + (SERVICE_MS * (step - steps[0]!)) / half, node: 0, slots: SLOTS - step }));
  return [...lost, { kind: 'slots', atMs: recoversAtMs, node: 0, slots: SLOTS }];
}

/** Two elastic tenants with an SLO of 500 ms (A) and 30 s (B), whose pool runs with half of its capacity for two minutes. */
export function sharedRun(given: SharedRun): SimResult {
  return runSimulation(sharedSpec(given));
}

export function sharedSpec({ policy = 'tokenweir', seed, wantsA, wantsB = 1.5, estimates = EXACT, kv, shortageMs = RECOVERS_AT_MS - HALVED_AT_MS, halved = 'slot by slot' }: SharedRun): SimSpec {
  const kvEach = WORK + 1;
  return {
    ...{ ...STEADY, seed, policy, durationMs: HALVED_AT_MS + shortageMs + (END_MS - RECOVERS_AT_MS), sampleMs: 1000, node: steadyNode(SLOTS), processors: [estimates] },
    pool: poolOf({
      ...{ prefillWeight: 0, kvBytesPerToken: 1, capacity: { tokensPerSecond: CAPACITY, slots: SLOTS, kvBytes: kv === undefined ? null : Math.ceil(kv * kvEach * SLOTS) } },
      entitlements: [
        { id: 'A (500 ms)', serviceClass: 'elastic', sloMs: 500, baseline: { tokensPerSecond: BASELINE } },
        { id: 'B (30 s)', serviceClass: 'elastic', sloMs: 30_000, baseline: { tokensPerSecond: BASELINE } },
      ],
    }),
    tenants: [
      steadyTenant('A (500 ms)', { kind: 'poisson', perSecond: rateOf(wantsA / 2, SLOTS) }),
      steadyTenant('B (30 s)', { kind: 'poisson', perSecond: rateOf(wantsB / 2, SLOTS) }),
    ],
    changes: changesOf(halved, HALVED_AT_MS + shortageMs),
  };
}

/** Experiment 2: who has the tighter SLO goes first for a while, and who gave way is paid back. */
export function sloAwareShare({ short }: Options): Report {
  const seeds = short ? [1] : [1, 2, 3, 4, 5];
  const runs = (wantsA: number, policy: PolicyName = 'tokenweir'): SimResult[] => seeds.map((seed) => sharedRun({ seed, wantsA, policy }));
  const [a, b] = [runs(0.4), runs(0.75)];
  const long = seeds.map((seed) => sharedRun({ seed, wantsA: 0.75, shortageMs: LONG_MS }));
  const abrupt = seeds.map((seed) => sharedRun({ seed, wantsA: 0.4, halved: 'at once' }));
  const compared = (['tokenweir', 'vtc', 'fcfs', 'static'] as const).map((policy) => ({ policy, a: sharedRun({ seed: 1, wantsA: 0.4, policy }), b: sharedRun({ seed: 1, wantsA: 0.75, policy }) }));
  const bursts = [1, 0.75].map((subscribed) => ({ subscribed, runs: seeds.map((seed) => burstRun(subscribed, seed)) }));
  return {
    id: '2',
    title: 'SLO-aware fair share',
    figures: [
      ...sloFigures('(a) A needs 40 % of the halved capacity', a),
      told('(a) with the slots taken away at one moment: A within its SLO', percent(lowest(abrupt, ({ tenants }) => tenants[A]!.sloShare))),
      ...debtFigures('(a)', a),
      ...sharingFigures('(b) A needs 75 % of the halved capacity', b),
      ...debtFigures('(b)', b),
      ...longFigures(long),
      ...bursts.flatMap(({ subscribed, runs: all }) => burstFigures(subscribed, all)),
    ],
    tables: [comparison(compared), courseTable(b[0]!)],
    charts: [
      { name: '2a-slo', title: '(a) A needs 40 % of the halved capacity', svg: chart(a[0]!, 'Experiment 2 (a): A needs 40 % of the halved capacity, B 150 %') },
      { name: '2b-slo', title: '(b) A needs 75 % of the halved capacity', svg: chart(b[0]!, 'Experiment 2 (b): A needs 75 % of the halved capacity, B 150 %') },
      { name: '2b-slo-fcfs', title: '(b) first come first served', svg: chart(compared[2]!.b, 'Experiment 2 (b): the same arrivals, first come first served') },
    ],
  };
}

/** B's part of what A leaves of the halved capacity, from when the slots have drained. */
export function restTaken(result: SimResult): number {
  const [from, to] = [HALVED_AT_MS + 2000, RECOVERS_AT_MS];
  const all = ((to - from) / 1000) * (CAPACITY / 2);
  return served(result, B, from, to) / (all - served(result, A, from, to));
}

export function sloFigures(name: string, runs: readonly SimResult[]): Figure[] {
  return [
    atLeast(`${name}: A within its SLO, of all its requests`, lowest(runs, ({ tenants }) => tenants[A]!.sloShare), 0.99, percent),
    told(`${name}: A's time to first token P99`, seconds(highest(runs, ({ tenants }) => tenants[A]!.ttftMs.p99))),
    atLeast(`${name}: B's part of the rest, during the shortage`, lowest(runs, restTaken), 0.98, percent),
  ];
}

function sharingFigures(name: string, runs: readonly SimResult[]): Figure[] {
  const wanted = 0.375 * CAPACITY;
  const perSecond = (result: SimResult, tenant: number, fromMs: number, toMs: number): number => served(result, tenant, fromMs, toMs) / ((toMs - fromMs) / 1000);
  return [
    atLeast(`${name}: A in the first 20 s of the shortage, of what it wants`, lowest(runs, (run) => perSecond(run, A, HALVED_AT_MS + 1000, HALVED_AT_MS + 21_000) / wanted), 0.9, percent),
    { ...atLeast(`${name}: the least that B gets in any 10 s`, lowest(runs, (run) => leastOver(run, B, 10_000, HALVED_AT_MS, END_MS)), 1, whole), target: 'something' },
    told(`${name}: B in the first 20 s of the shortage, of its fair share`, percent(lowest(runs, (run) => perSecond(run, B, HALVED_AT_MS + 1000, HALVED_AT_MS + 21_000) / FAIR))),
    risesFigure(`${name}: B in the last 20 s of the shortage, of its fair share`, lowest(runs, (run) => perSecond(run, B, RECOVERS_AT_MS - 20_000, RECOVERS_AT_MS) / FAIR), highest(runs, (run) => perSecond(run, B, HALVED_AT_MS + 1000, HALVED_AT_MS + 21_000) / FAIR)),
    atLeast(`${name}: the least that A gets over 30 s of the shortage, of its fair share`, lowest(runs, (run) => leastOver(run, A, 30_000, HALVED_AT_MS, RECOVERS_AT_MS) / (FAIR * 30)), 1, percent),
    atLeast(`${name}: served during the shortage, of the halved capacity`, lowest(runs, (run) => perSecond(run, A, HALVED_AT_MS + 2000, RECOVERS_AT_MS) / (CAPACITY / 2) + perSecond(run, B, HALVED_AT_MS + 2000, RECOVERS_AT_MS) / (CAPACITY / 2)), 0.98, percent),
  ];
}

/** In a shortage that lasts: B comes to its fair share, and stays there. */
function longFigures(runs: readonly SimResult[]): Figure[] {
  const [from, to] = [HALVED_AT_MS + LONG_MS / 2, HALVED_AT_MS + LONG_MS];
  const least = (tenant: number): number => lowest(runs, (run) => leastOver(run, tenant, 30_000, from, to) / (FAIR * 30));
  const name = `(b) with a shortage of ${LONG_MS / 60_000} min, its second half`;
  return [
    atLeast(`${name}: the least that B gets over 30 s, of its fair share`, least(B), 0.9, percent),
    atLeast(`${name}: the least that A gets over 30 s, of its fair share`, least(A), 1, percent),
  ];
}

function risesFigure(what: string, last: number, first: number): Figure {
  return { what, target: `above ${percent(first)}, as in the first 20 s`, measured: percent(last), met: last > first };
}

function debts({ series }: SimResult, tenant: number): Float64Array {
  return series.debt[tenant]!.values;
}

function largest(values: Iterable<number>): number {
  let most = 0;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** Largest debt from 6 τ after the recovery on, of its peak. */
function debtLeft(result: SimResult): number {
  const shares = [A, B].map((tenant) => {
    const all = debts(result, tenant);
    const peak = largest(all);
    return peak === 0 ? 0 : largest(all.subarray((RECOVERS_AT_MS + 6 * TAU_MS) / result.series.stepMs)) / peak;
  });
  return Math.max(...shares);
}

function debtFactor(debt: number): number {
  return 1 + debt / (BASELINE * DEBT_SECONDS);
}

function debtFigures(name: string, runs: readonly SimResult[]): Figure[] {
  const peak = highest(runs, (run) => Math.max(largest(debts(run, A)), largest(debts(run, B))));
  const late = (run: SimResult): number => Math.max(...[A, B].map((tenant) => largest(debts(run, tenant).subarray((RECOVERS_AT_MS + 6 * TAU_MS) / run.series.stepMs))));
  return [
    told(`${name}: largest debt, in seconds of baseline`, (peak / BASELINE).toFixed(2)),
    atMost(`${name}: debt 6 τ after recovery and later, of its peak`, highest(runs, debtLeft), 0.01, percent),
    atMost(`${name}: f(Debt) then`, highest(runs, (run) => debtFactor(late(run))), 1.05, ratio),
  ];
}

function comparison(compared: readonly { policy: PolicyName; a: SimResult; b: SimResult }[]): Table {
  return {
    title: 'The same arrivals under each policy (seed 1). Served: during the shortage, of the halved capacity.',
    head: ['policy', '(a) A within SLO', '(a) A TTFT P99', '(a) A served', '(a) B served', '(b) A within SLO', '(b) A served', '(b) B served', '(b) B refused'],
    rows: compared.map(({ policy, a, b }) => {
      const share = (run: SimResult, tenant: number): string => percent(served(run, tenant, HALVED_AT_MS + 2000, RECOVERS_AT_MS) / ((CAPACITY / 2) * ((RECOVERS_AT_MS - HALVED_AT_MS - 2000) / 1000)));
      return [
        ...[policy, percent(a.tenants[A]!.sloShare), seconds(a.tenants[A]!.ttftMs.p99), share(a, A), share(a, B)],
        ...[percent(b.tenants[A]!.sloShare), share(b, A), share(b, B), percent(b.tenants[B]!.givenUp / b.tenants[B]!.requests)],
      ];
    }),
  };
}

/** How shares and debt go in time, one line for each 20 s of the shortage. */
function courseTable(run: SimResult): Table {
  const at = [...Array(10).keys()].map((i) => HALVED_AT_MS - 20_000 + i * 20_000);
  return {
    title: '(b) in time (seed 1): work served in 20 s as a share of all, and B’s debt at their end.',
    head: ['from', 'A', 'B', 'B’s debt, s of baseline', 'f(Debt)'],
    rows: at.map((from) => {
      const [a, b] = [served(run, A, from, from + 20_000), served(run, B, from, from + 20_000)];
      const debt = debts(run, B)[(from + 19_000) / 1000]!;
      return [`${from / 1000} s`, percent(a / (a + b)), percent(b / (a + b)), (debt / BASELINE).toFixed(2), ratio(debtFactor(debt))];
    }),
  };
}

const BURST_END_MS = 300_000;
/** Baselines of the one that bursts, and of each elastic one, of the capacity. */
const BURSTING = 12 / 32;
const SHARING = 10 / 32;

/** A guaranteed tenant wants three times its baseline, two elastic ones twice theirs. */
function burstRun(subscribed: number, seed: number): SimResult {
  const guaranteed = BURSTING * subscribed;
  const elastic = SHARING * subscribed;
  const tokens = (share: number) => ({ tokensPerSecond: share * CAPACITY });
  return runSimulation({
    ...{ ...STEADY, seed, policy: 'tokenweir', durationMs: BURST_END_MS, sampleMs: 1000, node: steadyNode(SLOTS) },
    pool: poolOf({
      ...{ prefillWeight: 0, capacity: { tokensPerSecond: CAPACITY, slots: SLOTS } },
      entitlements: [
        { id: 'guaranteed', serviceClass: 'guaranteed', baseline: { ...tokens(guaranteed), slots: Math.floor(guaranteed * SLOTS) } },
        { id: 'elastic 1', serviceClass: 'elastic', baseline: tokens(elastic) },
        { id: 'elastic 2', serviceClass: 'elastic', baseline: tokens(elastic) },
      ],
    }),
    tenants: [
      steadyTenant('guaranteed', { kind: 'poisson', perSecond: rateOf(3 * guaranteed, SLOTS) }),
      steadyTenant('elastic 1', { kind: 'poisson', perSecond: rateOf(2 * elastic, SLOTS) }),
      steadyTenant('elastic 2', { kind: 'poisson', perSecond: rateOf(2 * elastic, SLOTS) }),
    ],
  });
}

function burstFigures(subscribed: number, runs: readonly SimResult[]): Figure[] {
  const baseline = SHARING * subscribed * CAPACITY;
  const least = (run: SimResult, fromMs: number, toMs: number): number => Math.min(...[1, 2].map((tenant) => served(run, tenant, fromMs, toMs) / (((toMs - fromMs) / 1000) * baseline)));
  const name = `Guaranteed bursts to 3 × its baseline, baselines ${percent(subscribed)} of capacity`;
  const bursting = (run: SimResult): number => served(run, 0, 60_000, BURST_END_MS) / ((BURST_END_MS / 1000 - 60) * BURSTING * subscribed * CAPACITY);
  return [
    told(`${name}: guaranteed after 60 s, of baseline`, percent(lowest(runs, bursting))),
    told(`${name}: elastic in the first 60 s, of baseline`, percent(lowest(runs, (run) => least(run, 0, 60_000)))),
    atLeast(`${name}: elastic after 60 s, of baseline`, lowest(runs, (run) => least(run, 60_000, BURST_END_MS)), 0.95, percent),
    told(`${name}: elastic, the least over 30 s after 60 s`, percent(lowest(runs, (run) => Math.min(...[1, 2].map((tenant) => leastOver(run, tenant, 30_000, 60_000, BURST_END_MS) / (30 * baseline)))))),
  ];
}

