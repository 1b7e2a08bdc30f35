import type { Policy } from '../domain/policy.js';
import type { PlainRefusal } from '../domain/refusal.js';
import type { Store } from '../domain/store.js';
import type { Tenant } from '../domain/tenant.js';
import type { Clock } from '../lib/clock.js';
import { chainOf, planCharges } from '../quota/charges.js';
import { limitRefusal, tooLargeRefusal } from '../quota/shortage.js';
import type { Demand, Gate, GateVerdict } from './gates.js';
import type { Settlements } from './settlement.js';

/** The first gate: the limits of the tenant and of those above it, in one atomic step. */
export function quotaGate(store: Store, clock: Clock, owner: string, settlements: Settlements): Gate {
  return {
    name: 'quota',
    concerns: () => true,
    reserve: (demand) => reserve(store, owner, demand),
    refund: ({ leaseId }) => {
      settlements.run(() => store.cancel(leaseId, clock.nowMs()));
    },
    abandon: ({ leaseId }) => {
      settlements.attempt(() => store.cancel(leaseId, clock.nowMs()));
    },
  };
}

async function reserve(store: Store, owner: string, demand: Demand): Promise<GateVerdict> {
  const { leaseId, tenant, facts, policy, nowMs, draft } = demand;
  const plan = planCharges(policy, tenant, facts.model, demand);
  if (plan.kind === 'never_fits') return { kind: 'refused', refusal: tooLargeRefusal(plan.neverFit, leaseId), levels: [], pool: null };
  const { enforced, wouldNeverFit } = plan;
  // What shadow would refuse for good is charged to none of its limits, as it would not have been.
  const shadowed = wouldNeverFit === null ? plan.shadowed : [];
  const result = await store.reserve({ leaseId, tenantId: tenant.id, rootId: rootOf(tenant, policy).id, owner, nowMs, enforced, shadowed, draft });
  if (result.kind === 'refused') {
    return { kind: 'refused', refusal: limitRefusal(result.shortage, tenant.id, leaseId), levels: result.levels, pool: null };
  }
  if (result.kind === 'unavailable') return { kind: 'refused', refusal: storeUnavailable(leaseId), levels: [], pool: null };
  const shadowRefusal = wouldNeverFit === null ? null : tooLargeRefusal(wouldNeverFit, leaseId);
  // Clients are told of limits that may refuse them, not of those that only watch.
  const levels = result.levels.slice(0, enforced.length);
  return { kind: 'admitted', levels, wouldRefuse: result.wouldRefuse, shadowRefusal, pool: null, share: null };
}

/** The 503 for when the store is away and what can't be counted is not served. */
export function storeUnavailable(requestId: string): PlainRefusal {
  return { kind: 'store_unavailable', field: null, message: 'The limits can not be checked at the moment; try again soon.', requestId };
}

/**
 * Whom a decision's buckets are kept under. Putting a tenant under another root, by a reload, leaves its own buckets' levels behind with the
 * old one: they begin full.
 */
function rootOf(tenant: Tenant, policy: Policy): Tenant {
  return chainOf(tenant, policy.tenants).at(-1) ?? tenant;
}
