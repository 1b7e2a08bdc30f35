import type { PoolEntitlement } from '../../src/domain/policy.js';
import { UNBOUNDED, type Capacity, type PoolAmounts, type PoolSettings } from '../../src/domain/pool.js';
import type { Work } from '../../src/domain/request.js';
import type { SimPool } from '../../src/sim/spec.js';

/** An entitlement in few words: what is left out is as the configuration has it by default. */
export type EntitlementGiven = Partial<Omit<PoolEntitlement, 'baseline'>> & Pick<PoolEntitlement, 'id' | 'serviceClass'> & { readonly baseline?: Partial<Capacity> };

export interface PoolGiven extends Partial<Omit<PoolSettings, 'capacity' | 'tier0Baselines' | 'elasticTokensPerSecond' | 'lentToNone' | 'lentToSpot'>> {
  readonly capacity: Partial<Capacity>;
  readonly entitlements: readonly EntitlementGiven[];
  /** Default 1. */
  readonly prefillWeight?: number;
  /** Default 0. */
  readonly kvBytesPerToken?: number;
  /** Default 30 s and 5 min. */
  readonly holdMs?: Partial<Record<Work, number>>;
}

/** A pool for experiments, as the configuration would make it. Tenants that are not among its entitlements are spot. */
export function poolOf(given: PoolGiven): SimPool {
  const { capacity, entitlements: list, prefillWeight = 1, kvBytesPerToken = 0, holdMs, ...settings } = given;
  const entitlements = list.map(entitlementOf);
  const tier0 = entitlements.filter(({ serviceClass }) => serviceClass === 'dedicated' || serviceClass === 'guaranteed');
  const elastic = entitlements.filter(({ serviceClass }) => serviceClass === 'elastic');
  const byId = new Map(entitlements.map((entitlement) => [entitlement.id, entitlement]));
  const spot = (id: string): PoolEntitlement => entitlementOf({ id, serviceClass: 'spot' });
  const kept = new Map<string, PoolEntitlement>();
  const remembered = (id: string): PoolEntitlement => kept.get(id) ?? kept.set(id, spot(id)).get(id)!;
  return {
    settings: {
      ...{ id: 'pool', burstSeconds: 2, maxWaiting: 1000, maxWaitingBytes: 256 * 1024 * 1024, reclaimMs: 1000, pressure: 'normal' },
      ...settings,
      capacity: { ...UNBOUNDED, ...capacity },
      tier0Baselines: sumOf(tier0),
      elasticTokensPerSecond: sumOf(elastic).tokensPerSecond,
      lentToNone: sumOf(entitlements.filter(({ lend }) => lend === 'none')),
      lentToSpot: sumOf(entitlements.filter(({ lend }) => lend === 'spot')),
    },
    ...{ prefillWeight, kvBytesPerToken },
    holdMs: { interactive: holdMs?.interactive ?? 30_000, background: holdMs?.background ?? 300_000 },
    entitlementOf: (id) => byId.get(id) ?? remembered(id),
  };
}

function entitlementOf({ baseline, ...given }: EntitlementGiven): PoolEntitlement {
  const preemptible = given.serviceClass === 'spot';
  const defaults = { classWeight: 10, sloMs: 2000, lend: 'all', preemptible, defaultWork: 'interactive' } as const;
  return { ...defaults, ...given, baseline: { ...UNBOUNDED, ...baseline } };
}

function sumOf(entitlements: readonly PoolEntitlement[]): PoolAmounts {
  const sum = (of: keyof PoolAmounts): number => entitlements.reduce((total, { baseline }) => total + (baseline[of] ?? 0), 0);
  return { tokensPerSecond: sum('tokensPerSecond'), kvBytes: sum('kvBytes'), slots: sum('slots') };
}
