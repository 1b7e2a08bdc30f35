import type { PoolPolicy } from '../domain/policy.js';
import type { Scenario } from './scenario.js';
import { scenarioSchema } from './scenario-schema.js';
import { TraceError, type Trace } from './trace.js';

/**
 * The scenario of a trace without one: the tenants that the trace names or, where it names none, the pool's entitlements, each with a share
 * of the rows in proportion to its baseline (tokens a second, else slots; those without a baseline have the mean of the others).
 * @throws TraceError if it names tenants that can't be played.
 */
export function scenarioOfTrace(file: string, trace: Trace, pool: PoolPolicy): Scenario {
  const named = [...new Set(trace.rows.flatMap(({ tenant }) => (tenant === null ? [] : [tenant])))];
  const weights = named.length > 0 ? new Map(named.map((id) => [id, 1])) : weightsOf(pool);
  const { success, data, error } = scenarioSchema.safeParse({
    trace: { file },
    tenants: [...weights].map(([id, weight]) => ({ id, arrivals: { kind: 'trace', weight } })),
  });
  if (success) return data;
  const [what] = error.issues;
  throw new TraceError(`the tenants that the trace names can't all be simulated: ${what?.code === 'too_big' && what.origin === 'array' ? `${named.length} are more than ${what.maximum}` : 'one has no name, or one that is too long'}; a scenario can say which count`);
}

function weightsOf({ entitlements }: PoolPolicy): Map<string, number> {
  if (entitlements.size === 0) return new Map([['everyone', 1]]);
  const all = [...entitlements.values()];
  const of = all.some(({ baseline }) => (baseline.tokensPerSecond ?? 0) > 0) ? 'tokensPerSecond' : 'slots';
  const known = all.map(({ baseline }) => baseline[of] ?? 0).filter((value) => value > 0);
  const mean = known.length === 0 ? 1 : known.reduce((sum, value) => sum + value, 0) / known.length;
  return new Map(all.map(({ id, baseline }) => [id, baseline[of] || mean]));
}
