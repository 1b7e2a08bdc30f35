import type { PoolAmounts } from '../../src/domain/pool.js';
import { scalingSignal, type ScalingSignal } from '../../src/pool/scaling.js';
import type { NodeSpec } from '../../src/sim/engine.js';
import { ENGINE_PRESETS } from '../../src/sim/engine-presets.js';
import { requestsPerSecond } from '../../src/sim/engine-throughput.js';
import { runSimulation } from '../../src/sim/simulation.js';
import type { ScalerView, SimSpec, TenantSpec } from '../../src/sim/spec.js';
import { chartSvg, type Panel } from '../../src/sim/svg.js';
import { poolOf } from './pool-of.js';

/** What is needed is to be so much of what is there. */
const TARGET = 0.8;
/** As a HorizontalPodAutoscaler has it by default. */
const TOLERANCE = 0.1;
const STABLE_MS = 300_000;

const START_UP_MS = 60_000;
const SCRAPE_MS = 15_000;
const SLO_MS = 2_000;
const WINDOW_MS = 5_000;

type Amounts = Pick<PoolAmounts, 'tokensPerSecond' | 'slots'>;

/** What the scaler sees, in nodes: needed by the signal, and the slots in use. */
interface Seen {
  readonly needed: number;
  readonly busy: number;
  readonly view: ScalerView;
}

/** How nodes are made of what is seen. */
export interface ScalerKind {
  readonly name: string;
  readonly create: () => (seen: Seen) => number;
}

/** So many nodes as are needed, at once, in both directions. */
export const OBEDIENT: ScalerKind = { name: '`pool_needed`, obeyed at once', create: () => ({ needed }) => Math.ceil(needed / TARGET) };
export const HPA: ScalerKind = { name: '`pool_needed`, HPA with AverageValue', create: () => hpa((seen) => seen.needed / TARGET) };
/** The quotient is taken of nodes that serve, and multiplied with those that start, too. */
export const HPA_RATIO: ScalerKind = {
  name: '`pool_utilisation`, HPA with Value',
  create: () => hpa(({ needed, view }, wanted) => (wanted * needed) / Math.max(1, view.nodes) / TARGET),
};
/** What most do: slots in use, whoever uses them. */
export const BUSY: ScalerKind = { name: 'slots in use, HPA with AverageValue', create: () => hpa((seen) => seen.busy / TARGET) };

/** A HorizontalPodAutoscaler: within the tolerance nothing, up at once, down to the most that it wanted within five minutes. */
function hpa(nodesOf: (seen: Seen, wanted: number) => number): (seen: Seen) => number {
  const before: { readonly atMs: number; readonly nodes: number }[] = [];
  let wanted: number | null = null;
  return (seen) => {
    wanted ??= seen.view.nodes;
    const exact = nodesOf(seen, wanted);
    const { nowMs } = seen.view;
    before.push({ atMs: nowMs, nodes: Math.abs(exact / wanted - 1) <= TOLERANCE ? wanted : Math.ceil(exact) });
    const latest = before.at(-1)!.nodes;
    const most = Math.max(...before.filter(({ atMs }) => atMs > nowMs - STABLE_MS).map(({ nodes }) => nodes));
    wanted = latest > wanted ? latest : Math.min(wanted, most);
    return wanted;
  };
}

/** A demand that steps up and back: rates are requests a second of elastic tenants. */
export interface Demand {
  readonly name: string;
  readonly node: NodeSpec;
  readonly prompt: number;
  readonly perSecond: number;
  readonly factor: number;
  readonly stepMs: number;
  readonly backMs: number;
  readonly durationMs: number;
}

const CONSTANT: NodeSpec = { kind: 'constant', slots: 16, serviceMs: 2_000, firstTokenMs: 200 };

/** Requests of 2 s, 16 at a time on a node: × 3 for ten minutes. */
export const STEP: Demand = { name: '× 3 and back', node: CONSTANT, prompt: 1, perSecond: 7, factor: 3, stepMs: 300_000, backMs: 900_000, durationMs: 1_800_000 };
export const STEADY: Demand = { ...STEP, name: 'steady', factor: 1, stepMs: 0, backMs: 0 };
/** A 13B model on A100s, whose speed falls with the batch. */
export const STEP_BATCHING: Demand = { ...STEP, name: '× 3 and back, batching engine', node: { ...ENGINE_PRESETS['a100-13b'], slots: 32 }, prompt: 400, perSecond: 10 };

export interface ScalingPoint {
  readonly atMs: number;
  readonly nodes: number;
  /** In nodes, before the target. */
  readonly needed: number;
  readonly waiting: number;
}

export interface ScalingOutcome {
  readonly points: readonly ScalingPoint[];
  /** Nodes just before the step, the most, and at the end. */
  readonly before: number;
  readonly most: number;
  readonly after: number;
  /** How often the number of nodes changed, and how often the direction did. */
  readonly changes: number;
  readonly turns: number;
  /** From the step until all windows of 5 s have 99 % of first tokens within the SLO. */
  readonly sloBackMs: number;
  /** Of elastic and guaranteed requests, first tokens within the SLO; refused ones count as not. */
  readonly withinSlo: number;
  readonly guaranteedRefused: number;
  readonly nodeHours: number;
}

interface Judged {
  readonly atMs: number;
  readonly within: boolean;
}

/** One run. Guaranteed, elastic and (more than there ever is room for) spot; the elastic demand steps up and back. */
export function runScaling(kind: ScalerKind, demand: Demand, seed: number): ScalingOutcome {
  const points: ScalingPoint[] = [];
  const judged: Judged[] = [];
  const perNode = perNodeOf(demand);
  let signal: ScalingSignal | null = null;
  let guaranteedRefused = 0;
  const decide = kind.create();
  const wanted = (view: ScalerView): number => {
    signal = scalingSignal(view.snapshot!, signal, view.nowMs);
    const needed = Math.max(signal.needed.slots / perNode.slots, signal.needed.tokensPerSecond / perNode.tokensPerSecond);
    points.push({ atMs: view.nowMs, nodes: view.nodes, needed, waiting: view.waiting });
    return decide({ needed, busy: view.snapshot!.inUse.slots / perNode.slots, view });
  };
  runSimulation({
    ...specOf(demand, perNode, seed),
    scaler: { everyMs: SCRAPE_MS, startUpMs: START_UP_MS, minNodes: 2, maxNodes: 30, wanted },
    observer: {
      ended: ({ parts, firstTokenMs, firstAskedMs, refused }) => {
        const { serviceClass } = parts.entitlement;
        if (serviceClass === 'spot') return;
        if (serviceClass === 'guaranteed' && refused !== null) guaranteedRefused++;
        judged.push({ atMs: firstAskedMs, within: firstTokenMs - firstAskedMs <= SLO_MS });
      },
    },
  });
  return outcomeOf(demand, points, judged, guaranteedRefused);
}

const OUTPUT = { kind: 'lognormal', median: 85, sigma: 0.57, max: 1_000 } as const;
const MEAN_OUTPUT = 100;

function perNodeOf({ node, prompt }: Demand): Amounts {
  const perSecond = requestsPerSecond(node, { promptTokens: prompt, uncachedTokens: prompt, outputTokens: MEAN_OUTPUT });
  return { slots: node.slots, tokensPerSecond: perSecond * MEAN_OUTPUT };
}

function specOf({ node, prompt, perSecond, factor, stepMs, backMs, durationMs }: Demand, perNode: Amounts, seed: number): SimSpec {
  const tenant = (id: string, rate: number, more: Partial<TenantSpec> = {}): TenantSpec => ({
    id, arrivals: { kind: 'poisson', perSecond: rate }, prompt: { kind: 'fixed', tokens: prompt }, output: OUTPUT, ...more,
  });
  return {
    seed, durationMs, policy: 'tokenweir', nodes: 2, node,
    pool: poolOf({
      capacity: { slots: perNode.slots * 2, tokensPerSecond: perNode.tokensPerSecond * 2 },
      prefillWeight: 0,
      holdMs: { interactive: 10_000 },
      entitlements: [
        { id: 'shop', serviceClass: 'guaranteed', baseline: { slots: 6, tokensPerSecond: 300 } },
        { id: 'team', serviceClass: 'elastic', baseline: { tokensPerSecond: 600 } },
        { id: 'nightly', serviceClass: 'spot' },
      ],
    }),
    tenants: [
      tenant('shop', 1.5),
      tenant('team', perSecond),
      ...(factor > 1 ? [tenant('more', perSecond * (factor - 1), { entitlement: 'team', fromMs: stepMs, untilMs: backMs })] : []),
      tenant('nightly', 60),
    ],
  };
}

function outcomeOf({ stepMs, backMs }: Demand, points: readonly ScalingPoint[], judged: readonly Judged[], guaranteedRefused: number): ScalingOutcome {
  const directions = points.slice(1).map(({ nodes }, i) => Math.sign(nodes - points[i]!.nodes)).filter((direction) => direction !== 0);
  return {
    points,
    before: points.filter(({ atMs }) => atMs <= stepMs).at(-1)?.nodes ?? points[0]!.nodes,
    most: Math.max(...points.map(({ nodes }) => nodes)),
    after: points.at(-1)!.nodes,
    changes: directions.length,
    turns: directions.filter((direction, i) => i > 0 && direction !== directions[i - 1]).length,
    sloBackMs: sloBackMs(judged, stepMs, backMs),
    withinSlo: shareWithin(judged),
    guaranteedRefused,
    nodeHours: points.reduce((sum, { nodes }) => sum + nodes, 0) * (SCRAPE_MS / 3_600_000),
  };
}

function shareWithin(judged: readonly Judged[]): number {
  return judged.filter(({ within }) => within).length / Math.max(1, judged.length);
}

/** End of the last window, before the demand goes back, in which the SLO was not held. */
function sloBackMs(judged: readonly Judged[], stepMs: number, backMs: number): number {
  const windows = Array.from({ length: Math.floor((backMs - stepMs) / WINDOW_MS) }, (_, i) => i);
  const inWindow: Judged[][] = windows.map(() => []);
  for (const one of judged) inWindow[Math.floor((one.atMs - stepMs) / WINDOW_MS)]?.push(one);
  const last = windows.filter((i) => shareWithin(inWindow[i]!) < 0.99).at(-1);
  return last === undefined ? 0 : (last + 1) * WINDOW_MS;
}

/** Nodes, what the signal says, and what waits, over time. */
export function scalingChart(title: string, outcome: ScalingOutcome): string {
  const of = (value: (point: ScalingPoint) => number): number[] => outcome.points.map(value);
  const nodes: Panel = {
    title: 'Nodes', yLabel: 'nodes',
    curves: [
      { label: 'serving', color: '#0072b2', kind: 'area', values: of((point) => point.nodes) },
      { label: 'needed / 80 %', color: '#d55e00', kind: 'line', values: of((point) => point.needed / TARGET) },
    ],
  };
  const waiting: Panel = { title: 'Held at the gate', yLabel: 'requests', curves: [{ label: 'waiting', color: '#009e73', kind: 'area', values: of((point) => point.waiting) }] };
  return chartSvg(title, 'Scraped every 15 s; a node takes 60 s to start', outcome.points.at(-1)!.atMs, [nodes, waiting]);
}
