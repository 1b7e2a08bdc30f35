import type { TenantTotals } from '../domain/lease.js';
import { periodsOf, type Figures } from './ledger-entries.js';

export type MutableTotals = { -readonly [K in keyof TenantTotals]: TenantTotals[K] };

export function noTotals(): MutableTotals {
  return { requests: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };
}

/** Adds a settled request, or with `requests` 0 the difference to one that was counted. */
export function addTo(totals: MutableTotals, requests: number, figures: Figures): void {
  totals.requests += requests;
  totals.inputTokens += figures.inputTokens;
  totals.cachedInputTokens += figures.cachedInputTokens;
  totals.outputTokens += figures.outputTokens;
  totals.reasoningTokens += figures.reasoningTokens;
}

/** The port promises 40 days and 14 months; the one that runs comes on top. */
const DAYS = 41;
const MONTHS = 15;

/**
 * Totals by day and month of UTC. The latest days and months that anything was booked in are kept; above `maxEntries` (a tenant in a
 * period is one) the oldest days give way before their time.
 */
export class PeriodTotals {
  readonly #days = new Map<string, Map<string, MutableTotals>>();
  readonly #months = new Map<string, Map<string, MutableTotals>>();
  #entries = 0;

  constructor(private readonly maxEntries: number) {}

  add(tenantId: string, settledAtMs: number, requests: number, figures: Figures): void {
    const [day, month] = periodsOf(settledAtMs);
    addTo(this.#totals(this.#days, day, tenantId), requests, figures);
    addTo(this.#totals(this.#months, month, tenantId), requests, figures);
    if (this.#days.size > DAYS) this.#dropOldest(this.#days);
    if (this.#months.size > MONTHS) this.#dropOldest(this.#months);
    while (this.#entries > this.maxEntries && this.#days.size > 1) this.#dropOldest(this.#days);
    while (this.#entries > this.maxEntries && this.#months.size > 1) this.#dropOldest(this.#months);
  }

  /** Copies of all tenants' totals in a day or a month. */
  in(period: string): ReadonlyMap<string, TenantTotals> {
    const copy = new Map<string, TenantTotals>();
    for (const [id, totals] of this.#days.get(period) ?? this.#months.get(period) ?? []) copy.set(id, { ...totals });
    return copy;
  }

  #totals(periods: Map<string, Map<string, MutableTotals>>, period: string, tenantId: string): MutableTotals {
    const tenants = periods.get(period) ?? new Map<string, MutableTotals>();
    periods.set(period, tenants);
    const known = tenants.get(tenantId);
    if (known !== undefined) return known;
    const totals = noTotals();
    tenants.set(tenantId, totals);
    this.#entries++;
    return totals;
  }

  #dropOldest(periods: Map<string, Map<string, MutableTotals>>): void {
    const oldest = [...periods.keys()].reduce((first, period) => (period < first ? period : first));
    this.#entries -= periods.get(oldest)?.size ?? 0;
    periods.delete(oldest);
  }
}
