import type { BucketCharge, Level, Shortage } from '../../src/domain/lease.js';
import type { BucketSpec } from '../../src/domain/store.js';

const UNITS = 60_000n;

/** A bucket by the rules, in numbers of any size, with double-entry books of what went through it. */
export class ModelBucket {
  deficit = 0n;
  updatedMs: number;
  held = 0;
  limit: number;
  /** Mean duration of leases in eighths of a millisecond; 0: none known. */
  mean = 0n;
  /** Tokens: what was ever taken is settled, refunded or held. */
  taken = 0n;
  settled = 0n;
  refunded = 0n;
  inHand = 0n;
  /** Units that time gave back, and that were given back to a bucket that was full. */
  refilled = 0n;
  forgiven = 0n;

  constructor(
    readonly tenantId: string,
    readonly isPlaces: boolean,
    limit: number,
    nowMs: number,
  ) {
    this.limit = limit;
    this.updatedMs = nowMs;
  }

  deficitAt(limit: number, nowMs: number): bigint {
    const back = BigInt(Math.max(0, nowMs - this.updatedMs)) * BigInt(limit);
    return this.deficit > back ? this.deficit - back : 0n;
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
    this.passTo(nowMs, this.limit);
    const after = this.deficit + BigInt(tokens) * UNITS;
    this.deficit = after > 0n ? after : 0n;
    if (after < 0n) this.forgiven -= after;
    if (tokens > 0) this.taken += BigInt(tokens);
    else this.refunded -= BigInt(tokens);
  }

  /** A lease takes a place. What was learned is void when all were free for a minute. */
  occupy(nowMs: number): void {
    if (this.held === 0 && nowMs - this.updatedMs >= 60_000) this.mean = 0n;
    this.held++;
  }

  leave(nowMs: number): void {
    this.held--;
    if (this.isPlaces) this.updatedMs = Math.max(this.updatedMs, nowMs);
  }

  learn(durationMs: number): void {
    if (!this.isPlaces) return;
    const duration = BigInt(durationMs);
    this.mean = this.mean === 0n ? (duration > 0n ? duration : 1n) * 8n : this.mean + duration - this.mean / 8n;
  }

  get isUncharged(): boolean {
    return this.held === 0 && this.deficit === 0n;
  }

  /** Invariant 1, and that the level is what the books say. */
  check(key: string): void {
    if (this.taken !== this.settled + this.refunded + this.inHand) throw new Error(`${key}: taken is not settled, refunded or held`);
    const owed = (this.settled + this.inHand) * UNITS - this.refilled + this.forgiven;
    if (owed !== this.deficit) throw new Error(`${key}: the level is not what the books say`);
  }
}

export function levelOf(bucket: ModelBucket | undefined, { key, tenantId, dimension, limit, capacity }: BucketSpec, nowMs: number): Level {
  const common = { key, tenantId, dimension, limit, capacity };
  if (dimension === 'concurrency') return { ...common, remaining: capacity - (bucket?.held ?? 0), resetMs: 0 };
  const deficit = bucket?.deficitAt(limit, nowMs) ?? 0n;
  return { ...common, remaining: capacity - Number(up(deficit, UNITS)), resetMs: Number(up(deficit, BigInt(limit))) };
}

/** Until a charge fits; 0 if it does. */
export function waitOf(bucket: ModelBucket | undefined, charge: BucketCharge, nowMs: number): number {
  if (bucket === undefined) return 0;
  if (charge.dimension === 'concurrency') return placeWait(bucket, charge.capacity);
  const room = BigInt(charge.capacity - charge.amount) * UNITS;
  const deficit = bucket.deficitAt(charge.limit, nowMs);
  return deficit <= room ? 0 : Number(up(deficit - room, BigInt(charge.limit)));
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
  const mean = bucket.mean === 0n ? 8_000n : bucket.mean;
  const wait = Number(up(mean * BigInt(bucket.held - capacity + 1), BigInt(bucket.held) * 8n));
  return Math.min(60_000, Math.max(100, wait));
}

function up(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}
