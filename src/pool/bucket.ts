/**
 * Token buckets in doubles. A bucket is kept as what it lacks to full; above its size that is debt. Rate and size come with each call, so that
 * a reload changes them without touching the state. 0 lacking and no time: full.
 */
export interface Bucket {
  lacking: number;
  /** When that was so. */
  atMs: number;
}

/** Brings a bucket to `nowMs`, at so much a second. */
export function refill(bucket: Bucket, perSecond: number, nowMs: number): void {
  bucket.lacking = lackingAt(bucket, perSecond, nowMs);
  bucket.atMs = nowMs;
}

export function lackingAt(bucket: Readonly<Bucket>, perSecond: number, nowMs: number): number {
  return Math.max(0, bucket.lacking - (perSecond * (nowMs - bucket.atMs)) / 1_000);
}

/** Takes so much (or gives it back, if negative); into debt if need be, never beyond full. */
export function take(bucket: Bucket, amount: number): void {
  bucket.lacking = Math.max(0, bucket.lacking + amount);
}

/** Whether a bucket that was brought to now has so much. What is larger than the bucket passes when it is full. */
export function has(bucket: Readonly<Bucket>, size: number, amount: number): boolean {
  return bucket.lacking <= size - Math.min(amount, size);
}

/** When it will have so much, if nothing else is taken: a later millisecond than `nowMs`. */
export function readyAtMs(bucket: Readonly<Bucket>, perSecond: number, size: number, amount: number, nowMs: number): number {
  const excess = bucket.lacking - (size - Math.min(amount, size));
  return nowMs + Math.max(1, Math.ceil((excess * 1_000) / perSecond));
}
