import type { PoolEnd, PoolRenewal, WaiterRefusal } from '../domain/pool.js';
import { ENDED_MS, LEASE_MS } from '../domain/store.js';
import { wholeKv, wholeWork } from './amounts.js';
import { tellRefused } from './answers.js';
import { charge, extendKv, rebook, refundRequest, release, reopen, takeRequest, useChanged } from './booking.js';
import { noteIdle } from './idle.js';
import { dequeue } from './queue.js';
import { touchRates } from './rates.js';
import type { Ended, Lease, PoolState } from './state.js';
import { weightOf } from './weights.js';

/** A grant that its owner does not take up within so long of the store clock returns. */
export const CLAIM_MS = 2_000;
/** Ended leases beyond so many are forgotten, the oldest first. */
const MAX_ENDED = 10_000;
const FORGOTTEN_A_CALL = 4;
/** The most by which one call moves the store clock on. */
const MAX_STEP_MS = 1_000;

/** The store clock follows the callers', but never jumps: after a pause it goes on from where it stood, and ends nobody's lease. */
export function advanceClock(s: PoolState, nowMs: number): void {
  const now = Math.floor(nowMs);
  if (s.callMs > 0) s.clockMs += Math.min(MAX_STEP_MS, Math.max(0, now - s.callMs));
  s.callMs = now;
  s.nowMs = Math.max(s.nowMs, now);
}

/** A lease gave a sign of life: it is the last to expire. */
export function keepAlive(s: PoolState, lease: Lease): void {
  s.leases.set(lease.id, lease);
  s.alive.put(lease.alive, s.clockMs);
}

/** What has come due by time alone. */
export function expire(s: PoolState): void {
  for (let next = s.deadlines.first(); next !== null && next.key <= s.nowMs; next = s.deadlines.first()) refuseWaiter(s, next.item, 'queue_timeout');
  for (let next = s.granted.first(); next !== null && s.clockMs - next.key >= CLAIM_MS; next = s.granted.first()) {
    rebook(s, next.item, 0);
    refundRequest(s);
    endRunning(s, next.item, 'unclaimed');
  }
  for (let next = s.alive.first(); next !== null && s.clockMs - next.key >= LEASE_MS; next = s.alive.first()) reap(s, next.item);
  forget(s);
}

/** Its owner is dead: it waits no more, or is settled at what it told last. */
function reap(s: PoolState, lease: Lease): void {
  if (lease.state === 'waiting') return refuseWaiter(s, lease, 'queue_timeout');
  rebook(s, lease, lease.toldWork);
  endRunning(s, lease, 'reaped');
}

/** Takes a waiter out of the queue and tells its owner. */
export function refuseWaiter(s: PoolState, lease: Lease, reason: WaiterRefusal): void {
  endWaiting(s, lease, reason);
  tellRefused(s, lease, reason);
}

/**
 * A waiter leaves the queue. One of the fair order that room was kept for, and whose client leaves, pays as if it were served: others were not served
 * meanwhile, and who asks for much and leaves in time, again and again, would have a pool stand still for nothing.
 */
export function endWaiting(s: PoolState, lease: Lease, how: Ended['how']): void {
  const e = lease.entitlement;
  if (how === 'left' && s.kept === lease && e.fair.position >= 0) {
    touchRates(s, e);
    e.v += lease.work / weightOf(s, e);
  }
  dequeue(s, lease);
  useChanged(s, e);
  remember(s, lease, how);
}

/** @returns how it ended; `work`: what it truly took, null: it is as if it had never been. */
export function endLease(s: PoolState, leaseId: string, work: number | null): PoolEnd {
  const lease = s.leases.get(leaseId);
  if (lease === undefined) return correct(s, leaseId, work);
  if (lease.state === 'waiting') endWaiting(s, lease, 'left');
  else {
    rebook(s, lease, wholeWork(work ?? 0));
    if (work === null) refundRequest(s);
    endRunning(s, lease, work === null ? 'cancelled' : 'settled');
  }
  return 'ended';
}

/** One that others took for dead is put right by the difference. */
function correct(s: PoolState, leaseId: string, work: number | null): PoolEnd {
  const ended = s.ended.get(leaseId);
  if (ended === undefined) return 'unknown';
  const { lease, how } = ended;
  if (how !== 'reaped' && how !== 'unclaimed') return 'already_ended';
  reattach(s, lease);
  if (how === 'reaped' && work === null) refundRequest(s);
  if (how === 'unclaimed' && work !== null) takeRequest(s);
  charge(s, lease, wholeWork(work ?? 0) - lease.bookedWork);
  remember(s, lease, work === null ? 'cancelled' : 'settled');
  return 'corrected';
}

/** Signs of life of one owner. */
export function renewAll(s: PoolState, owner: string, renewals: readonly PoolRenewal[]): void {
  for (const renewal of renewals) {
    const lease = s.leases.get(renewal.leaseId) ?? reopenDead(s, renewal);
    if (lease?.owner !== owner) continue;
    keepAlive(s, lease);
    if (lease.state !== 'waiting' && runs(renewal)) renewRunning(s, lease, renewal);
  }
}

/** A renewal of a running one tells work or KV; of a waiting one neither. */
function runs({ work, kvBytes }: PoolRenewal): boolean {
  return work > 0 || kvBytes > 0;
}

function renewRunning(s: PoolState, lease: Lease, renewal: PoolRenewal): void {
  takeUp(s, lease);
  lease.toldWork = Math.max(lease.toldWork, wholeWork(renewal.work));
  if (lease.toldWork > lease.bookedWork) rebook(s, lease, lease.toldWork);
  extendKv(s, lease, wholeKv(renewal.kvBytes));
}

/** Its owner knows that it was granted. */
export function takeUp(s: PoolState, lease: Lease): void {
  lease.state = 'running';
  s.granted.remove(lease.granted);
}

/** A stream that others took for dead runs: the one overshoot there may be. */
function reopenDead(s: PoolState, renewal: PoolRenewal): Lease | undefined {
  const ended = s.ended.get(renewal.leaseId);
  if (ended === undefined || !runs(renewal) || (ended.how !== 'reaped' && ended.how !== 'unclaimed')) return undefined;
  const { lease, how } = ended;
  s.ended.delete(lease.id);
  reattach(s, lease);
  if (how === 'unclaimed') takeRequest(s);
  reopen(s, lease);
  return lease;
}

/** Its entitlement may have been forgotten, and known again since. */
function reattach(s: PoolState, lease: Lease): void {
  const known = s.entitlements.get(lease.entitlement.id);
  if (known !== undefined) lease.entitlement = known;
  else s.entitlements.set(lease.entitlement.id, lease.entitlement);
  noteIdle(s, lease.entitlement);
}

function endRunning(s: PoolState, lease: Lease, how: Ended['how']): void {
  release(s, lease);
  s.granted.remove(lease.granted);
  remember(s, lease, how);
}

function remember(s: PoolState, lease: Lease, how: Ended['how']): void {
  const ended: Ended = { lease, how, endedMs: s.nowMs };
  s.leases.delete(lease.id);
  s.alive.remove(lease.alive);
  s.ended.set(lease.id, ended);
  s.endedOrder.push(ended);
}

function forget(s: PoolState): void {
  for (let left = FORGOTTEN_A_CALL; left > 0; left--) {
    const oldest = s.endedOrder.peek();
    if (oldest === undefined || (s.nowMs - oldest.endedMs < ENDED_MS && s.endedOrder.size <= MAX_ENDED)) return;
    s.endedOrder.shift();
    if (s.ended.get(oldest.lease.id) === oldest) s.ended.delete(oldest.lease.id);
  }
}
