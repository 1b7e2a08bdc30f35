import { readyAtMs } from './bucket.js';
import { isAged, isTier0, isWithinRoom, ownBucketSize } from './fit.js';
import { touchRates } from './rates.js';
import type { EntitlementState, PoolState } from './state.js';
import { creditOf, weightOf } from './weights.js';

/** So many entitlements are looked at in one decision. */
export const CANDIDATES = 16;

/**
 * Puts an entitlement where its head belongs: among tier 0 by its arrival, or in the fair order by v. To be called after its queue, its use,
 * its baseline or its bucket changed.
 */
export function classify(s: PoolState, e: EntitlementState): void {
  const head = e.waiting.first;
  if (head === null) {
    s.tier0.remove(e.tier0);
    s.fair.remove(e.fair);
    s.ripening.remove(e.ripening);
  } else if (isTier0(s, e, head)) {
    s.fair.remove(e.fair);
    s.ripening.remove(e.ripening);
    s.tier0.put(e.tier0, head.seq);
  } else {
    s.tier0.remove(e.tier0);
    if (e.fair.position < 0) enterFair(s, e);
    else s.fair.put(e.fair, e.v);
    if (e.assured && isWithinRoom(e, head.slots, head.kvBytes)) {
      s.ripening.put(e.ripening, readyAtMs(e.bucket, e.basePerSecond, ownBucketSize(s, e), head.work, s.nowMs));
    } else s.ripening.remove(e.ripening);
  }
}

/** Who begins to wait starts beside the others: what it did not use before is not saved, but for 2 s of its baseline. */
function enterFair(s: PoolState, e: EntitlementState): void {
  touchRates(s, e);
  const least = s.fair.first()?.key ?? s.lastV;
  e.v = Math.max(e.v, least - creditOf(e, weightOf(s, e)));
  s.fair.put(e.fair, e.v);
}

/** Heads that became tier 0 since their own bucket filled. */
export function ripen(s: PoolState): void {
  for (let next = s.ripening.first(); next !== null && next.key <= s.nowMs; next = s.ripening.first()) classify(s, next.item);
}

/** The next of tier 1: smallest v first; under pressure the shortest first among those near the smallest. */
export function fairOrder(s: PoolState): EntitlementState[] {
  const byV = s.fair.smallest(CANDIDATES);
  return s.pressure === 'normal' ? byV : shortestFirst(s, byV);
}

interface Ranked {
  readonly e: EntitlementState;
  readonly group: number;
  readonly key: number;
  readonly position: number;
}

/** Those past half their hold or SLO by arrival; then those within the work in flight of the smallest v, shortest first; then the rest. */
function shortestFirst(s: PoolState, byV: readonly EntitlementState[]): EntitlementState[] {
  const ranked: Ranked[] = byV.map((e, position) => {
    const head = e.waiting.first!;
    touchRates(s, e);
    const weight = weightOf(s, e);
    if (isAged(s, head)) return { e, group: 0, key: head.seq, position };
    if (e.v <= byV[0]!.v + s.bookedWork / weight) return { e, group: 1, key: head.work / weight, position };
    return { e, group: 2, key: 0, position };
  });
  ranked.sort((a, b) => a.group - b.group || a.key - b.key || a.position - b.position);
  return ranked.map(({ e }) => e);
}
