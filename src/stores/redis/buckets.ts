import type { BucketCharge, Level, ReserveRequest, ReserveResult, Shortage } from '../../domain/lease.js';
import type { BucketSpec } from '../../domain/store.js';
import type { LimitDimension } from '../../domain/tenant.js';
import { deficitAt, remainingTokens, resetMs, wholeTokens } from '../../quota/bucket.js';
import type { BucketState } from '../../quota/bucket.js';
import type { Argument } from './scripts.js';

const FIVE_DOUBLES = 40;

/** How scripts call a dimension. */
const LETTERS: Readonly<Record<LimitDimension, string>> = {
  requests: 'r',
  tokens: 't',
  inputTokens: 'i',
  outputTokens: 'o',
  concurrency: 'c',
};

/** A bucket as it is kept. */
export interface KeptBucket extends BucketState {
  /** Leases in flight that hold it. */
  readonly held: number;
  readonly limit: number;
}

/** Reads what scripts write; null for an absent one, which is full. */
export function parseBucket(kept: Buffer | null): KeptBucket | null {
  if (kept?.length !== FIVE_DOUBLES) return null;
  const [deficitUnits = 0, updatedMs = 0, held = 0, limit = 0] = fiveDoubles(kept);
  return { deficitUnits, updatedMs, held, limit };
}

export function fiveDoubles(bytes: Buffer): readonly number[] {
  return [0, 8, 16, 24, 32].map((at) => bytes.readDoubleLE(at));
}

export function levelOf(kept: KeptBucket | null, spec: BucketSpec, nowMs: number): Level {
  if (spec.dimension === 'concurrency') return levelFrom(spec, kept?.held ?? 0);
  return levelFrom(spec, deficitAt(kept ?? undefined, spec.limit, nowMs));
}

/** True if nothing is charged. */
export function isUncharged(kept: KeptBucket | null, nowMs: number): boolean {
  return kept === null || (kept.held === 0 && deficitAt(kept, kept.limit, nowMs) === 0);
}

/** A charge as the `reserve` script takes it. */
export function chargeArguments(charge: BucketCharge): readonly Argument[] {
  const { key, dimension, limit, capacity, amount, inputAmount, countCachedInput, tenantId } = charge;
  const places = dimension === 'concurrency' ? Math.ceil(capacity) : capacity;
  const rate = Math.max(1, wholeTokens(limit));
  return [key, LETTERS[dimension], tenantId, packed([rate, wholeTokens(places), wholeTokens(amount), wholeTokens(inputAmount), countCachedInput ? 1 : 0])];
}

/** Five numbers as scripts read them fastest. */
function packed(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(FIVE_DOUBLES);
  for (const [i, n] of numbers.entries()) bytes.writeDoubleLE(n, i * 8);
  return bytes;
}

/** The answer of the `reserve` script in words; null where a cancellation came before it. */
export function reserveResult({ enforced, shadowed }: ReserveRequest, reply: readonly number[]): ReserveResult | null {
  const [kind, which = 0, waitMs = 0, exact, ...values] = reply;
  const charges = [...enforced, ...shadowed];
  const levels = charges.flatMap((charge, i) => (values[i] === undefined ? [] : [levelFrom(charge, values[i])]));
  const level = levels[which - 1];
  const charge = charges[which - 1];
  const shortage: Shortage | null = level && charge ? { level, needed: charge.amount, waitMs, exact: exact === 1 } : null;
  if (kind === 1) return { kind: 'reserved', levels, wouldRefuse: shortage };
  return shortage && { kind: 'refused', shortage, levels };
}

/** `value`: the deficit in units, of concurrency the places taken. */
function levelFrom({ key, tenantId, dimension, limit, capacity }: BucketSpec, value: number): Level {
  const rest =
    dimension === 'concurrency'
      ? { remaining: capacity - value, resetMs: 0 }
      : { remaining: remainingTokens(value, capacity), resetMs: resetMs(value, limit) };
  return { key, tenantId, dimension, limit, capacity, ...rest };
}
