import { noteIdle } from './idle.js';
import { classify } from './order.js';
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
  s.waitingCount += sign;
  s.waitingBytes += sign * lease.bytes;
  s.waitingWork += sign * lease.work;
}

/** Whether a tier 0 request that has to wait is within its baseline with all that waits there: it is queued beyond the bounds. */
export function isExempt(e: EntitlementState): boolean {
  return e.assured && e.slots + e.waitingSlots <= e.baseSlots && e.kvBytes + e.waitingKv <= e.baseKv;
}

/** Whether the queue holds more than it may, with the latest in it. */
export function isOverfull(s: PoolState): boolean {
  const { maxWaiting, maxWaitingBytes } = s.settings!;
  return s.waitingCount > maxWaiting || s.waitingBytes > maxWaitingBytes;
}
