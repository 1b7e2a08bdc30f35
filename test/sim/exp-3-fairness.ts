import { chart } from '../../src/sim/chart.js';
import { ENGINE_PRESETS } from '../../src/sim/engine-presets.js';
import { requestsPerSecond } from '../../src/sim/engine-throughput.js';
import { LEARNING } from '../../src/sim/estimates.js';
import { meanLength } from '../../src/sim/lengths.js';
import type { SimResult } from '../../src/sim/result.js';
import { runSimulation } from '../../src/sim/simulation.js';
import type { PolicyName, SimSpec, TenantSpec } from '../../src/sim/spec.js';
import { poolOf } from './pool-of.js';
import { atLeast, atMost, percent, ratio, told, whole, type Figure, type Options, type Report, type Table } from './report.js';

const NODE = ENGINE_PRESETS['a100-13b'];
/** About what a token of prompt costs the engine beside a token of output in a full batch. */
const PREFILL_WEIGHT = 0.27;
const CLASS_WEIGHT = 10;
/** Before this, the queues fill. */
const SETTLED_MS = 60_000;

interface Measured {
  readonly result: SimResult;
  /** Largest distance of two virtual times of tenants that wait, and the same as a share of what invariant 7 allows at that moment. */
  readonly vGap: number;
  readonly vShare: number;
  /** Tenants that waited at every look. */
  readonly backlogged: ReadonlySet<number>;
  /** Service a tenant, in tokens, at each change after the queues have filled: of whom, how much, and the work in flight then. */
  readonly changes: readonly Change[];
}

interface Change {
  readonly tenant: number;
  readonly work: number;
  readonly inFlight: number;
}

/** Experiment 3: VTC's settings. Tenants that always have a backlog get the same service, but for what invariant 7 allows. */
export function fairnessBound({ short }: Options): Report {
  const durationMs = short ? 300_000 : 3_600_000;
  const settings = [
    { name: 'two clients', tenants: twoClients() },
    { name: '27 clients', tenants: manyClients() },
  ];
  const measured = settings.map(({ name, tenants }) => {
    const run = (policy: PolicyName, paid = false): Measured => measure(tenants, policy, paid, durationMs);
    return { name, off: run('tokenweir'), on: run('tokenweir', true), others: (['vtc', 'fcfs', 'static'] as const).map((policy) => ({ policy, run: run(policy, policy === 'static') })) };
  });
  return {
    id: '3',
    title: 'Fairness bound',
    figures: measured.flatMap(({ name, off, on, others }) => figuresOf(name, off, on, others.find(({ policy }) => policy === 'fcfs')!.run)),
    tables: measured.map(({ name, off, on, others }) => tableOf(name, off.backlogged, [{ name: 'Tokenweir', run: off }, { name: 'Tokenweir, debt and burst on', run: on }, ...others.map(({ policy, run }) => ({ name: policy, run }))])),
    charts: measured.flatMap(({ name, off, others }, i) => [
      { name: `3-fairness-${i + 1}`, title: `${name}: Tokenweir`, svg: chart(off.result, `Experiment 3: ${name}, debt and burst off`) },
      { name: `3-fairness-${i + 1}-fcfs`, title: `${name}: first come first served`, svg: chart(others.find(({ policy }) => policy === 'fcfs')!.run.result, `Experiment 3: ${name}, first come first served`) },
    ]),
  };
}

/** One sends many short requests, the other fewer long ones; either alone is more than half of what the engine does. */
function twoClients(): TenantSpec[] {
  return [
    { id: 'short', arrivals: { kind: 'poisson', perSecond: 16 }, prompt: { kind: 'fixed', tokens: 128 }, output: { kind: 'fixed', tokens: 128 } },
    { id: 'long', arrivals: { kind: 'poisson', perSecond: 4 }, prompt: { kind: 'fixed', tokens: 512 }, output: { kind: 'fixed', tokens: 512 } },
  ];
}

/** The first asks 27 times as often as the last; together 2.5 times what the engine does. */
function manyClients(): TenantSpec[] {
  const prompt = { kind: 'lognormal', median: 130, sigma: 1, max: 4096 } as const;
  const output = { kind: 'lognormal', median: 170, sigma: 0.8, max: 1024 } as const;
  const all = [...Array(27).keys()].map((i) => 1 / (i + 1));
  const total = all.reduce((sum, rate) => sum + rate, 0);
  const perSecond = (2.5 * capacityOf([{ id: '', arrivals: { kind: 'closed', clients: 1, thinkSeconds: 0 }, prompt, output }])) / workOf({ prompt, output });
  return all.map((rate, i) => ({ id: `client ${i + 1}`, arrivals: { kind: 'poisson', perSecond: (perSecond * rate) / total }, prompt, output }));
}

function workOf({ prompt, output }: Pick<TenantSpec, 'prompt' | 'output'>): number {
  return meanLength(output) + PREFILL_WEIGHT * meanLength(prompt);
}

/** Work a second of the engine, with requests of these kinds served alike. */
function capacityOf(tenants: readonly TenantSpec[]): number {
  const each = tenants.map(({ prompt, output }) => {
    const [promptTokens, outputTokens] = [meanLength(prompt), meanLength(output)];
    return requestsPerSecond(NODE, { promptTokens, uncachedTokens: promptTokens, outputTokens }) * workOf({ prompt, output });
  });
  return each.reduce((sum, one) => sum + one, 0) / each.length;
}

function measure(tenants: readonly TenantSpec[], policy: PolicyName, paid: boolean, durationMs: number): Measured {
  const capacity = capacityOf(tenants);
  const changes: Change[] = [];
  const always = new Set(tenants.keys());
  const seen = { vGap: 0, vShare: 0, inFlight: 0, largest: 0 };
  const spec: SimSpec = {
    ...{ seed: 1, durationMs, policy, node: NODE, nodes: 1, tenants, processors: [LEARNING], warmupMs: SETTLED_MS, sampleMs: durationMs / 240 },
    pool: poolOf({
      ...{ prefillWeight: PREFILL_WEIGHT, kvBytesPerToken: 1 },
      // Debt and burst need rates to judge by; without them there is neither. λ is above what the engine does: it is never the bound.
      capacity: { slots: NODE.slots, kvBytes: NODE.kvTokens, tokensPerSecond: paid ? 1.5 * capacity : null },
      entitlements: tenants.map(({ id }) => ({ id, serviceClass: 'elastic', classWeight: CLASS_WEIGHT, baseline: paid ? { tokensPerSecond: capacity / tenants.length } : {} })),
    }),
    observer: {
      dispatched: ({ parts, expectedWork }, { nowMs }) => {
        seen.inFlight += expectedWork;
        seen.largest = Math.max(seen.largest, expectedWork);
        if (nowMs >= SETTLED_MS) changes.push({ tenant: parts.tenant, work: expectedWork, inFlight: seen.inFlight });
      },
      ended: ({ parts, expectedWork, trueWork, endedWhy }, { nowMs }) => {
        if (endedWhy !== 'finished') return;
        seen.inFlight -= expectedWork;
        if (nowMs >= SETTLED_MS && nowMs < durationMs) changes.push({ tenant: parts.tenant, work: trueWork - expectedWork, inFlight: seen.inFlight });
      },
      sampled: (snapshot, { nowMs }) => {
        if (snapshot === null || nowMs < SETTLED_MS || nowMs >= durationMs) return;
        const waiting = snapshot.entitlements.filter((entitlement) => entitlement.waiting > 0);
        const ids = new Set(waiting.map(({ id }) => id));
        tenants.forEach(({ id }, i) => ids.has(id) || always.delete(i));
        const v = waiting.map(({ virtualTime }) => virtualTime);
        const gap = v.length < 2 ? 0 : Math.max(...v) - Math.min(...v);
        const allowed = (2 * Math.max(seen.largest, seen.inFlight)) / Math.min(...waiting.map(({ weight }) => weight), Infinity);
        seen.vGap = Math.max(seen.vGap, gap);
        seen.vShare = Math.max(seen.vShare, gap / allowed);
      },
    },
  };
  const result = runSimulation(spec);
  return { result, vGap: seen.vGap, vShare: seen.vShare, backlogged: always, changes: changes.slice() };
}

/** Largest difference in service between any two of these tenants at any time, in tokens; the same as a share of what was allowed then. */
function serviceGap({ changes }: Measured, among: ReadonlySet<number>): { gap: number; share: number } {
  const service = new Map([...among].map((tenant) => [tenant, 0]));
  let [gap, share, largest] = [0, 0, 0];
  for (const { tenant, work, inFlight } of changes) {
    const before = service.get(tenant);
    largest = Math.max(largest, work);
    if (before === undefined) continue;
    service.set(tenant, before + work);
    const now = Math.max(...service.values()) - Math.min(...service.values());
    gap = Math.max(gap, now);
    share = Math.max(share, now / (2 * Math.max(largest, inFlight)));
  }
  return { gap, share };
}

function figuresOf(name: string, off: Measured, on: Measured, fcfs: Measured): Figure[] {
  const { gap, share } = serviceGap(off, off.backlogged);
  return [
    told(`${name}: with a backlog all the time`, whole(off.backlogged.size)),
    atMost(`${name}, debt and burst off: largest service gap at any time, of what invariant 7 allows`, share, 1, percent),
    told(`${name}: that gap, in tokens of work`, whole(gap)),
    atMost(`${name}, debt and burst off: largest gap of v of any two that wait, of what invariant 7 allows`, off.vShare, 1, percent),
    atLeast(`${name}: throughput (work), of FCFS`, throughput(off) / throughput(fcfs), 0.99, ratio),
    told(`${name}, debt and burst on: largest gap of v, of what invariant 7 allows`, percent(on.vShare)),
  ];
}

/** Work a second that was done. */
function throughput({ result }: Measured): number {
  return result.pool.servedPerSecond;
}

function tableOf(name: string, among: ReadonlySet<number>, runs: readonly { name: string; run: Measured }[]): Table {
  const shares = (run: Measured): number[] => [...among].map((tenant) => run.result.tenants[tenant]!.servedPerSecond);
  return {
    title: `${name}: those with a backlog all the time (${among.size} of ${runs[0]!.run.result.tenants.length}) under each policy.`,
    head: ['policy', 'largest service gap, tokens', 'most served / least served', 'work/s', 'slots used', 'refused of the busiest', 'refused of the others'],
    rows: runs.map(({ name: policy, run }) => {
      const { tenants, pool } = run.result;
      const [served, rest] = [shares(run), tenants.filter((_, i) => !among.has(i))];
      const refused = (of: typeof tenants): number => of.reduce((sum, { givenUp }) => sum + givenUp, 0) / of.reduce((sum, { requests }) => sum + requests, 0);
      return [
        ...[policy, whole(serviceGap(run, among).gap), ratio(Math.max(...served) / Math.min(...served)), whole(pool.servedPerSecond), percent(pool.utilisation)],
        ...[percent(refused(tenants.slice(0, 1))), percent(refused(rest))],
      ];
    }),
  };
}
