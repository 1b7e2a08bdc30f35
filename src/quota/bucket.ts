/**
 * Continuous token buckets in whole numbers. A bucket is kept as what it *lacks*, in units of 1/60,000 of a token: a
 * rate of R a minute then refills exactly R units a millisecond, with no remainder to lose. An absent bucket is full,
 * and a reload may change rate and capacity without touching the state.
 *
 * This is the reference for stores that do the same arithmetic elsewhere.
 */
export const UNITS_PER_TOKEN = 60_000;

/** Largest rate, capacity and amount, in tokens: keeps every sum below 2^53. Larger values are taken as this. */
export const MAX_TOKENS = 10_000_000_000;

/** Largest deficit: with one more capacity or amount on top it is still below 2^53. */
const MAX_DEFICIT_UNITS = 8_000_000_000_000_000;

/** The numbers of a limit. */
export interface BucketShape {
  /** Tokens a minute, at least 1. */
  readonly limit: number;
  /** Tokens when full, at least 1. */
  readonly capacity: number;
}

export interface BucketState {
  /** What is missing to full; above the capacity it is debt. */
  deficitUnits: number;
  /** When that was so. */
  updatedMs: number;
}

/** A count as these functions take it: whole, from 0 to `MAX_TOKENS`; what is no number counts as 0. */
export function wholeTokens(n: number): number {
  if (!(n > 0)) return 0;
  return n >= MAX_TOKENS ? MAX_TOKENS : Math.floor(n);
}

/** A bucket from further ahead than this was written by a clock that was wrong and is right again; smaller steps back count as no time. */
export const MAX_AHEAD_MS = 60_000;

/** Takes a bucket from too far ahead as of now, its level kept: else it would not refill until the clock is there again. */
export function bringBack(state: BucketState, nowMs: number): void {
  const now = Math.floor(nowMs);
  if (state.updatedMs - now > MAX_AHEAD_MS) state.updatedMs = now;
}

/** The time of a change: whole milliseconds, never before the last one. */
export function laterMs(state: Readonly<BucketState>, nowMs: number): number {
  return Math.max(Math.floor(nowMs), state.updatedMs);
}

/** What is missing to full at `nowMs`, refilled at `perMinute` since the last change. Time that went back counts as none. */
export function deficitAt(state: Readonly<BucketState> | undefined, perMinute: number, nowMs: number): number {
  if (state === undefined || state.deficitUnits === 0) return 0;
  const elapsedMs = laterMs(state, nowMs) - state.updatedMs;
  const rate = ratePerMs(perMinute);
  // Dividing first: elapsed × rate may leave the exact integers after a long pause.
  if (elapsedMs >= divideUp(state.deficitUnits, rate)) return 0;
  return state.deficitUnits - elapsedMs * rate;
}

/** Whole tokens left, rounded down; negative in debt. */
export function remainingTokens(deficitUnits: number, capacity: number): number {
  return wholeTokens(capacity) - divideUp(deficitUnits, UNITS_PER_TOKEN);
}

/**
 * Milliseconds until `amount` fits, 0 if it does now. Exact: one millisecond earlier it does not fit. A bucket in debt
 * lets nothing pass, an amount of 0 neither. `amount` must not exceed the capacity, else the answer is for the capacity.
 */
export function waitMs(deficitUnits: number, shape: BucketShape, amount: number): number {
  const capacity = wholeTokens(shape.capacity);
  const roomUnits = (capacity - Math.min(capacity, wholeTokens(amount))) * UNITS_PER_TOKEN;
  return deficitUnits <= roomUnits ? 0 : divideUp(deficitUnits - roomUnits, ratePerMs(shape.limit));
}

/** Milliseconds until full if nothing more is taken, rounded up. */
export function resetMs(deficitUnits: number, perMinute: number): number {
  return divideUp(deficitUnits, ratePerMs(perMinute));
}

/** The deficit after taking `amount` tokens, which may lead into debt. */
export function take(deficitUnits: number, amount: number): number {
  return Math.min(MAX_DEFICIT_UNITS, deficitUnits + wholeTokens(amount) * UNITS_PER_TOKEN);
}

/** The deficit after giving `amount` tokens back; never beyond full. */
export function giveBack(deficitUnits: number, amount: number): number {
  return Math.max(0, deficitUnits - wholeTokens(amount) * UNITS_PER_TOKEN);
}

function ratePerMs(perMinute: number): number {
  return Math.max(1, wholeTokens(perMinute));
}

/** Exact for all safe integers, where `Math.ceil(a / b)` may round a tiny remainder away. */
function divideUp(a: number, b: number): number {
  const rest = a % b;
  return (a - rest) / b + (rest > 0 ? 1 : 0);
}
