import type { PoolRefusalReason } from '../domain/pool.js';

/** Numbers that are kept to the last one, for exact percentiles. */
export class Samples {
  #values = new Float64Array(256);
  #length = 0;
  #sorted = true;

  add(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(this.#length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
    this.#sorted = false;
  }

  get count(): number {
    return this.#length;
  }

  get mean(): number {
    let sum = 0;
    for (let i = 0; i < this.#length; i++) sum += this.#values[i]!;
    return this.#length === 0 ? NaN : sum / this.#length;
  }

  /** The smallest value that this share of all does not exceed; NaN without values. */
  quantile(share: number): number {
    if (this.#length === 0) return NaN;
    if (!this.#sorted) this.#values.subarray(0, this.#length).sort();
    this.#sorted = true;
    return this.#values[Math.min(this.#length - 1, Math.max(0, Math.ceil(share * this.#length) - 1))]!;
  }

  /** Share of values that are not above this. */
  shareWithin(limit: number): number {
    let within = 0;
    for (let i = 0; i < this.#length; i++) if (this.#values[i]! <= limit) within++;
    return this.#length === 0 ? NaN : within / this.#length;
  }
}

/** What is counted of one source of requests. Requests that came before the warm-up ended are not in it. */
export class TenantMeasures {
  readonly ttftMs = new Samples();
  readonly latencyMs = new Samples();
  readonly waitMs = new Samples();
  requests = 0;
  attempts = 0;
  finished = 0;
  /** Finished with their first token within the SLO. */
  withinSlo = 0;
  /** Requests that were refused and are not tried again. */
  givenUp = 0;
  left = 0;
  lost = 0;
  endedStreams = 0;
  readonly refusals: Record<PoolRefusalReason, number> = { pool_busy: 0, queue_full: 0, queue_timeout: 0, pool_too_small: 0 };
  /** Work in tokens, as it truly is: of all that came, … */
  offeredWork = 0;
  /** … that was done within the run's duration (parts of requests count), … */
  servedWork = 0;
  /** … and of requests that finished within their SLO. */
  goodWork = 0;
  debtMaxTokens = 0;
}

/** Sums over equal pieces of time. */
export class Series {
  readonly values: Float64Array;

  constructor(
    readonly stepMs: number,
    durationMs: number,
  ) {
    this.values = new Float64Array(Math.max(1, Math.ceil(durationMs / stepMs)));
  }

  /** Spreads an amount evenly over a time. */
  spread(amount: number, fromMs: number, toMs: number): void {
    const length = Math.max(1e-9, toMs - fromMs);
    for (let i = Math.floor(fromMs / this.stepMs); i < this.values.length && i * this.stepMs <= toMs; i++) {
      const overlap = Math.min(toMs, (i + 1) * this.stepMs) - Math.max(fromMs, i * this.stepMs);
      this.values[i]! += toMs > fromMs ? (amount * Math.max(0, overlap)) / length : amount;
    }
  }

  /** Adds to the piece in which a moment lies. */
  add(amount: number, atMs: number): void {
    const at = Math.floor(atMs / this.stepMs);
    if (at < this.values.length) this.values[at]! += amount;
  }

  /** Of a level: the latest one counts. */
  set(value: number, atMs: number): void {
    const at = Math.floor(atMs / this.stepMs);
    if (at < this.values.length) this.values[at] = value;
  }
}

/** A level over time, as its time-weighted mean within a window. */
export class Level {
  #value = 0;
  #atMs = 0;
  #sum = 0;

  constructor(
    private readonly fromMs: number,
    private readonly toMs: number,
  ) {}

  set(value: number, nowMs: number): void {
    this.#sum += this.#value * this.#within(nowMs);
    this.#atMs = nowMs;
    this.#value = value;
  }

  /** Integral over the window until now, in value × ms. */
  sum(nowMs: number): number {
    this.set(this.#value, nowMs);
    return this.#sum;
  }

  #within(nowMs: number): number {
    return Math.max(0, Math.min(nowMs, this.toMs) - Math.max(this.#atMs, this.fromMs));
  }
}
