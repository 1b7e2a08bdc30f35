import type { Series } from './measures.js';
import type { SimResult } from './result.js';

/** The report as JSON: the results of each policy with their series. Times in milliseconds, work in tokens; null where nothing was measured. */
export function reportJson(results: readonly SimResult[]): string {
  // JSON has no NaN: it becomes null.
  return `${JSON.stringify({ results: results.map(plain) }, (_, value: unknown) => (typeof value === 'number' ? rounded(value) : value), 1)}\n`;
}

function plain({ series, tenants, ...result }: SimResult): unknown {
  const values = ({ values: all }: Series): number[] => [...all];
  const perSecond = ({ values: all, stepMs }: Series): number[] => [...all].map((amount) => (amount * 1000) / stepMs);
  return {
    ...result,
    tenants: tenants.map((tenant, i) => ({
      ...tenant,
      samples: undefined,
      series: { offeredPerSecond: perSecond(series.offered[i]!), servedPerSecond: perSecond(series.served[i]!), debtTokens: values(series.debt[i]!) },
    })),
    series: {
      stepMs: series.stepMs,
      ...{ waiting: values(series.waiting), running: values(series.running), slots: values(series.slots), engineQueued: values(series.engineQueued) },
    },
  };
}

function rounded(value: number): number {
  return Number.isFinite(value) ? Math.round(value * 1e4) / 1e4 : value;
}
