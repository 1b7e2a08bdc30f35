import type { BucketCharge, Consumption, Level, Shortage } from '../domain/lease.js';
import type { BucketSpec } from '../domain/store.js';
import type { LimitDimension } from '../domain/tenant.js';
import { bringBack, deficitAt, giveBack, laterMs, remainingTokens, resetMs, take, waitMs, wholeTokens } from '../quota/bucket.js';
import type { BucketState } from '../quota/bucket.js';

/** Without any ended lease to go by: how long a place in a concurrency limit is guessed to stay taken. */
const UNKNOWN_HOLD_MS = 1_000;
const MIN_PLACE_WAIT_MS = 100;
const MAX_PLACE_WAIT_MS = 60_000;
/** Weight of the latest lease in the mean duration: one in so many, as in TCP's round-trip estimate. */
const HOLD_PARTS = 8;
/** What a concurrency bucket learned is void when it was free for so long. */
const LEARNED_MS = 60_000;
/** A bucket is kept for so long after there was a reason to, so that a clock that steps back by less forgives nothing. */
const KEEP_MS = 60_000;

/** One bucket. Concurrency counts leases in `held` and uses no deficit. */
export interface Bucket extends BucketState {
  readonly key: string;
  readonly tenantId: string;
  readonly dimension: LimitDimension;
  /** Rate of the latest charge: what it refills at while nobody tells. */
  limit: number;
  /** Leases in flight that hold a charge here. */
  held: number;
  /** Mean duration of ended leases, in eighths of a millisecond, so that it stays whole; 0 while none ended. Concurrency only. */
  holdEighths: number;
}

/** What a lease holds of a bucket. */
export interface Holding {
  bucket: Bucket;
  readonly countCachedInput: boolean;
  readonly inputAmount: number;
  /** Tokens charged at first. */
  readonly reserved: number;
  /** Tokens charged up to now: the reservation and its extensions. */
  amount: number;
}

/** How full the bucket of `spec` is; one that is not known is full. */
export function levelOf(bucket: Bucket | undefined, spec: BucketSpec, nowMs: number): Level {
  const { key, tenantId, dimension, limit, capacity } = spec;
  if (dimension === 'concurrency') {
    return { key, tenantId, dimension, limit, capacity, remaining: capacity - (bucket?.held ?? 0), resetMs: 0 };
  }
  const deficit = deficitAt(bucket, limit, nowMs);
  const remaining = remainingTokens(deficit, capacity);
  return { key, tenantId, dimension, limit, capacity, remaining, resetMs: resetMs(deficit, limit) };
}

/** Milliseconds until the charge fits: exact for rates, a guess for concurrency. 0 if it fits now. */
export function chargeWaitMs(bucket: Bucket | undefined, charge: BucketCharge, nowMs: number): number {
  if (charge.dimension === 'concurrency') return placeWaitMs(bucket, charge.capacity);
  return waitMs(deficitAt(bucket, charge.limit, nowMs), charge, charge.amount);
}

export function shortageOf(bucket: Bucket | undefined, charge: BucketCharge, wait: number, nowMs: number): Shortage {
  // A running lease gives back what it did not need, and may take more: then nobody knows the wait.
  const exact = charge.dimension !== 'concurrency' && (bucket?.held ?? 0) === 0;
  return { level: levelOf(bucket, charge, nowMs), needed: charge.amount, waitMs: wait, exact };
}

/** Charges a bucket for a lease that begins. */
export function hold(bucket: Bucket, charge: BucketCharge, nowMs: number): Holding {
  occupy(bucket, nowMs);
  bucket.deficitUnits = deficitAt(bucket, charge.limit, nowMs);
  bucket.updatedMs = laterMs(bucket, nowMs);
  bucket.limit = charge.limit;
  const amount = charge.dimension === 'concurrency' ? 0 : wholeTokens(charge.amount);
  if (amount > 0) bucket.deficitUnits = take(bucket.deficitUnits, amount);
  return { bucket, countCachedInput: charge.countCachedInput, inputAmount: wholeTokens(charge.inputAmount), reserved: amount, amount };
}

/** A lease that was taken for dead holds its reservation again, and what exceeds it. */
export function holdAgain(holding: Holding, outputTokens: number, nowMs: number): void {
  occupy(holding.bucket, nowMs);
  adjust(holding, extendedAmount(holding, holding.reserved, outputTokens), nowMs);
}

function occupy(bucket: Bucket, nowMs: number): void {
  if (bucket.held === 0 && laterMs(bucket, nowMs) - bucket.updatedMs >= LEARNED_MS) bucket.holdEighths = 0;
  bucket.held++;
}

/** Brings what a lease holds to `amount` tokens: takes the rest, debt or not, or gives back. */
export function adjust(holding: Holding, amount: number, nowMs: number): void {
  const { bucket } = holding;
  const more = amount - holding.amount;
  holding.amount = amount;
  if (more === 0) return;
  bringBack(bucket, nowMs);
  const deficit = deficitAt(bucket, bucket.limit, nowMs);
  bucket.updatedMs = laterMs(bucket, nowMs);
  bucket.deficitUnits = more > 0 ? take(deficit, more) : giveBack(deficit, -more);
}

/** A lease that held a charge ended. */
export function release(bucket: Bucket, nowMs: number): void {
  bucket.held--;
  // Of a rate bucket the time belongs to its deficit and must not move alone.
  if (bucket.dimension === 'concurrency') bucket.updatedMs = laterMs(bucket, nowMs);
}

/** Extends a holding to so much output; it never shrinks by that. */
export function extend(holding: Holding, outputTokens: number, nowMs: number): void {
  adjust(holding, extendedAmount(holding, holding.amount, outputTokens), nowMs);
}

function extendedAmount(holding: Holding, amount: number, outputTokens: number): number {
  switch (holding.bucket.dimension) {
    case 'requests':
    case 'concurrency':
    case 'inputTokens':
      return amount;
    case 'tokens':
    case 'outputTokens':
      return Math.max(amount, holding.inputAmount + wholeTokens(outputTokens));
  }
}

/** What a holding comes to at the true figures, which must be sane (`saneConsumption`). */
export function trueAmount(holding: Holding, consumed: Consumption): number {
  switch (holding.bucket.dimension) {
    case 'requests':
      return holding.reserved;
    case 'concurrency':
      return 0;
    case 'inputTokens':
      return countedInput(holding, consumed);
    case 'outputTokens':
      return consumed.outputTokens;
    case 'tokens':
      return countedInput(holding, consumed) + consumed.outputTokens;
  }
}

/** A lease of so many milliseconds ended in regular fashion: learn how long a place stays taken. */
export function learnHold(bucket: Bucket, durationMs: number): void {
  if (bucket.dimension !== 'concurrency') return;
  const mean = bucket.holdEighths;
  bucket.holdEighths = mean === 0 ? Math.max(1, durationMs) * HOLD_PARTS : mean + durationMs - Math.floor(mean / HOLD_PARTS);
}

/** True if nothing is charged: forgetting the bucket forgives nothing. */
export function isUncharged(bucket: Bucket, nowMs: number): boolean {
  return bucket.held === 0 && deficitAt(bucket, bucket.limit, nowMs) === 0;
}

/** True if there is no reason left to keep the bucket. */
export function isForgettable(bucket: Bucket, nowMs: number): boolean {
  const learnedMs = bucket.dimension === 'concurrency' ? LEARNED_MS : 0;
  return nowMs - bucket.updatedMs >= learnedMs + KEEP_MS && isUncharged(bucket, nowMs - KEEP_MS);
}

function countedInput(holding: Holding, consumed: Consumption): number {
  return holding.countCachedInput ? consumed.inputTokens : consumed.inputTokens - consumed.cachedInputTokens;
}

/** With `held` leases of mean duration D, places come free every D / held. */
function placeWaitMs(bucket: Bucket | undefined, capacity: number): number {
  if (bucket === undefined || bucket.held < capacity) return 0;
  const tooMany = bucket.held - capacity + 1;
  const mean = bucket.holdEighths || UNKNOWN_HOLD_MS * HOLD_PARTS;
  const wait = Math.ceil((mean * tooMany) / (bucket.held * HOLD_PARTS));
  return Math.min(MAX_PLACE_WAIT_MS, Math.max(MIN_PLACE_WAIT_MS, wait));
}
