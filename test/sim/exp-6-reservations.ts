import { chart } from '../../src/sim/chart.js';
import { EXACT, type EstimateSpec } from '../../src/sim/estimates.js';
import type { SimResult } from '../../src/sim/result.js';
import { restTaken, sharedRun } from './exp-2-slo-share.js';
import { atLeast, highest, lowest, none, percent, ratio, seconds, told, type Options, type Report, type Table } from './report.js';

const FACTOR = 4;
/** Four times the truth is reserved; what is expected is right. */
const LARGE: EstimateSpec = { ...EXACT, reservedFactor: FACTOR };
/** Until settlement, four times the truth is expected too. */
const WRONG: EstimateSpec = { ...LARGE, bias: FACTOR };
const [A, B] = [0, 1];

interface Case {
  readonly name: string;
  readonly runs: readonly SimResult[];
  readonly isJudged: boolean;
}

/** Experiment 6: what is reserved may be far above the truth; shares and debts are by what is expected and settled. */
export function largeReservations({ short }: Options): Report {
  const seeds = short ? [1] : [1, 2, 3, 4, 5];
  const runs = (estimates: EstimateSpec, kv?: number): SimResult[] => seeds.map((seed) => sharedRun({ seed, wantsA: 0.4, estimates, kv }));
  const cases: Case[] = [
    { name: 'reservations exact', runs: runs(EXACT), isJudged: false },
    { name: `reservations ${FACTOR} ×, KV cache for all slots at that`, runs: runs(LARGE, FACTOR), isJudged: true },
    { name: `reservations ${FACTOR} ×, KV cache for three quarters of the slots at that`, runs: runs(LARGE, FACTOR * 0.75), isJudged: true },
    { name: `expected and reserved ${FACTOR} ×, put right at settlement`, runs: runs(WRONG), isJudged: false },
  ];
  const idle = seeds.map((seed) => sharedRun({ seed, wantsA: 0.3, wantsB: 0.3, estimates: LARGE, kv: FACTOR, halved: 'not' }));
  const within = (all: readonly SimResult[]): number => lowest(all, ({ tenants }) => tenants[A]!.sloShare);
  return {
    id: '6',
    title: 'Reservations larger than the truth',
    figures: [
      ...cases.map(({ name, runs: all, isJudged }) => {
        const what = `2 (a), ${name}: A within its SLO`;
        return isJudged ? atLeast(what, within(all), 0.99, percent) : told(what, percent(within(all)));
      }),
      none('Idle pool (30 % of capacity): largest debt', highest(idle, ({ tenants }) => Math.max(...tenants.map(({ debtMaxTokens }) => debtMaxTokens)))),
    ],
    tables: [casesTable(cases)],
    charts: [{ name: '6-reservations', title: '2 (a) with reservations of four times the truth', svg: chart(cases[2]!.runs[0]!, `Experiment 6: 2 (a), reservations ${FACTOR} × the truth, KV cache for three quarters of the slots at that`) }],
  };
}

function casesTable(cases: readonly Case[]): Table {
  return {
    title: 'The worst of all seeds.',
    head: ['estimates', 'A within SLO', 'A TTFT P99', 'B’s part of the rest in the shortage', 'B refused', 'largest debt, of the capacity’s 60 s'],
    rows: cases.map(({ name, runs }) => [
      name,
      percent(lowest(runs, ({ tenants }) => tenants[A]!.sloShare)),
      seconds(highest(runs, ({ tenants }) => tenants[A]!.ttftMs.p99)),
      percent(lowest(runs, restTaken)),
      percent(highest(runs, ({ tenants }) => tenants[B]!.givenUp / tenants[B]!.requests)),
      ratio(highest(runs, ({ tenants, pool }) => Math.max(...tenants.map(({ debtMaxTokens }) => debtMaxTokens)) / (60 * pool.capacityPerSecond))),
    ]),
  };
}
