import type { BucketCharge, Level, ReserveRequest, ReserveResult, Shortage } from '../../domain/lease.js';
import type { BucketSpec } from '../../domain/store.js';
import type { LimitDimension } from '../../domain/tenant.js';
import { deficitAt, remainingTokens, resetMs, wholeTokens } from '../../quota/bucket.js';
import type { BucketState } from '../../quota/bucket.js';

const DOUBLE = 8;
const FIVE_DOUBLES = 5 * DOUBLE;
/** What a packed charge has beside its names: a letter, two lengths, five doubles. */
const CHARGE_BYTES = 1 + 4 + 4 + FIVE_DOUBLES;

/** Which double of an answer of `reserve` is the first level. */
const LEVELS_AT = 4;

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

/** Charges as the `reserve` script takes them: one after the other as lua/leases.lua says (HOLDING). */
export function packCharges(charges: readonly BucketCharge[]): Buffer {
  // A UTF-16 unit takes three bytes at most.
  const atMost = charges.reduce((sum, { key, tenantId }) => sum + CHARGE_BYTES + 3 * (key.length + tenantId.length), 0);
  const bytes = Buffer.allocUnsafe(atMost);
  const end = charges.reduce((at, charge) => packCharge(bytes, at, charge), 0);
  return bytes.subarray(0, end);
}

function packCharge(bytes: Buffer, start: number, charge: BucketCharge): number {
  const { key, dimension, limit, capacity, amount, inputAmount, countCachedInput, tenantId } = charge;
  const isPlace = dimension === 'concurrency';
  let at = start + bytes.write(LETTERS[dimension], start, 'latin1');
  at = packText(bytes, at, key);
  at = packText(bytes, at, tenantId);
  at = bytes.writeDoubleLE(Math.max(1, wholeTokens(limit)), at);
  at = bytes.writeDoubleLE(wholeTokens(isPlace ? Math.ceil(capacity) : capacity), at);
  at = bytes.writeDoubleLE(isPlace ? 0 : wholeTokens(amount), at);
  at = bytes.writeDoubleLE(wholeTokens(inputAmount), at);
  return bytes.writeDoubleLE(countCachedInput ? 1 : 0, at);
}

/** A text after its length. */
function packText(bytes: Buffer, at: number, text: string): number {
  const length = bytes.write(text, at + 4, 'utf8');
  bytes.writeUInt32LE(length, at);
  return at + 4 + length;
}

/** Numbers as scripts read them fastest. */
export function packDoubles(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(numbers.length * DOUBLE);
  for (let i = 0; i < numbers.length; i++) bytes.writeDoubleLE(numbers[i] ?? 0, i * DOUBLE);
  return bytes;
}

/** `at`: number of the double. */
function doubleAt(bytes: Buffer, at: number): number {
  return bytes.length >= (at + 1) * DOUBLE ? bytes.readDoubleLE(at * DOUBLE) : 0;
}

/** The answer of the `reserve` script in words; null where a cancellation came before it. */
export function reserveResult({ enforced, shadowed }: ReserveRequest, reply: Buffer): ReserveResult | null {
  const charges = shadowed.length === 0 ? enforced : [...enforced, ...shadowed];
  const levels = charges.map((charge, i) => levelFrom(charge, doubleAt(reply, LEVELS_AT + i)));
  const which = doubleAt(reply, 1) - 1;
  const level = levels[which];
  const charge = charges[which];
  const shortage: Shortage | null = level && charge ? { level, needed: charge.amount, waitMs: doubleAt(reply, 2), exact: doubleAt(reply, 3) === 1 } : null;
  if (doubleAt(reply, 0) === 1) return { kind: 'reserved', levels, wouldRefuse: shortage };
  return shortage && { kind: 'refused', shortage, levels };
}

/** `value`: the deficit in units, of concurrency the places taken. */
function levelFrom({ key, tenantId, dimension, limit, capacity }: BucketSpec, value: number): Level {
  if (dimension === 'concurrency') return { key, tenantId, dimension, limit, capacity, remaining: capacity - value, resetMs: 0 };
  return { key, tenantId, dimension, limit, capacity, remaining: remainingTokens(value, capacity), resetMs: resetMs(value, limit) };
}
