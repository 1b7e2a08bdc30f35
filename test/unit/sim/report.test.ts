import { describe, expect, it } from 'vitest';
import { chart } from '../../../src/sim/chart.js';
import { reportJson } from '../../../src/sim/report-json.js';
import { runSimulation } from '../../../src/sim/simulation.js';
import { chartSvg, niceTicks } from '../../../src/sim/svg.js';
import { reportText } from '../../../src/sim/table.js';
import { specOf } from './spec-of.js';

const TENANTS = [
  { id: 'shop', arrivals: { kind: 'regular', perSecond: 1 } },
  { id: '<b>&"', arrivals: { kind: 'regular', perSecond: 2 } },
  { id: 'absent', arrivals: { kind: 'poisson', perSecond: 0 } },
] as const;
const BASELINE = { baseline: { tokensPerSecond: 100 } };
const POOL = { capacity: { slots: 2, tokensPerSecond: 200 }, entitlements: TENANTS.map(({ id }) => ({ id, serviceClass: 'elastic' as const, ...BASELINE })) };
const results = (['tokenweir', 'fcfs'] as const).map((policy) => runSimulation(specOf({ policy, pool: POOL, tenants: TENANTS })));

describe('the report', () => {
  it('as text: the pool under each policy, then the tenants', () => {
    const lines = reportText(results).split('\n');
    expect(lines[0]!.split(/\s{2,}/)).toEqual(['policy', 'capacity/s', 'offered/s', 'served/s', 'goodput/s', 'slots used', 'idle while waiting', 'waiting mean', 'max', 'preemptions']);
    expect(lines.filter((line) => line.startsWith('shop '))).toHaveLength(2);
    expect(lines.find((line) => line.startsWith('absent '))).toMatch(/elastic +0 +0 +– +0\.0%/);
  });

  it('as JSON: everything of the text, and the series; null where nothing was measured', () => {
    const { results: read } = JSON.parse(reportJson(results)) as { results: { policy: string; tenants: Record<string, unknown>[]; pool: object; series: { waiting: number[] } }[] };
    expect(read.map(({ policy }) => policy)).toEqual(['tokenweir', 'fcfs']);
    expect(read[0]!.pool).toMatchObject({ capacityPerSecond: 200, unfinished: 0 });
    expect(read[0]!.tenants[2]).toMatchObject({ id: 'absent', requests: 0, sloShare: null, ttftMs: { p50: null } });
    expect(read[0]!.tenants[0]).not.toHaveProperty('samples');
    expect(read[0]!.series.waiting).toHaveLength(240);
    const served = (read[0]!.tenants[0]!['series'] as { servedPerSecond: number[] }).servedPerSecond;
    expect(served.reduce((sum, value) => sum + value, 0) / 240).toBeCloseTo(results[0]!.tenants[0]!.servedPerSecond, 0);
  });

  it('as a chart: titled panels with axes, a legend, and names that cannot break it', () => {
    const svg = chart(results[0]!, 'A pool');
    for (const text of ['A pool', 'Load and capacity', 'Who is served', 'Debt', 'Requests', 'work, tokens/s', 'share of work, %', 'offered', 'capacity', 'shop (elastic)', '60 s']) expect(svg).toContain(`>${text}<`);
    expect(svg).toContain('&lt;b&gt;&amp;&quot; (elastic)');
    expect(svg).not.toMatch(/NaN|Infinity|undefined|<b>/);
    // Nobody has debts under FCFS.
    expect(chart(results[1]!)).not.toContain('>Debt<');
  });

  it('as a chart: many tenants are drawn as their largest and the others', () => {
    const tenants = Array.from({ length: 30 }, (_, i) => ({ id: `t${i}`, arrivals: { kind: 'regular', perSecond: (i + 1) / 100 } }) as const);
    const svg = chart(runSimulation(specOf({ tenants })));
    expect(svg).toContain('>20 others<');
    expect(svg).toContain('>t29 (elastic)<');
    expect(svg).not.toContain('>t0 (elastic)<');
  });

  it('stacks what is to be stacked, and scales to what is highest', () => {
    const svg = chartSvg('t', 's', 1000, [{ title: 'p', yLabel: 'y', curves: [{ label: 'a', color: '#000', kind: 'stacked', values: [1, 1] }, { label: 'b', color: '#111', kind: 'stacked', values: [3, 0] }] }]);
    const tops = [...svg.matchAll(/points="[\d.]+,([\d.]+) [\d.]+,([\d.]+)/g)].map(([, first, second]) => [Number(first), Number(second)]);
    // 4 is the top (34), 0 the bottom (202).
    expect(tops).toEqual([[160, 160], [34, 160]]);
  });

  it('has round numbers on its axes', () => {
    expect(niceTicks(4)).toEqual([0, 1, 2, 3, 4]);
    expect(niceTicks(730)).toEqual([0, 200, 400, 600, 800]);
    expect(niceTicks(1e-9).length).toBeGreaterThan(2);
  });
});
