import { atMost, highest, none, percent, seconds, told, whole, type Options, type Report } from './report.js';
import { BUSY, HPA, HPA_RATIO, OBEDIENT, runScaling, scalingChart, STEADY, STEP, STEP_BATCHING, type Demand, type ScalerKind, type ScalingOutcome } from './scaling.js';

const SCALERS: readonly ScalerKind[] = [OBEDIENT, HPA, HPA_RATIO, BUSY];
const SEEDS = [1, 2, 3];

/** A scaler that obeys the pool's signal, beside others: the demand of elastic tenants is three times as much for ten minutes. */
export function scaling({ short }: Options): Report {
  const seeds = short ? [1] : SEEDS;
  const demands = short ? [STEP] : [STEP, STEP_BATCHING, STEADY];
  const runs = (kind: ScalerKind, demand: Demand): ScalingOutcome[] => seeds.map((seed) => runScaling(kind, demand, seed));
  const main = runs(HPA, STEP);
  return {
    id: 'scaling',
    title: 'Scaling by what the pool needs',
    figures: [
      atMost('SLO held again after the step (scrape 15 s + start 60 s + drain 10 s)', highest(main, (run) => run.sloBackMs), 85_000, seconds),
      atMost('changes of direction', highest(main, (run) => run.turns), 1, whole),
      none('nodes more at the end than before', Math.max(0, highest(main, (run) => run.after - run.before))),
      none('guaranteed requests refused', highest(main, (run) => run.guaranteedRefused)),
      told('most nodes (needed at 80 %: 4)', whole(highest(main, (run) => run.most))),
    ],
    tables: demands.map((demand) => ({
      title: `Demand ${demand.name}: the highest of ${seeds.length} seeds`,
      head: ['scaler', 'nodes before', 'most', 'at the end', 'changes', 'turns', 'SLO back after', 'first tokens within SLO (least)', 'node hours'],
      rows: SCALERS.map((kind) => rowOf(kind.name, demand === STEP && kind === HPA ? main : runs(kind, demand))),
    })),
    charts: [{ name: 'scaling', title: 'Nodes, need and queue while the demand is three times as much', svg: scalingChart('A pool that is scaled by what it needs', main[0]!) }],
  };
}

function rowOf(name: string, runs: readonly ScalingOutcome[]): string[] {
  const most = (of: (run: ScalingOutcome) => number): string => whole(highest(runs, of));
  const within = -highest(runs, (run) => -run.withinSlo);
  return [
    name, most((run) => run.before), most((run) => run.most), most((run) => run.after), most((run) => run.changes), most((run) => run.turns),
    seconds(highest(runs, (run) => run.sloBackMs)), percent(within), highest(runs, (run) => run.nodeHours).toFixed(2),
  ];
}
