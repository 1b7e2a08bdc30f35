import { factorsOf, tellGranted } from './answers.js';
import { book } from './booking.js';
import { readyAtMs, refill } from './bucket.js';
import { couldEverFit, fitsRate, fitsRequests, fitsRoom, isAged, isTier0 } from './fit.js';
import { CANDIDATES, fairOrder, ripen } from './order.js';
import { dequeue } from './queue.js';
import type { EntitlementState, Lease, PoolState } from './state.js';

/** Waiters behind heads that are looked at where no head fits: of one entitlement, and in all. */
const DEEPER_EACH = 4;
const DEEPER = 16;

/** Dispatches until nothing more fits, or as many as one call may. */
export function pump(s: PoolState): void {
  ripen(s);
  if (s.capPerSecond > 0) refill(s.workBucket, s.capPerSecond, s.nowMs);
  if (s.capRequestsPerSecond > 0) refill(s.requestBucket, s.capRequestsPerSecond, s.nowMs);
  s.more = false;
  for (let left = s.dispatchesPerCall; ; left--) {
    s.rateBlocked = false;
    s.rateReadyMs = Infinity;
    const next = nextOf(s);
    if (next === null) return;
    if (left === 0) {
      s.more = true;
      return;
    }
    dispatch(s, next);
  }
}

/** Who goes next; null: nobody fits. Notes whom room is kept for, and which bucket is in the way. */
function nextOf(s: PoolState): Lease | null {
  // Without a free slot nothing is to be decided; room is named for somebody when there is some.
  if (s.waitingCount === 0 || s.slots >= s.capSlots) return null;
  if (!fitsRequests(s)) {
    block(s, readyAtMs(s.requestBucket, s.capRequestsPerSecond, s.requestBucketSize, 1, s.nowMs));
    return null;
  }
  const kept = s.kept;
  s.kept = null;
  return nextOfTier0(s) ?? nextOfKept(s, kept) ?? nextOfFair(s);
}

/** Heads of tier 0, oldest first. Room is kept for the first that does not fit. */
function nextOfTier0(s: PoolState): Lease | null {
  for (const e of s.tier0.smallest(CANDIDATES)) {
    const head = e.waiting.first!;
    if (fitsRoom(s, e, 0, head)) return head;
    if (s.kept === null && couldEverFit(s, e, 0, head)) s.kept = head;
  }
  return null;
}

/** The waiter that room was kept for before, if it is still to be: nobody goes before it but tier 0. */
function nextOfKept(s: PoolState, lease: Lease | null): Lease | null {
  if (s.kept !== null || lease?.state !== 'waiting' || s.pressure === 'critical') return null;
  const e = lease.entitlement;
  if (e.waiting.first !== lease || !couldEverFit(s, e, 1, lease)) return null;
  if (fitsRoom(s, e, 1, lease)) return passesRate(s, lease) ? lease : null;
  s.kept = lease;
  return null;
}

/**
 * Tier 1 by v. What lacks tokens is waited for: they can't be lost meanwhile. What lacks room is passed over, until it is the first and past half
 * its hold or its SLO. (Were another one named, backlogs would pass before those who are within their share.)
 */
function nextOfFair(s: PoolState): Lease | null {
  if (s.kept !== null || s.rateBlocked || s.pressure === 'critical' || s.fair.size === 0) return null;
  const order = fairOrder(s);
  for (const e of order) {
    const head = e.waiting.first!;
    if (fitsRoom(s, e, 1, head)) return passesRate(s, head) ? head : null;
    if (e === order[0] && isAged(s, head) && couldEverFit(s, e, 1, head)) {
      s.kept = head;
      return null;
    }
  }
  return nextDeeper(s, order);
}

/** No head fits: a few that wait behind them may. */
function nextDeeper(s: PoolState, order: readonly EntitlementState[]): Lease | null {
  let left = DEEPER;
  for (const e of order) {
    let lease = e.waiting.first!.after;
    for (let i = 0; i < DEEPER_EACH && left > 0 && lease !== null; i++, left--, lease = lease.after) {
      if (fitsRoom(s, e, 1, lease)) return passesRate(s, lease) ? lease : null;
      if (isTier0(s, e, lease) && fitsRoom(s, e, 0, lease)) return lease;
    }
  }
  return null;
}

/** Whether the pool's λ has enough for this one of tier 1; if not, nobody of tier 1 may take from it before. */
function passesRate(s: PoolState, lease: Lease): boolean {
  if (fitsRate(s, 1, lease.work)) return true;
  block(s, readyAtMs(s.workBucket, s.capPerSecond, s.workBucketSize, lease.work, s.nowMs));
  return false;
}

function block(s: PoolState, readyMs: number): void {
  s.rateBlocked = true;
  s.rateReadyMs = readyMs;
}

/** A waiter's turn has come. */
function dispatch(s: PoolState, lease: Lease): void {
  const e = lease.entitlement;
  const tier = isTier0(s, e, lease) ? 0 : 1;
  dequeue(s, lease);
  const factors = factorsOf(s, e, tier);
  book(s, lease, tier);
  if (lease === s.asking) {
    lease.state = 'running';
    return;
  }
  lease.state = 'granted';
  s.granted.put(lease.granted, s.clockMs);
  tellGranted(s, lease, factors);
}
