/** Largest work of one request, in tokens. */
const MAX_WORK = 10_000_000_000;

/** Largest KV cache of one request: 16,384 such requests together are still exact. */
const MAX_KV_BYTES = 2 ** 39;

/** Most answers of one request. */
const MAX_SLOTS = 1_000_000;

const MAX_BYTES = 2 ** 39;
const MAX_MS = 86_400_000;

/** A whole number from `least` to `most`; what is no number counts as `least`. */
export function whole(n: number, least: number, most: number): number {
  if (!(n > least)) return least;
  return n >= most ? most : Math.floor(n);
}

export const wholeWork = (n: number, least = 0): number => whole(n, least, MAX_WORK);
export const wholeKv = (n: number): number => whole(n, 0, MAX_KV_BYTES);
export const wholeSlots = (n: number): number => whole(n, 1, MAX_SLOTS);
export const wholeBytes = (n: number): number => whole(n, 0, MAX_BYTES);
export const wholeMs = (n: number): number => whole(n, 0, MAX_MS);

/** What is not bounded is infinite. */
export const boundOf = (n: number | null): number => n ?? Infinity;

/** `n`, but neither below `least` nor above `most`. */
export function clamp(n: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, n));
}
