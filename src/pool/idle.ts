import { lackingAt } from './bucket.js';
import { servedOf, touchRates } from './rates.js';
import type { EntitlementState, PoolState } from './state.js';
import { weightOf } from './weights.js';

/** An entitlement that was served less than this and does nothing is forgotten, in tokens a second. */
const LEAST_SERVED = 1;
/** Who was served so many tokens before its turn and does nothing is taken for one that was not; one of more after so long. */
const AHEAD_TOKENS = 1_000;
const AHEAD_MS = 600_000;
/** So many idle ones are looked at in one call. */
const LOOKED_AT = 2;
/** So many that owe or are owed are passed over to make room for a new one. */
const MOST_PASSED = 16;
/** Beyond so many, one that is idle gives way for a new one. */
const MAX_ENTITLEMENTS = 10_000;

/** Keeps those with nothing waiting and nothing in flight in the order in which they became so. */
export function noteIdle(s: PoolState, e: EntitlementState): void {
  if (e.inFlight > 0 || e.waiting.count > 0) s.idle.remove(e.idle);
  else if (e.idle.position < 0) {
    e.idleSinceMs = s.nowMs;
    s.idle.put(e.idle, ++s.seq);
  }
}

/** Forgets idle entitlements of which nothing is left to remember: a few a call. */
export function dropIdle(s: PoolState): void {
  for (let looked = Math.min(LOOKED_AT, s.idle.size); looked > 0; looked--) {
    const e = s.idle.first()!.item;
    touchRates(s, e);
    if (isForgettable(s, e)) forget(s, e);
    else s.idle.put(e.idle, ++s.seq);
  }
}

/** Nobody gains by being forgotten, and nobody loses. */
function isForgettable(s: PoolState, e: EntitlementState): boolean {
  return servedOf(e.rates) < LEAST_SERVED && !isOwing(s, e);
}

/** Whether it is owed something, its own λ owes, or it had much before its turn. Its rates were brought to now. */
function isOwing(s: PoolState, e: EntitlementState): boolean {
  if (e.rates.debt > 0 || lackingAt(e.bucket, e.basePerSecond, s.nowMs) > 0) return true;
  const least = s.fair.first()?.key ?? s.lastV;
  return (e.v - least) * weightOf(s, e) > AHEAD_TOKENS && s.nowMs - e.idleSinceMs < AHEAD_MS;
}

/** Makes room for one more: the one that is idle for longest, of a few that neither owe nor are owed. (Who can make up tenants must not wipe out others.) */
export function evictIdle(s: PoolState): void {
  if (s.entitlements.size < MAX_ENTITLEMENTS) return;
  for (let looked = MOST_PASSED; looked > 0 && s.idle.size > 0; looked--) {
    const e = s.idle.first()!.item;
    touchRates(s, e);
    if (!isOwing(s, e)) return forget(s, e);
    s.idle.put(e.idle, ++s.seq);
  }
  const longest = s.idle.first();
  if (longest !== null) forget(s, longest.item);
}

function forget(s: PoolState, e: EntitlementState): void {
  s.idle.remove(e.idle);
  s.entitlements.delete(e.id);
}
