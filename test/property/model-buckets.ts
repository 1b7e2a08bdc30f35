import type { BucketCharge, Level, Shortage } from '../../src/domain/lease.js';
import type { BucketSpec } from '../../src/domain/store.js';

const UNITS = 60_000;

/** A bucket by the rules, with double-entry books of what went through it. Histories are so short that all numbers stay exact. */
export class ModelBucket {
  deficit = 0;
  updatedMs: number;
  held = 0;
  limit: number;
  /** Mean duration of leases in eighths of a millisecond; 0: none known. */
  mean = 0;
  /** Tokens: what was ever taken is settled, refunded or held. */
  taken = 0;
  settled = 0;
  refunded = 0;
  inHand = 0;
  /** Units that time gave back, and that were given back to a bucket that was full. */
  refilled = 0;
  forgiven = 0;

  constructor(
    readonly tenantId: string,
    readonly isPlaces: boolean,
    limit: number,
    nowMs: number,
  ) {
    this.limit = limit;
    this.updatedMs = nowMs;
  }

  deficitAt(limit: number, nowMs: number): number {
    return this.deficit === 0 ? 0 : Math.max(0, this.deficit - Math.max(0, nowMs - this.updatedMs) * limit);
  }

  /** The clock was wrong when the bucket was used last: it goes on from now. */
  comeBack(nowMs: number): void {
    if (this.updatedMs - nowMs > 60_000) this.updatedMs = nowMs;
  }

  /** Time passes up to now, at a rate. */
  passTo(nowMs: number, limit: number): void {
    const deficit = this.deficitAt(limit, nowMs);
    this.refilled += this.deficit - deficit;
    this.deficit = deficit;
    this.updatedMs = Math.max(this.updatedMs, nowMs);
  }

  /** More tokens, or fewer, for a lease. */
  change(tokens: number, nowMs: number): void {
    if (tokens === 0) return;
    this.comeBack(nowMs);
    this.passTo(nowMs, this.limit);
    const after = this.deficit + tokens * UNITS;
    this.deficit = Math.max(0, after);
    if (after < 0) this.forgiven -= after;
    if (tokens > 0) this.taken += tokens;
    else this.refunded -= tokens;
  }

  /** A lease takes a place. What was learned is void when all were free for a minute. */
  occupy(nowMs: number): void {
    if (this.held === 0 && nowMs - this.updatedMs >= 60_000) this.mean = 0;
    this.held++;
  }

  leave(nowMs: number): void {
    this.held--;
    if (this.isPlaces) this.updatedMs = Math.max(this.updatedMs, nowMs);
  }

  learn(durationMs: number): void {
    if (!this.isPlaces) return;
    this.mean = this.mean === 0 ? Math.max(1, durationMs) * 8 : this.mean + durationMs - Math.floor(this.mean / 8);
  }

  get isUncharged(): boolean {
    return this.held === 0 && this.deficit === 0;
  }

  /** Invariant 1, and that the level is what the books say. */
  check(key: string): void {
    if (this.taken !== this.settled + this.refunded + this.inHand) throw new Error(`${key}: taken is not settled, refunded or held`);
    const owed = (this.settled + this.inHand) * UNITS - this.refilled + this.forgiven;
    if (owed !== this.deficit || !Number.isSafeInteger(this.refilled)) throw new Error(`${key}: the level is not what the books say`);
  }
}

export function levelOf(bucket: ModelBucket | undefined, { key, tenantId, dimension, limit, capacity }: BucketSpec, nowMs: number): Level {
  if (dimension === 'concurrency') return { key, tenantId, dimension, limit, capacity, remaining: capacity - (bucket?.held ?? 0), resetMs: 0 };
  const deficit = bucket?.deficitAt(limit, nowMs) ?? 0;
  return { key, tenantId, dimension, limit, capacity, remaining: capacity - up(deficit, UNITS), resetMs: up(deficit, limit) };
}

/** Until a charge fits; 0 if it does. */
export function waitOf(bucket: ModelBucket | undefined, charge: BucketCharge, nowMs: number): number {
  if (bucket === undefined) return 0;
  if (charge.dimension === 'concurrency') return placeWait(bucket, charge.capacity);
  const room = (charge.capacity - charge.amount) * UNITS;
  const deficit = bucket.deficitAt(charge.limit, nowMs);
  return deficit <= room ? 0 : up(deficit - room, charge.limit);
}

/** The longest wait of those that do not fit; the first of equals. */
export function shortageOf(buckets: ReadonlyMap<string, ModelBucket>, charges: readonly BucketCharge[], nowMs: number): Shortage | null {
  let longest: Shortage | null = null;
  for (const charge of charges) {
    const bucket = buckets.get(charge.key);
    const waitMs = waitOf(bucket, charge, nowMs);
    if (waitMs <= (longest?.waitMs ?? 0)) continue;
    const exact = charge.dimension !== 'concurrency' && (bucket?.held ?? 0) === 0;
    longest = { level: levelOf(bucket, charge, nowMs), needed: charge.amount, waitMs, exact };
  }
  return longest;
}

function placeWait(bucket: ModelBucket, capacity: number): number {
  if (bucket.held < capacity) return 0;
  const mean = bucket.mean === 0 ? 8_000 : bucket.mean;
  const wait = up(mean * (bucket.held - capacity + 1), bucket.held * 8);
  return Math.min(60_000, Math.max(100, wait));
}

function up(a: number, b: number): number {
  return Math.floor((a + b - 1) / b);
}
