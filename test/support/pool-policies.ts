import type { PoolEntitlement, PoolPolicy } from '../../src/domain/policy.js';
import { UNBOUNDED, type Capacity, type EntitlementSnapshot, type PoolSnapshot, type ServiceClass } from '../../src/domain/pool.js';

/** An entitlement as the configuration has it by default. */
export function poolEntitlement(id: string, serviceClass: ServiceClass, baseline: Partial<Capacity> = {}, more: Partial<PoolEntitlement> = {}): PoolEntitlement {
  return {
    id, serviceClass, baseline: { ...UNBOUNDED, ...baseline }, classWeight: 10, sloMs: 2_000, lend: 'all', preemptible: serviceClass === 'spot', defaultWork: 'interactive', ...more,
  };
}

/** A pool for all models, with so much and these. */
export function poolPolicy(id: string, capacity: Partial<Capacity>, entitlements: readonly PoolEntitlement[]): PoolPolicy {
  const none = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };
  return {
    settings: {
      id, capacity: { ...UNBOUNDED, ...capacity }, burstSeconds: 4, tier0Baselines: none, elasticTokensPerSecond: 0, lentToNone: none, lentToSpot: none,
      maxWaiting: 1_000, maxWaitingBytes: 1_000_000, reclaimMs: 1_000, pressure: 'normal',
    },
    kind: 'self-hosted', matches: () => true, prefillWeight: 0.25, kvBytesPerToken: () => 0, holdMs: { interactive: 10_000, background: 60_000 },
    entitlements: new Map(entitlements.map((one) => [one.id, one])),
    implicit: (tenantId) => poolEntitlement(tenantId, 'elastic'),
  };
}

/** An entitlement that asked lately. */
export function poolUser(id: string, serviceClass: ServiceClass, more: Partial<EntitlementSnapshot> = {}): EntitlementSnapshot {
  return {
    id, serviceClass, inFlight: 0, inUse: { tokensPerSecond: 0, kvBytes: 0, slots: 0 }, baseline: UNBOUNDED, waiting: 0, waitingWork: 0, servedTokensPerSecond: 0,
    demandTokensPerSecond: 0, debtTokens: 0, overuse: 0, weight: serviceClass === 'spot' ? 0 : 10, sloFactor: 1, burstFactor: 1, debtFactor: 1, virtualTime: 0, ...more,
  };
}

/** A pool in which these asked lately. */
export function poolSnapshot(entitlements: readonly EntitlementSnapshot[], more: Partial<PoolSnapshot> = {}): PoolSnapshot {
  const sum = (of: (e: EntitlementSnapshot) => number): number => entitlements.reduce((total, e) => total + of(e), 0);
  return {
    poolId: 'chat', capacity: { ...UNBOUNDED, slots: 20, tokensPerSecond: 1_000 }, pressure: 'normal',
    waiting: sum((e) => e.waiting), waitingBytes: 0, inFlight: sum((e) => e.inFlight),
    inUse: { tokensPerSecond: sum((e) => e.servedTokensPerSecond), kvBytes: sum((e) => e.inUse.kvBytes), slots: sum((e) => e.inUse.slots) },
    entitlements, ...more,
  };
}
