import { Random } from './random.js';
import type { SimSpec } from './spec.js';
import type { TraceRow } from './trace.js';

/** A row, when it comes in this run, and whose it is (index of the tenant). */
export interface AssignedRow {
  readonly atMs: number;
  readonly tenant: number;
  readonly row: TraceRow;
}

/**
 * Gives the rows of a trace to the tenants whose arrivals are `trace`: to the one that the row names, else by chance in proportion to their
 * weights, all rows of a session to the same one. Depends on seed, session and order alone. The rate factor compresses the time.
 */
export function assignedRows(spec: SimSpec): AssignedRow[] {
  const takers = spec.tenants.flatMap((tenant, index) => (tenant.arrivals.kind === 'trace' ? [{ id: tenant.id, index, weight: tenant.arrivals.weight }] : []));
  const total = takers.reduce((sum, { weight }) => sum + weight, 0);
  if (takers.length === 0 || total <= 0) return [];
  const random = new Random(spec.seed, 'trace assignment');
  const named = new Map(takers.map(({ id, index }) => [id, index]));
  const bySession = new Map<number, number>();
  const drawn = (): number => {
    let left = random.uniform() * total;
    for (const { index, weight } of takers) if ((left -= weight) < 0) return index;
    return takers.at(-1)!.index;
  };
  const tenantOf = ({ tenant, session }: TraceRow): number => {
    const own = tenant === null ? undefined : named.get(tenant);
    if (own !== undefined) return own;
    if (session === null) return drawn();
    if (!bySession.has(session)) bySession.set(session, drawn());
    return bySession.get(session)!;
  };
  const factor = spec.rateFactor ?? 1;
  return (spec.trace ?? []).map((row) => ({ atMs: row.atMs / factor, tenant: tenantOf(row), row }));
}
