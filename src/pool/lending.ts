import { servedOf } from './rates.js';
import type { EntitlementState, PoolState } from './state.js';

/** Keeps the sums of what is used of baselines that are lent to nobody, or to spot only. To be called after use or baseline changed. */
export function relend(s: PoolState, e: EntitlementState): void {
  addLent(s, e, -1);
  const { lend } = e.config;
  e.lentTo = lend;
  e.lentSlots = e.baseSlots === Infinity || lend === 'all' ? 0 : Math.min(e.slots, e.baseSlots);
  e.lentKv = e.baseKv === Infinity || lend === 'all' ? 0 : Math.min(e.kvBytes, e.baseKv);
  addLent(s, e, 1);
}

function addLent(s: PoolState, e: EntitlementState, sign: 1 | -1): void {
  if (e.lentTo === 'none') {
    s.noneUsedSlots += sign * e.lentSlots;
    s.noneUsedKv += sign * e.lentKv;
  } else if (e.lentTo === 'spot') {
    s.spotUsedSlots += sign * e.lentSlots;
    s.spotUsedKv += sign * e.lentKv;
  }
}

/** Keeps an entitlement among those whose streams may be ended, by its youngest, while it may be one. */
export function updateVictim(s: PoolState, e: EntitlementState): void {
  const { serviceClass, preemptible } = e.config;
  const youngest = preemptible ? e.running.last : null;
  const isSpot = serviceClass === 'spot';
  if (youngest !== null && isSpot) s.spotVictims.put(e.spotVictim, -youngest.runSeq);
  else s.spotVictims.remove(e.spotVictim);
  if (youngest !== null && !isSpot && (!hasRoomBaseline(e) || isAboveRoom(e))) s.otherVictims.put(e.otherVictim, -youngest.runSeq);
  else s.otherVictims.remove(e.otherVictim);
}

/** Whether its youngest stream runs above its baseline now; of those without slots and KV by what it was served. */
export function isAboveBaseline(e: EntitlementState): boolean {
  if (e.config.serviceClass === 'spot') return true;
  if (hasRoomBaseline(e)) return isAboveRoom(e);
  return e.basePerSecond === 0 || servedOf(e.rates) > e.basePerSecond;
}

function hasRoomBaseline(e: EntitlementState): boolean {
  return e.baseSlots !== Infinity || e.baseKv !== Infinity;
}

function isAboveRoom(e: EntitlementState): boolean {
  return e.slots - e.endingSlots > e.baseSlots || e.kvBytes - e.endingKv > e.baseKv;
}
