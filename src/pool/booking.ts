import { refill, take } from './bucket.js';
import type { Tier } from './fit.js';
import { noteIdle } from './idle.js';
import { relend, updateVictim } from './lending.js';
import { classify } from './order.js';
import { addServed, touchRates } from './rates.js';
import { append, unlink, type EntitlementState, type Lease, type PoolState } from './state.js';
import { weightOf } from './weights.js';

/** Dispatches a lease: takes what it needs, and books its expected work as served. It is in no list. */
export function book(s: PoolState, lease: Lease, tier: Tier): void {
  const e = lease.entitlement;
  touchRates(s, e);
  lease.tier = tier;
  lease.weight = tier === 1 ? weightOf(s, e) : 0;
  lease.runSeq = ++s.seq;
  if (tier === 1) s.lastV = Math.max(s.lastV, e.v);
  takeRequest(s);
  lease.bookedWork = 0;
  addUse(s, e, lease, 1);
  if (lease.endable) append(e.running, lease);
  rebook(s, lease, lease.work);
  useChanged(s, e);
}

/** A lease that was ended by others runs again, as it was. */
export function reopen(s: PoolState, lease: Lease): void {
  const e = lease.entitlement;
  touchRates(s, e);
  lease.state = 'running';
  lease.ending = false;
  lease.runSeq = ++s.seq;
  addUse(s, e, lease, 1);
  if (lease.endable) append(e.running, lease);
  rebook(s, lease, Math.max(lease.work, lease.toldWork));
  useChanged(s, e);
}

/** A lease that runs took more than was booked, or less: everything by the difference. */
export function rebook(s: PoolState, lease: Lease, work: number): void {
  touchRates(s, lease.entitlement);
  s.bookedWork += work - lease.bookedWork;
  lease.entitlement.bookedWork += work - lease.bookedWork;
  charge(s, lease, work - lease.bookedWork);
}

/** KV cache beyond what was reserved. */
export function extendKv(s: PoolState, lease: Lease, kvBytes: number): void {
  const more = kvBytes - lease.kvBytes;
  if (more <= 0) return;
  const e = lease.entitlement;
  lease.kvBytes = kvBytes;
  s.kvBytes += more;
  e.kvBytes += more;
  if (lease.ending) {
    s.endingKv += more;
    e.endingKv += more;
  }
  useChanged(s, e);
}

/** A lease runs no more: its room is free. What was booked of its work stays. */
export function release(s: PoolState, lease: Lease): void {
  const e = lease.entitlement;
  touchRates(s, e);
  if (lease.ending) addEnding(s, lease, -1);
  else if (lease.endable) unlink(e.running, lease);
  addUse(s, e, lease, -1);
  useChanged(s, e);
}

/** One request of the pool's rate. */
export function takeRequest(s: PoolState): void {
  addRequests(s, 1);
}

/** As if it had not been dispatched: its request back too. */
export function refundRequest(s: PoolState): void {
  addRequests(s, -1);
}

function addRequests(s: PoolState, count: 1 | -1): void {
  if (s.capRequestsPerSecond === 0) return;
  refill(s.requestBucket, s.capRequestsPerSecond, s.nowMs);
  take(s.requestBucket, count);
}

/** Its owner is told to end it: it can't be chosen again, and its room counts as soon to be free. */
export function markEnding(s: PoolState, lease: Lease): void {
  unlink(lease.entitlement.running, lease);
  lease.ending = true;
  addEnding(s, lease, 1);
  updateVictim(s, lease.entitlement);
}

/** Books work of a lease that was dispatched (or takes it back, if negative), where it was charged. */
export function charge(s: PoolState, lease: Lease, work: number): void {
  const e = lease.entitlement;
  lease.bookedWork += work;
  addServed(e.rates, work);
  addServed(s.rates, work);
  if (s.capPerSecond > 0) {
    refill(s.workBucket, s.capPerSecond, s.nowMs);
    take(s.workBucket, work);
  }
  if (lease.tier === 0) chargeTier0(s, e, work);
  else if (lease.tier === 1) e.v += work / lease.weight;
  if (e.fair.position >= 0) s.fair.put(e.fair, e.v);
}

function chargeTier0(s: PoolState, e: EntitlementState, work: number): void {
  addServed(s.tier0Rates, work);
  if (e.basePerSecond === 0) return;
  refill(e.bucket, e.basePerSecond, s.nowMs);
  take(e.bucket, work);
  classify(s, e);
}

function addUse(s: PoolState, e: EntitlementState, lease: Lease, sign: 1 | -1): void {
  for (const use of [s, e]) {
    use.slots += sign * lease.slots;
    use.kvBytes += sign * lease.kvBytes;
    use.inFlight += sign;
    use.bookedWork += sign * lease.bookedWork;
  }
}

function addEnding(s: PoolState, lease: Lease, sign: 1 | -1): void {
  for (const use of [s, lease.entitlement]) {
    use.endingSlots += sign * lease.slots;
    use.endingKv += sign * lease.kvBytes;
  }
}

/** Keeps in order what follows from an entitlement's use. */
export function useChanged(s: PoolState, e: EntitlementState): void {
  relend(s, e);
  updateVictim(s, e);
  classify(s, e);
  noteIdle(s, e);
}
