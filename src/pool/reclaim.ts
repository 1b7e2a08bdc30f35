import { tellEnding } from './answers.js';
import { markEnding } from './booking.js';
import { couldEverFit, isTier0, type Amounts } from './fit.js';
import { isAboveBaseline } from './lending.js';
import { CANDIDATES } from './order.js';
import { touchRates } from './rates.js';
import type { EntitlementState, Lease, PoolState } from './state.js';

/** Waiters of tier 0 that are looked at, of all entitlements together. */
const MAX_WAITERS = 64;

/** What waiters of tier 0 need in all, and those of them that waited long enough to end streams other than spot. */
interface Need {
  readonly all: Amounts;
  readonly due: Amounts;
}

/** Ends streams above their baseline where tier 0 waits for room, only as many as it needs. */
export function reclaim(s: PoolState): void {
  s.reclaimMs = Infinity;
  if (s.tier0.size === 0) return;
  const { all, due } = needOfTier0(s);
  while (isShort(s, all) && s.spotVictims.size > 0) end(s, s.spotVictims.first()!.item.running.last!, 'reclaimed');
  for (let victim = otherVictim(s); isShort(s, due) && victim !== null; victim = otherVictim(s)) end(s, victim, 'reclaimed');
  // What is being ended is enough: nothing is to be done later.
  if (!isShort(s, all)) s.reclaimMs = Infinity;
}

/** Critical pressure: all streams of spot that may be ended are. */
export function endSpot(s: PoolState): void {
  while (s.spotVictims.size > 0) end(s, s.spotVictims.first()!.item.running.last!, 'pressure');
}

function needOfTier0(s: PoolState): Need {
  const need: Need = { all: { slots: 0, kvBytes: 0, work: 0 }, due: { slots: 0, kvBytes: 0, work: 0 } };
  let left = MAX_WAITERS;
  for (const e of s.tier0.smallest(CANDIDATES)) left = addNeed(s, e, need, left);
  return need;
}

/** Its waiters from the head on, while they are within its baseline together. */
function addNeed(s: PoolState, e: EntitlementState, { all, due }: Need, left: number): number {
  const own: Amounts = { slots: 0, kvBytes: 0, work: 0 };
  for (let lease = e.waiting.first; lease !== null && left > 0; lease = lease.after, left--) {
    add(own, lease);
    if (!isTier0(s, e, own) || !couldEverFit(s, e, 0, lease)) return left;
    add(all, lease);
    const dueMs = lease.askedMs + s.settings!.reclaimMs;
    if (dueMs <= s.nowMs) add(due, lease);
    else s.reclaimMs = Math.min(s.reclaimMs, dueMs);
  }
  return left;
}

function add(sum: Amounts, { slots, kvBytes, work }: Amounts): void {
  sum.slots += slots;
  sum.kvBytes += kvBytes;
  sum.work += work;
}

/** Whether so much is more than what is free and what is being ended. */
function isShort(s: PoolState, { slots, kvBytes }: Amounts): boolean {
  if (slots === 0) return false;
  return s.slots - s.endingSlots + slots > s.capSlots || s.kvBytes - s.endingKv + kvBytes > s.capKv;
}

/** The youngest stream of an entitlement that is above its baseline, among the entitlements with the youngest streams. */
function otherVictim(s: PoolState): Lease | null {
  for (const e of s.otherVictims.smallest(CANDIDATES)) {
    touchRates(s, e);
    if (isAboveBaseline(e)) return e.running.last;
  }
  return null;
}

function end(s: PoolState, lease: Lease, why: 'reclaimed' | 'pressure'): void {
  markEnding(s, lease);
  tellEnding(s, lease, why);
}
