import { chart } from '../../src/sim/chart.js';
import { ENGINE_PRESETS } from '../../src/sim/engine-presets.js';
import { LEARNING, type EstimateSpec } from '../../src/sim/estimates.js';
import type { SimResult } from '../../src/sim/result.js';
import { runSimulation } from '../../src/sim/simulation.js';
import type { TenantSpec } from '../../src/sim/spec.js';
import { poolOf } from './pool-of.js';
import { atMost, highest, percent, seconds, told, whole, type Options, type Report, type Table } from './report.js';

const NODE = ENGINE_PRESETS['a100-13b'];
const COUNTS = [1, 2, 4];
const CAPACITY = 1700;
/** Each processor is wrong in its own way, and by chance. */
const BIASES = [1.3, 0.8, 1.1, 0.7];

/** Experiment 5: several processors on one store, each with estimates of its own, share a pool as one does. */
export function severalProcessors({ short }: Options): Report {
  const seeds = short ? [1] : [1, 2, 3];
  const durationMs = short ? 300_000 : 1_200_000;
  const kinds = [
    { name: 'each learns from its own answers', estimate: (): EstimateSpec => LEARNING },
    { name: 'each learns, and is wrong by a factor of its own (0.7 to 1.3) and by chance (σ 0.3)', estimate: (i: number): EstimateSpec => ({ ...LEARNING, bias: BIASES[i]!, errorSigma: 0.3 }) },
  ].map((kind) => ({ ...kind, runs: COUNTS.map((count) => seeds.map((seed) => run(Array.from({ length: count }, (_, i) => kind.estimate(i)), seed, durationMs))) }));
  return {
    id: '5',
    title: 'Several processors',
    figures: kinds.flatMap(({ name, runs }) => {
      const limited = COUNTS.slice(1).map((count, i) => atMost(`${count} processors, ${name}: largest difference of a tenant’s share from one processor’s`, highest(seeds, (seed) => difference(runs[i + 1]![seeds.indexOf(seed)]!, runs[0]![seeds.indexOf(seed)]!)), 0.05, percent));
      return [...limited, told(`work/s with ${COUNTS.join(', ')} processors`, runs.map((of) => whole(of[0]!.pool.servedPerSecond)).join(', '))];
    }),
    tables: kinds.map(({ name, runs }) => sharesTable(name, runs.map((of) => of[0]!))),
    charts: [{ name: '5-processors', title: 'Four processors on one store', svg: chart(kinds[1]!.runs.at(-1)![0]!, 'Experiment 5: four processors, each wrong in its own way') }],
  };
}

function run(processors: readonly EstimateSpec[], seed: number, durationMs: number): SimResult {
  const lengths = (prompt: number, output: number): Pick<TenantSpec, 'prompt' | 'output'> => ({
    prompt: { kind: 'lognormal', median: prompt, sigma: 0.8, max: 4096 },
    output: { kind: 'lognormal', median: output, sigma: 0.7, max: 1024 },
  });
  const tokens = (share: number) => ({ tokensPerSecond: share * CAPACITY });
  return runSimulation({
    ...{ seed, durationMs, policy: 'tokenweir', node: NODE, nodes: 1, processors, warmupMs: 60_000 },
    pool: poolOf({
      ...{ prefillWeight: 0.27, kvBytesPerToken: 1, capacity: { slots: NODE.slots, kvBytes: NODE.kvTokens, tokensPerSecond: CAPACITY } },
      entitlements: [
        { id: 'guaranteed', serviceClass: 'guaranteed', baseline: { ...tokens(0.25), slots: 16 } },
        { id: 'fast', serviceClass: 'elastic', sloMs: 500, baseline: tokens(0.25) },
        { id: 'chat', serviceClass: 'elastic', baseline: tokens(0.25) },
        { id: 'batch', serviceClass: 'elastic', sloMs: 30_000, defaultWork: 'background', baseline: tokens(0.25) },
      ],
    }),
    // Together 1.6 times what the engine does.
    tenants: [
      { id: 'guaranteed', arrivals: { kind: 'poisson', perSecond: 1.1 }, ...lengths(200, 200) },
      { id: 'fast', arrivals: { kind: 'poisson', perSecond: 8 }, ...lengths(100, 60) },
      { id: 'chat', arrivals: { kind: 'poisson', perSecond: 2.8 }, ...lengths(300, 150) },
      { id: 'batch', arrivals: { kind: 'poisson', perSecond: 1.4 }, ...lengths(500, 400) },
    ],
  });
}

/** Of shares of work, as a part of the share under one processor. */
function difference(result: SimResult, one: SimResult): number {
  return highest(result.tenants, ({ share, id }) => {
    const alone = one.tenants.find((tenant) => tenant.id === id)!.share;
    return Math.abs(share / alone - 1);
  });
}

function sharesTable(name: string, results: readonly SimResult[]): Table {
  return {
    title: `Shares of work, where ${name} (seed 1).`,
    head: ['processors', ...results[0]!.tenants.map(({ id }) => id), 'fast: TTFT P99', 'guaranteed: TTFT P99'],
    rows: results.map(({ tenants }, i) => [String(COUNTS[i]), ...tenants.map(({ share }) => percent(share)), seconds(tenants[1]!.ttftMs.p99), seconds(tenants[0]!.ttftMs.p99)]),
  };
}
