import type { BucketCharge, Consumption } from '../../domain/lease.js';
import { MAX_TOKENS, wholeTokens } from '../../quota/bucket.js';

/** What a charge holds after so much output: its reservation, and its extension beyond. Concurrency holds no tokens. */
export function heldAmount(charge: BucketCharge, outputTokens: number): number {
  switch (charge.dimension) {
    case 'concurrency':
      return 0;
    case 'requests':
    case 'inputTokens':
      return wholeTokens(charge.amount);
    case 'tokens':
    case 'outputTokens':
      return Math.max(wholeTokens(charge.amount), wholeTokens(charge.inputAmount) + wholeTokens(outputTokens));
  }
}

/** What a charge comes to at the true figures, which must be sane. */
export function trueAmount(charge: BucketCharge, consumed: Consumption): number {
  const input = charge.countCachedInput ? consumed.inputTokens : consumed.inputTokens - consumed.cachedInputTokens;
  switch (charge.dimension) {
    case 'concurrency':
      return 0;
    case 'requests':
      return wholeTokens(charge.amount);
    case 'inputTokens':
      return input;
    case 'outputTokens':
      return consumed.outputTokens;
    case 'tokens':
      return input + consumed.outputTokens;
  }
}

/**
 * The charge as a store can't refuse it, whatever the level: for what was admitted already. Stores keep what a bucket lacks, and its
 * capacity comes with each charge: a larger one lets this charge pass and changes nothing else.
 */
export function unrefusable(charge: BucketCharge): BucketCharge {
  return { ...charge, capacity: MAX_TOKENS };
}

/** The same charge for another amount. */
export function withAmount(charge: BucketCharge, amount: number): BucketCharge {
  const { key, tenantId, dimension, limit, capacity, inputAmount, countCachedInput } = charge;
  return { key, tenantId, dimension, limit, capacity, amount, inputAmount, countCachedInput };
}
