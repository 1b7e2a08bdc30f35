import { servedOf, touchRates } from './rates.js';
import type { EntitlementState, PoolState } from './state.js';

/** An entitlement that was served less than this and does nothing is forgotten, in tokens a second. */
const LEAST_SERVED = 1;
/** So many idle ones are looked at in one call. */
const LOOKED_AT = 2;
/** Beyond so many, one that is idle gives way for a new one. */
const MAX_ENTITLEMENTS = 10_000;

/** Keeps those with nothing waiting and nothing in flight in the order in which they became so. */
export function noteIdle(s: PoolState, e: EntitlementState): void {
  if (e.count > 0 || e.waiting.count > 0) s.idle.delete(e.id);
  else if (!s.idle.has(e.id)) s.idle.set(e.id, e);
}

/** Forgets idle entitlements of which nothing is left to remember: a few a call. */
export function dropIdle(s: PoolState): void {
  for (let looked = Math.min(LOOKED_AT, s.idle.size); looked > 0; looked--) {
    const e = firstIdle(s)!;
    touchRates(s, e);
    s.idle.delete(e.id);
    if (e.rates.debt === 0 && servedOf(e.rates) < LEAST_SERVED) s.entitlements.delete(e.id);
    else s.idle.set(e.id, e);
  }
}

/** Makes room for one more. */
export function evictIdle(s: PoolState): void {
  if (s.entitlements.size < MAX_ENTITLEMENTS) return;
  const e = firstIdle(s);
  if (e === null) return;
  s.idle.delete(e.id);
  s.entitlements.delete(e.id);
}

function firstIdle(s: PoolState): EntitlementState | null {
  for (const e of s.idle.values()) return e;
  return null;
}
