import type { Random } from './random.js';

/** How a processor estimates its requests. */
export interface EstimateSpec {
  /** Expected output: mean learned from this processor's own answers of the tenant, or the truth. */
  readonly expected: 'learned' | 'exact';
  /** Reserved output: the request's cap or else the learned 95th percentile; the percentile whatever the cap; or the truth. */
  readonly reserved: 'cap' | 'p95' | 'exact';
  /** Multiplies what is reserved. */
  readonly reservedFactor: number;
  /** Multiplies what is expected: a processor that is wrong always in the same way. */
  readonly bias: number;
  /** Standard deviation of the logarithm of a random factor on what is expected. */
  readonly errorSigma: number;
  /** Before anything was learned, in tokens. */
  readonly unknownOutputTokens: number;
}

export const LEARNING: EstimateSpec = { expected: 'learned', reserved: 'cap', reservedFactor: 1, bias: 1, errorSigma: 0, unknownOutputTokens: 1024 };
export const EXACT: EstimateSpec = { ...LEARNING, expected: 'exact', reserved: 'exact' };

/** Buckets of the histogram: 2^(i/4) tokens, up to 2^20. */
const BUCKETS = 81;
/** So many answers are remembered, the older the less. */
const MEMORY = 200;

/** Lengths of a tenant's answers as one processor has seen them. */
export class Learned {
  #count = 0;
  #mean = 0;
  #p95: number | null = null;
  #weight = 1;
  readonly #weights = new Float64Array(BUCKETS);

  add(outputTokens: number): void {
    this.#count++;
    this.#mean += (outputTokens - this.#mean) / Math.min(this.#count, MEMORY);
    // Newer ones weigh more, instead of all older ones less.
    this.#weight *= 1 + 1 / MEMORY;
    if (this.#weight > 1e12) this.#rescale();
    this.#weights[Math.min(BUCKETS - 1, Math.ceil(Math.log2(Math.max(1, outputTokens)) * 4))]! += this.#weight;
    this.#p95 = null;
  }

  get mean(): number | null {
    return this.#count === 0 ? null : this.#mean;
  }

  /** Upper edge of the bucket in which 95 % are reached: at most 19 % too high. */
  get p95(): number | null {
    if (this.#count === 0) return null;
    return (this.#p95 ??= this.#quantile(0.95));
  }

  #quantile(share: number): number {
    let left = share * this.#weights.reduce((sum, weight) => sum + weight, 0);
    for (let i = 0; i < BUCKETS; i++) {
      left -= this.#weights[i]!;
      if (left <= 0) return Math.floor(2 ** (i / 4));
    }
    return 2 ** ((BUCKETS - 1) / 4);
  }

  #rescale(): void {
    for (let i = 0; i < BUCKETS; i++) this.#weights[i]! /= this.#weight;
    this.#weight = 1;
  }
}

/** What one processor knows. */
export class Estimator {
  readonly #spec: EstimateSpec;
  readonly #random: Random;
  readonly #learned: Learned[];

  constructor(spec: EstimateSpec, random: Random, tenants: number) {
    this.#spec = spec;
    this.#random = random;
    this.#learned = Array.from({ length: tenants }, () => new Learned());
  }

  learn(tenant: number, outputTokens: number): void {
    this.#learned[tenant]!.add(outputTokens);
  }

  /** Tokens of output that usually come. */
  expectedTokens(tenant: number, trueTokens: number, capTokens: number | null): number {
    const { expected, unknownOutputTokens, bias, errorSigma } = this.#spec;
    const known = expected === 'exact' ? trueTokens : (this.#learned[tenant]!.mean ?? unknownOutputTokens);
    const error = errorSigma === 0 ? bias : bias * this.#random.lognormal(1, errorSigma);
    return Math.min(known * error, capTokens ?? Infinity);
  }

  /** Tokens of output that could come. */
  reservedTokens(tenant: number, trueTokens: number, capTokens: number | null): number {
    const { reserved, reservedFactor, unknownOutputTokens } = this.#spec;
    if (reserved === 'exact') return trueTokens * reservedFactor;
    const p95 = this.#learned[tenant]!.p95 ?? unknownOutputTokens;
    return (reserved === 'cap' ? (capTokens ?? p95) : p95) * reservedFactor;
  }
}
