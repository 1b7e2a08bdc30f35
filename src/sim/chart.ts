import type { SimResult } from './result.js';
import { chartSvg, COLORS, type Curve, type Panel } from './svg.js';

/** Tenants that have a colour of their own; the others are drawn as one. */
const SHOWN = 10;
/** More load than so many times what is served would leave no place to see the rest. */
const MOST_OFFERED = 3;
const OFFERED = '#d55e00';
const SERVED = '#0072b2';
const DARK = '#222222';
const REST = '#bbbbbb';

interface Points {
  readonly values: Float64Array;
}

/** Load and capacity, shares, debts and queues over time, as an SVG. */
export function chart(result: SimResult, title?: string): string {
  const { policy, seed, pool, durationMs } = result;
  const subtitle = `policy ${policy}, seed ${seed}; offered ${(pool.offeredPerSecond / pool.capacityPerSecond).toFixed(2)} × capacity, slots used ${(pool.utilisation * 100).toFixed(1)} %`;
  const panels = [loadPanel(result), sharePanel(result), ...debtPanels(result), queuePanel(result)];
  return chartSvg(title ?? 'Simulated pool', subtitle, durationMs, panels);
}

function loadPanel({ series, pool }: SimResult): Panel {
  const slotsAtStart = Math.max(1, series.slots.values[0]!);
  const perSecond = (all: readonly Points[]): Float64Array => smooth(sum(all, series.slots.values.length)).map((amount) => (amount * 1000) / series.stepMs);
  const [offered, served] = [perSecond(series.offered), perSecond(series.served)];
  const capacity = series.slots.values.map((slots) => (pool.capacityPerSecond * slots) / slotsAtStart);
  const yMax = Math.min(largest([offered, served, capacity]), MOST_OFFERED * largest([served, capacity]));
  const cut = largest([offered]) > yMax ? ' (goes higher)' : '';
  return {
    ...{ title: 'Load and capacity', yLabel: 'work, tokens/s', yMax },
    curves: [
      { label: `offered${cut}`, color: OFFERED, kind: 'line', values: offered },
      { label: 'served', color: SERVED, kind: 'area', values: served },
      { label: 'capacity', color: DARK, kind: 'dashed', values: capacity },
    ],
  };
}

function largest(curves: readonly Float64Array[]): number {
  let most = 1e-9;
  for (const values of curves) for (const value of values) if (value > most) most = value;
  return most;
}

/** Of what is served. */
function sharePanel({ series, tenants }: SimResult): Panel {
  const pieces = series.slots.values.length;
  const total = smooth(sum(series.served, pieces));
  const shares = (served: readonly Points[]): Float64Array => smooth(sum(served, pieces)).map((value, i) => (total[i]! > 0 ? (100 * value) / total[i]! : 0));
  const order = tenants.map((tenant, i) => ({ tenant, i })).sort((a, b) => b.tenant.servedPerSecond - a.tenant.servedPerSecond);
  const own = order.slice(0, order.length > SHOWN + 1 ? SHOWN : SHOWN + 1);
  const others = order.slice(own.length).map(({ i }) => series.served[i]!);
  const curves: Curve[] = own.map(({ tenant, i }) => ({ label: `${tenant.id} (${tenant.serviceClass})`, color: colorOf(i), kind: 'stacked', values: shares([series.served[i]!]) }));
  if (others.length > 0) curves.push({ label: `${others.length} others`, color: REST, kind: 'stacked', values: shares(others) });
  return { title: 'Who is served', yLabel: 'share of work, %', curves, yMax: 100 };
}

/** Those that ever had debt; no panel where nobody had. */
function debtPanels({ series, tenants }: SimResult): Panel[] {
  const order = tenants.map((tenant, i) => ({ tenant, i })).filter(({ tenant }) => tenant.debtMaxTokens > 0);
  const shown = order.sort((a, b) => b.tenant.debtMaxTokens - a.tenant.debtMaxTokens).slice(0, SHOWN + 1);
  if (shown.length === 0) return [];
  return [{ title: 'Debt', yLabel: 'tokens', curves: shown.map(({ tenant, i }) => ({ label: tenant.id, color: colorOf(i), kind: 'line', values: series.debt[i]!.values })) }];
}

function queuePanel({ series }: SimResult): Panel {
  const curves: Curve[] = [
    { label: 'slots', color: DARK, kind: 'dashed', values: series.slots.values },
    { label: 'running', color: SERVED, kind: 'area', values: series.running.values },
    { label: 'held at the gate', color: OFFERED, kind: 'line', values: series.waiting.values },
  ];
  if (series.engineQueued.values.some((value) => value > 0)) curves.push({ label: 'queued in the engine', color: COLORS[3]!, kind: 'line', values: series.engineQueued.values });
  return { title: 'Requests', yLabel: 'requests', curves };
}

function colorOf(index: number): string {
  return COLORS[index % COLORS.length]!;
}

function sum(all: readonly Points[], pieces: number): Float64Array {
  const total = new Float64Array(pieces);
  for (const { values } of all) for (let i = 0; i < pieces; i++) total[i]! += values[i]!;
  return total;
}

/** Mean of each value and its neighbours, so that single requests do not hide the course. */
function smooth(values: Float64Array): Float64Array {
  return values.map((_, i) => {
    const [from, to] = [Math.max(0, i - 1), Math.min(values.length, i + 2)];
    let total = 0;
    for (let k = from; k < to; k++) total += values[k]!;
    return total / (to - from);
  });
}
