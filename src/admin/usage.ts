import type { TenantTotals } from '../domain/lease.js';

/** What `GET /usage` answers. */
export interface UsageDocument {
  /** A day or a month of UTC. */
  readonly period: string;
  /** Exact totals, those with most tokens first. */
  readonly tenants: Readonly<Record<string, TenantTotals>>;
  /** Tenants beyond those shown. */
  readonly tenantsOmitted: number;
}

/** Tenants that are shown in one answer; any other can be asked for by its id. */
export const MAX_TENANTS_SHOWN = 1_000;

/** A day (`2026-11-29`) or a month (`2026-11`) that a calendar has. */
export function isPeriod(text: string): boolean {
  if (!/^\d{4}-\d\d(-\d\d)?$/.test(text)) return false;
  const day = text.length === 7 ? `${text}-01` : text;
  const atMs = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(atMs) && dayOf(atMs) === day;
}

/** The day of UTC. */
export function dayOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10);
}

/** `tenantId` null: all of them, within the bound. */
export function buildUsage(period: string, totals: ReadonlyMap<string, TenantTotals>, tenantId: string | null): UsageDocument {
  const asked = [...totals].filter(([id]) => tenantId === null || id === tenantId);
  const shown = asked.sort(([, a], [, b]) => tokensOf(b) - tokensOf(a)).slice(0, MAX_TENANTS_SHOWN);
  return { period, tenants: Object.fromEntries(shown), tenantsOmitted: asked.length - shown.length };
}

function tokensOf({ inputTokens, outputTokens }: TenantTotals): number {
  return inputTokens + outputTokens;
}
