/** Buckets of equal ratio: four to each doubling, so that an edge is at most 25 % above what is in its bucket. */
const BUCKETS = 120;
const MAX_VALUE = 2 ** 31 - 1;

/**
 * How often which number of tokens came, in whole numbers: bounded memory, and two of them add up to the one that had
 * seen both. When it has seen `halfLife` values all counts are halved, so that it follows what changes.
 */
export class Histogram {
  readonly #counts = new Uint16Array(BUCKETS);
  #total = 0;

  /** `halfLife`: at most 32,767, so that no count overflows. */
  constructor(readonly halfLife = 512) {}

  /** How many values it stands for. */
  get total(): number {
    return this.#total;
  }

  /** Adds one value: a whole number of tokens, 0 or more. */
  add(value: number): void {
    this.#counts[bucketOf(value)]! += 1;
    this.#total++;
    this.#forget();
  }

  /** Adds all that another has seen. */
  merge(other: Histogram): void {
    other.#counts.forEach((count, bucket) => (this.#counts[bucket]! += count));
    this.#total += other.#total;
    this.#forget();
  }

  /** The value that a share `q` (0 to 1) of all values does not exceed, as the upper edge of its bucket; 0 when empty. */
  quantile(q: number): number {
    const wanted = Math.max(1, Math.ceil(q * this.#total));
    let seen = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      seen += this.#counts[bucket]!;
      if (seen >= wanted) return upperEdge(bucket);
    }
    return 0;
  }

  /** The mean, each value taken for the middle of its bucket; 0 when empty. A fraction. */
  mean(): number {
    let sum = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) sum += this.#counts[bucket]! * MIDDLES[bucket]!;
    return this.#total === 0 ? 0 : sum / this.#total;
  }

  #forget(): void {
    while (this.#total > this.halfLife) {
      this.#total = 0;
      this.#counts.forEach((count, bucket) => (this.#total += this.#counts[bucket] = count >> 1));
    }
  }
}

/** Values below 4 have a bucket each; above, the two bits behind the first say which quarter of the doubling. */
function bucketOf(value: number): number {
  const whole = Math.min(MAX_VALUE, Math.max(0, Math.floor(value)));
  if (whole < 4) return whole;
  const exponent = 31 - Math.clz32(whole);
  return 4 * (exponent - 1) + ((whole >> (exponent - 2)) & 3);
}

function lowerEdge(bucket: number): number {
  if (bucket < 4) return bucket;
  const shift = Math.floor(bucket / 4) - 1;
  return (4 + (bucket % 4)) * 2 ** shift;
}

function upperEdge(bucket: number): number {
  return lowerEdge(bucket + 1) - 1;
}

/** Every request asks for a mean: computing these each time was 4 % of a request's CPU. */
const MIDDLES = Float64Array.from({ length: BUCKETS }, (_, bucket) => (lowerEdge(bucket) + upperEdge(bucket)) / 2);
