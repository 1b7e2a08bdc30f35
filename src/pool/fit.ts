import { has, refill } from './bucket.js';
import type { EntitlementState, Lease, PoolState } from './state.js';

export type Tier = 0 | 1 | 'spot';

/** Amounts of a request, or of several together. */
export interface Amounts {
  slots: number;
  kvBytes: number;
  work: number;
}

/** Whether so much more is within the baseline in slots and KV. */
export function isWithinRoom(e: EntitlementState, slots: number, kvBytes: number): boolean {
  return e.slots + slots <= e.baseSlots && e.kvBytes + kvBytes <= e.baseKv;
}

/** Whether its own λ has so much. */
export function isWithinRate(s: PoolState, e: EntitlementState, work: number): boolean {
  if (e.basePerSecond === 0) return true;
  refill(e.bucket, e.basePerSecond, s.nowMs);
  return has(e.bucket, ownBucketSize(s, e), work);
}

export function ownBucketSize(s: PoolState, e: EntitlementState): number {
  return e.basePerSecond * (s.settings?.burstSeconds ?? 0);
}

/** Tier 0: dedicated and guaranteed, so far as it fits in its own baseline. */
export function isTier0(s: PoolState, e: EntitlementState, { slots, kvBytes, work }: Amounts): boolean {
  return e.assured && isWithinRoom(e, slots, kvBytes) && isWithinRate(s, e, work);
}

/** Slots that are kept from this borrower: idle baselines of others which do not lend to it. */
export function keptSlots(s: PoolState, e: EntitlementState, tier: Tier): number {
  if (tier === 0) return 0;
  const { lend } = e.config;
  const own = e.baseSlots === Infinity ? 0 : e.baseSlots - e.lentSlots;
  let kept = Math.max(0, s.noneSlots - s.noneUsedSlots - (lend === 'none' ? own : 0));
  if (tier === 1) kept += Math.max(0, s.spotSlots - s.spotUsedSlots - (lend === 'spot' ? own : 0));
  return kept;
}

/** As `keptSlots`, of KV. */
export function keptKv(s: PoolState, e: EntitlementState, tier: Tier): number {
  if (tier === 0) return 0;
  const { lend } = e.config;
  const own = e.baseKv === Infinity ? 0 : e.baseKv - e.lentKv;
  let kept = Math.max(0, s.noneKv - s.noneUsedKv - (lend === 'none' ? own : 0));
  if (tier === 1) kept += Math.max(0, s.spotKv - s.spotUsedKv - (lend === 'spot' ? own : 0));
  return kept;
}

export function fitsRoom(s: PoolState, e: EntitlementState, tier: Tier, { slots, kvBytes }: Amounts): boolean {
  return s.slots + keptSlots(s, e, tier) + slots <= s.capSlots && s.kvBytes + keptKv(s, e, tier) + kvBytes <= s.capKv;
}

/** Whether the pool's λ has so much; tier 0 does not ask. The bucket was brought to now. */
export function fitsRate(s: PoolState, tier: Tier, work: number): boolean {
  return tier === 0 || s.capPerSecond === 0 || has(s.workBucket, s.workBucketSize, work);
}

/** Whether the pool may begin one more request. The bucket was brought to now. */
export function fitsRequests(s: PoolState): boolean {
  return s.capRequestsPerSecond === 0 || has(s.requestBucket, s.requestBucketSize, 1);
}

/** Whether it would fit in a pool where nothing runs: what doesn't never will. */
export function couldEverFit(s: PoolState, e: EntitlementState, tier: Tier, { slots, kvBytes }: Amounts): boolean {
  if (slots > s.capSlots || kvBytes > s.capKv) return false;
  if (e.assured && slots <= e.baseSlots && kvBytes <= e.baseKv) return true;
  const { lend } = e.config;
  const none = lend === 'none' ? 1 : 0;
  const spot = lend === 'spot' ? 1 : 0;
  const ownSlots = e.baseSlots === Infinity ? 0 : e.baseSlots;
  const ownKv = e.baseKv === Infinity ? 0 : e.baseKv;
  const forSpot = tier === 'spot' ? 0 : 1;
  const othersSlots = Math.max(0, s.noneSlots - none * ownSlots) + forSpot * Math.max(0, s.spotSlots - spot * ownSlots);
  const othersKv = Math.max(0, s.noneKv - none * ownKv) + forSpot * Math.max(0, s.spotKv - spot * ownKv);
  return slots + othersSlots <= s.capSlots && kvBytes + othersKv <= s.capKv;
}

/**
 * Past half its hold, or half of the time to first token that is wanted: room is kept for it. (With the hold alone, the large requests of who
 * wants an answer in 2 s stood 15 s while small ones of others took each room that became free.)
 */
export function isAged(s: PoolState, lease: Lease): boolean {
  return (s.nowMs - lease.askedMs) * 2 >= Math.min(lease.deadlineMs - lease.askedMs, lease.sloMs);
}
