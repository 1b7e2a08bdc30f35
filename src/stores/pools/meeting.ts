import type { PoolEvent, WaiterRefusal } from '../../domain/pool.js';
import { factorsOf, waitOf } from '../../pool/answers.js';
import type { PoolScheduler } from '../../pool/scheduler.js';
import type { Ended, Lease } from '../../pool/state.js';
import type { ToldLease } from './messages.js';

/** What a keeper does with a lease that its owner tells. */
export type Met =
  | { readonly kind: 'nothing' }
  /** Both know it, or it was given up here and may go on. */
  | { readonly kind: 'renew' }
  | { readonly kind: 'run'; readonly wasWaiting: boolean }
  | { readonly kind: 'wait' }
  /** Its owner did not hear what became of it. */
  | { readonly kind: 'event'; readonly event: PoolEvent };

/** The owner knows whether a lease runs; the keeper, what it told and the owner did not hear. */
export function meet(scheduler: PoolScheduler, told: ToldLease): Met {
  const { leaseId } = told.ask;
  const runs = told.ranAgoMs !== null;
  const lease = scheduler.state.leases.get(leaseId);
  if (lease !== undefined) {
    if (runs) return lease.state === 'waiting' ? { kind: 'run', wasWaiting: true } : { kind: 'renew' };
    return lease.state === 'waiting' ? { kind: 'renew' } : { kind: 'event', event: grantedEvent(scheduler, lease) };
  }
  const ended = scheduler.state.ended.get(leaseId);
  if (ended === undefined) return runs ? { kind: 'run', wasWaiting: false } : { kind: 'wait' };
  return runs ? metRunning(told, ended) : metWaiting(scheduler, ended);
}

/** It runs at its owner. Reaped and unclaimed ones go on; one that was refused here may have been dispatched there meanwhile. */
function metRunning({ ends }: ToldLease, { how }: Ended): Met {
  if (how === 'reaped' || how === 'unclaimed') return { kind: 'renew' };
  return isRefused(how) && !ends ? { kind: 'run', wasWaiting: false } : { kind: 'nothing' };
}

function metWaiting(scheduler: PoolScheduler, { lease, how }: Ended): Met {
  if (how === 'reaped' || how === 'unclaimed') return { kind: 'wait' };
  return isRefused(how) ? { kind: 'event', event: refusedEvent(scheduler, lease, how) } : { kind: 'nothing' };
}

function isRefused(how: Ended['how']): how is WaiterRefusal {
  return how === 'queue_timeout' || how === 'pool_busy' || how === 'queue_full';
}

function grantedEvent({ state: s }: PoolScheduler, lease: Lease): PoolEvent {
  return { kind: 'granted', poolId: s.id, leaseId: lease.id, waitedMs: s.nowMs - lease.askedMs, factors: factorsOf(s, lease.entitlement, lease.tier) };
}

function refusedEvent({ state: s }: PoolScheduler, lease: Lease, reason: WaiterRefusal): PoolEvent {
  const neededWaitMs = waitOf(s, lease.work, reason);
  const factors = factorsOf(s, lease.entitlement, lease.tier);
  return { kind: 'refused', poolId: s.id, leaseId: lease.id, reason, waitedMs: s.nowMs - lease.askedMs, neededWaitMs, factors };
}
