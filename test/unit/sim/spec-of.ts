import type { SimSpec, TenantSpec } from '../../../src/sim/spec.js';
import { EXACT } from '../../../src/sim/estimates.js';
import { poolOf, type PoolGiven } from '../../sim/pool-of.js';

type TenantGiven = Partial<TenantSpec> & Pick<TenantSpec, 'id'>;
export type SpecGiven = Partial<Omit<SimSpec, 'pool' | 'tenants'>> & { readonly pool?: PoolGiven; readonly tenants: readonly TenantGiven[] };

/** A run in few words: two slots of constant service of 1 s; a request a second, 100 tokens of output, no prompt that weighs. */
export function specOf({ pool, tenants, ...given }: SpecGiven): SimSpec {
  return {
    ...{ seed: 1, durationMs: 60_000, policy: 'fcfs', nodes: 1, processors: [EXACT] },
    node: { kind: 'constant', slots: 2, serviceMs: 1000, firstTokenMs: 0 },
    ...given,
    pool: poolOf({ capacity: { slots: 2 }, prefillWeight: 0, entitlements: tenants.map(({ id }) => ({ id, serviceClass: 'elastic' })), ...pool }),
    tenants: tenants.map((tenant) => ({ arrivals: { kind: 'regular', perSecond: 1 }, prompt: { kind: 'fixed', tokens: 10 }, output: { kind: 'fixed', tokens: 100 }, ...tenant })),
  };
}
