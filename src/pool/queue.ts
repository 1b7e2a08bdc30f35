import { lackingAt } from './bucket.js';
import { ownBucketSize } from './fit.js';
import { noteIdle } from './idle.js';
import { CANDIDATES, classify } from './order.js';
import { touchRates } from './rates.js';
import { append, unlink, type EntitlementState, type Lease, type PoolState } from './state.js';

/** A lease begins to wait, behind the others of its entitlement. */
export function enqueue(s: PoolState, lease: Lease): void {
  const e = lease.entitlement;
  touchRates(s, e);
  append(e.waiting, lease);
  addWaiting(s, e, lease, 1);
  s.deadlines.put(lease.deadline, lease.deadlineMs);
  classify(s, e);
  noteIdle(s, e);
}

/** A lease waits no more. The caller sees to the order (`classify`) once it changed what else there is to change. */
export function dequeue(s: PoolState, lease: Lease): void {
  const e = lease.entitlement;
  touchRates(s, e);
  unlink(e.waiting, lease);
  addWaiting(s, e, lease, -1);
  s.deadlines.remove(lease.deadline);
  if (s.kept === lease) s.kept = null;
}

function addWaiting(s: PoolState, e: EntitlementState, lease: Lease, sign: 1 | -1): void {
  e.waitingSlots += sign * lease.slots;
  e.waitingKv += sign * lease.kvBytes;
  e.waitingWork += sign * lease.work;
  e.waitingBytes += sign * lease.bytes;
  s.waitingCount += sign;
  s.waitingBytes += sign * lease.bytes;
  s.waitingWork += sign * lease.work;
  if (e.waiting.count > 0) {
    s.longest.put(e.longest, -e.waiting.count);
    s.heaviest.put(e.heaviest, -e.waitingBytes);
  } else {
    s.longest.remove(e.longest);
    s.heaviest.remove(e.heaviest);
  }
}

/**
 * Whether tier 0 that has to wait is within its baseline with all that waits there: it is queued beyond the bounds. Where no slots bound how many
 * that are, its own λ does.
 */
export function isExempt(s: PoolState, e: EntitlementState): boolean {
  if (!e.assured || e.slots + e.waitingSlots > e.baseSlots || e.kvBytes + e.waitingKv > e.baseKv) return false;
  if (e.baseSlots !== Infinity || e.basePerSecond === 0 || e.waiting.count === 1) return true;
  return lackingAt(e.bucket, e.basePerSecond, s.nowMs) + e.waitingWork <= ownBucketSize(s, e);
}

/** Whether the queue holds more than it may, with the latest in it. */
export function isOverfull(s: PoolState): boolean {
  return overCount(s) > 0 || overBytes(s) > 0;
}

const overCount = (s: PoolState): number => s.waitingCount - s.settings!.maxWaiting;
const overBytes = (s: PoolState): number => s.waitingBytes - s.settings!.maxWaitingBytes;

/**
 * Who gives way to the latest of `e` in a queue that is full: the last that came of the entitlement that has most in it, while that has more
 * than `e`. Empty: nobody, and the latest is not taken. (Were the queue simply full, one tenant that sends without end would have all of it, and
 * the fair order would have nobody else to choose from.)
 */
export function givingWay(s: PoolState, e: EntitlementState): readonly Lease[] {
  const byCount = overCount(s) > 0;
  const other = (byCount ? s.longest : s.heaviest).smallest(CANDIDATES).find((one) => !isExempt(s, one));
  if (other === undefined || other === e) return [];
  const leaving: Lease[] = [];
  let bytes = 0;
  const isEnough = (): boolean => leaving.length >= overCount(s) && bytes >= overBytes(s);
  for (let lease = other.waiting.last; lease !== null && lease !== other.waiting.first && !isEnough(); lease = lease.before) {
    leaving.push(lease);
    bytes += lease.bytes;
  }
  const hasMore = byCount ? other.waiting.count - leaving.length >= e.waiting.count : other.waitingBytes - bytes >= e.waitingBytes;
  return isEnough() && hasMore ? leaving : [];
}
