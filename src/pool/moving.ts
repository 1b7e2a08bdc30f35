import type { Entitlement, PoolAsk, PoolSettings } from '../domain/pool.js';
import { wholeKv, wholeWork } from './amounts.js';
import { entitlementOf, newLease } from './asking.js';
import { reopen } from './booking.js';
import type { Bucket } from './bucket.js';
import { advanceClock, keepAlive } from './leases.js';
import { enqueue } from './queue.js';
import { AVERAGE_S, peekPlain, peekRates, phiOf, servedOf } from './rates.js';
import type { PoolScheduler } from './scheduler.js';
import { applySettings } from './settings.js';
import type { EntitlementState, Lease, PoolState, Rates } from './state.js';
import { weightOf } from './weights.js';

/** What a pool remembers of the past, without its leases: their owners know those. Plain JSON. */
export interface SavedPool {
  readonly atMs: number;
  readonly lastV: number;
  readonly rates: Rates;
  readonly tier0Rates: Rates;
  readonly workBucket: Bucket;
  readonly requestBucket: Bucket;
  readonly entitlements: readonly SavedEntitlement[];
}

export interface SavedEntitlement {
  readonly config: Entitlement;
  readonly v: number;
  readonly rates: Rates;
  readonly bucket: Bucket;
  /** It had a waiter: its v is its place among the others. */
  readonly waits: boolean;
}

/** A lease that another scheduler dispatched, or queued, as its owner knows it. */
export interface MovedLease {
  readonly ask: PoolAsk;
  readonly askedMs: number;
  /** Null: it waits. */
  readonly ranMs: number | null;
  /** What it has taken until now. */
  readonly work: number;
  readonly kvBytes: number;
}

/** Of more entitlements only so many are remembered. */
const MAX_SAVED = 2_000;

/** What another scheduler of the same pool needs to go on in fairness. To look changes nothing. */
export function exportState({ state: s }: PoolScheduler, nowMs: number): SavedPool {
  const now = Math.max(Math.floor(nowMs), s.nowMs);
  const tier0Rates = peekPlain(s.tier0Rates, now);
  const phi = phiOf(s, tier0Rates);
  const entitlements: SavedEntitlement[] = [];
  for (const e of s.entitlements.values()) {
    if (entitlements.length === MAX_SAVED) break;
    if (!isWorthSaving(e)) continue;
    entitlements.push({ config: e.config, v: e.v, rates: peekRates(s, e, phi, now), bucket: { ...e.bucket }, waits: e.waiting.count > 0 });
  }
  const { lastV, workBucket, requestBucket } = s;
  return { atMs: now, lastV, rates: peekPlain(s.rates, now), tier0Rates, workBucket: { ...workBucket }, requestBucket: { ...requestBucket }, entitlements };
}

function isWorthSaving(e: EntitlementState): boolean {
  return e.inFlight > 0 || e.waiting.count > 0 || e.rates.debt > 0 || servedOf(e.rates) >= 1;
}

/** Goes on where another scheduler of the pool was. This one is empty, and takes over leases next; then `keepPlaces` is to be called. */
export function restoreState({ state: s }: PoolScheduler, saved: SavedPool, settings: PoolSettings, nowMs: number): void {
  advanceClock(s, nowMs);
  applySettings(s, settings);
  s.lastV = saved.lastV;
  restoreRates(s, s.rates, saved.rates);
  restoreRates(s, s.tier0Rates, saved.tier0Rates);
  restoreBucket(s, s.workBucket, saved.workBucket);
  restoreBucket(s, s.requestBucket, saved.requestBucket);
  for (const { config, v, rates, bucket } of saved.entitlements) {
    const e = entitlementOf(s, config);
    e.v = v;
    restoreRates(s, e.rates, rates);
    restoreBucket(s, e.bucket, bucket);
  }
}

/** Clocks of two machines differ: nothing is from the future. */
function restoreRates(s: PoolState, rates: Rates, saved: Rates): void {
  Object.assign(rates, saved, { updatedMs: Math.min(saved.updatedMs, s.nowMs) });
}

function restoreBucket(s: PoolState, bucket: Bucket, saved: Bucket): void {
  bucket.lacking = saved.lacking;
  bucket.atMs = Math.min(saved.atMs, s.nowMs);
}

/** Who waited when the state was saved keeps its place, in whatever order the waiters came. */
export function keepPlaces({ state: s }: PoolScheduler, saved: SavedPool): void {
  for (const { config, v, waits } of saved.entitlements) {
    const e = s.entitlements.get(config.id);
    if (e === undefined || !waits || e.fair.position < 0) continue;
    e.v = v;
    s.fair.put(e.fair, v);
  }
}

/**
 * Takes over a lease that runs, also above capacity: it does run. What was served before `chargedMs` is in the restored state; older than the
 * average is not charged either. Dispatches nothing.
 */
export function adoptRunning({ state: s }: PoolScheduler, moved: MovedLease, chargedMs: number, nowMs: number): void {
  const lease = begin(s, moved, nowMs);
  const { ranMs } = moved;
  lease.tier = tierOf(lease);
  lease.weight = lease.tier === 1 ? weightOf(s, lease.entitlement) : 0;
  lease.toldWork = wholeWork(moved.work);
  lease.kvBytes = Math.max(lease.kvBytes, wholeKv(moved.kvBytes));
  const isCharged = ranMs !== null && ranMs <= Math.max(chargedMs, s.nowMs - AVERAGE_S * 1_000);
  lease.bookedWork = isCharged ? Math.max(lease.work, lease.toldWork) : 0;
  reopen(s, lease);
  keepAlive(s, lease);
}

/** Takes over a lease that waits: with the time it has waited, behind those that came before. Dispatches nothing. */
export function adoptWaiting({ state: s }: PoolScheduler, moved: MovedLease, nowMs: number): void {
  const lease = begin(s, moved, nowMs);
  enqueue(s, lease);
  keepAlive(s, lease);
}

function begin(s: PoolState, { ask, askedMs }: MovedLease, nowMs: number): Lease {
  advanceClock(s, nowMs);
  applySettings(s, ask.pool);
  s.ended.delete(ask.leaseId);
  const lease = newLease(s, entitlementOf(s, ask.entitlement), ask);
  const waitedMs = Math.max(0, s.nowMs - askedMs);
  return Object.assign(lease, { askedMs: lease.askedMs - waitedMs, deadlineMs: lease.deadlineMs - waitedMs });
}

/** Its tier as far as the class tells; which part of its baseline it used is not known any more. */
function tierOf({ entitlement: e }: Lease): Lease['tier'] {
  if (e.config.serviceClass === 'spot') return 'spot';
  return e.assured && e.slots < e.baseSlots && e.kvBytes < e.baseKv ? 0 : 1;
}
