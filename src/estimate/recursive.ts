import { LEARNED } from './regressors.js';

const N = LEARNED;
/** Weight of what was known when an answer comes: the last 500 or so answers count. */
const KEEP = 0.998;
/** An answer that is further off than so many deviations is believed only so far. */
const CLIP = 2.5;
/** So many of them in a row, all to one side, are no outliers: the model has changed. */
const STREAK = 4;
const STREAK_WIDENS = 4;
/** A weight that moves another may take that to its own bound: so often is it looked again. */
const PASSES = 3;
const LEAST_VARIANCE = 1e-12;

/** What is known of the weights before the first answer. */
export interface Prior {
  readonly weights: Readonly<Float64Array>;
  /** How far each may be off (a standard deviation), apart from the others. */
  readonly spread: Readonly<Float64Array>;
  /** How far all text weights may be off together, as a share of them. */
  readonly common: Readonly<Float64Array>;
  readonly least: Readonly<Float64Array>;
  readonly most: Readonly<Float64Array>;
}

/**
 * Recursive least squares with forgetting: weights and their covariance, from which each answer moves the weights that its prompt
 * used, the less sure ones more. Robust: what one answer can move is bounded, weights stay between bounds, and the covariance
 * never grows above that of the prior. About 10 µs an answer.
 */
export class Recursive {
  readonly weights: Float64Array;
  readonly covariance: Float64Array;
  readonly #diagonal: Float64Array;
  readonly #gain = new Float64Array(N);
  #streak = 0;

  constructor(private readonly prior: Prior) {
    this.weights = Float64Array.from(prior.weights);
    this.covariance = new Float64Array(N * N);
    for (let i = 0; i < N; i++) for (let j = 0; j < N; j++) this.covariance[i * N + j] = prior.common[i]! * prior.common[j]! + (i === j ? prior.spread[i]! ** 2 : 0);
    this.#diagonal = Float64Array.from({ length: N }, (_, i) => this.covariance[i * N + i]!);
  }

  /** `x`: its first `N` numbers count. `error`: truth minus prediction; `noise`: what it may be off by with perfect weights. */
  learn(x: Readonly<Float64Array>, error: number, noise: number): void {
    const spread = this.#spread(x) + noise ** 2;
    const far = Math.abs(error) / Math.sqrt(spread);
    this.#streak = far <= CLIP ? 0 : Math.sign(this.#streak) === Math.sign(error) ? this.#streak + Math.sign(error) : Math.sign(error);
    // Not half-learned: an outlier also must not make the weights surer.
    const believed = Math.min(1, CLIP / far);
    this.#move((error * believed) / spread, believed / spread);
    if (Math.abs(this.#streak) >= STREAK) this.#widen();
    this.#keepWithin();
    this.#bound();
  }

  /** Takes up what another has learned; false where it can't be. */
  restore(weights: readonly number[], triangle: readonly number[]): boolean {
    if (weights.length !== N || triangle.length !== (N * (N + 1)) / 2) return false;
    if (![...weights, ...triangle].every(Number.isFinite)) return false;
    let at = 0;
    for (let i = 0; i < N; i++) for (let j = 0; j <= i; j++) this.covariance[i * N + j] = this.covariance[j * N + i] = triangle[at++]!;
    this.weights.set(weights);
    this.#bound();
    return true;
  }

  /** The covariance below and on the diagonal. */
  triangle(): number[] {
    return Array.from({ length: N }, (_, i) => [...this.covariance.subarray(i * N, i * N + i + 1)]).flat();
  }

  /** Fills the gain with covariance · x and returns x · covariance · x. */
  #spread(x: Readonly<Float64Array>): number {
    this.#gain.fill(0);
    for (let j = 0; j < N; j++) {
      const xj = x[j]!;
      if (xj === 0) continue;
      for (let i = 0; i < N; i++) this.#gain[i]! += this.covariance[j * N + i]! * xj;
    }
    let sum = 0;
    for (let i = 0; i < N; i++) sum += this.#gain[i]! * x[i]!;
    return Math.max(0, sum);
  }

  #move(step: number, shrink: number): void {
    for (let i = 0; i < N; i++) {
      const gain = this.#gain[i]!;
      this.weights[i]! += gain * step;
      for (let j = 0; j < N; j++) this.covariance[i * N + j] = (this.covariance[i * N + j]! - gain * this.#gain[j]! * shrink) / KEEP;
    }
  }

  #widen(): void {
    this.#streak = 0;
    for (let i = 0; i < N * N; i++) this.covariance[i]! *= STREAK_WIDENS;
  }

  /**
   * A weight that is held at its bound takes those along that its answers can't be told from: with the covariance, as if the bound had been
   * observed. (Were it only cut off, what it may not give up would stay with the others, and the estimates of prompts of one kind would rise
   * with each answer.)
   */
  #keepWithin(): void {
    for (let pass = 0; pass < PASSES; pass++) {
      let isWithin = true;
      for (let i = 0; i < N; i++) {
        const excess = Math.min(this.prior.most[i]!, Math.max(this.prior.least[i]!, this.weights[i]!)) - this.weights[i]!;
        if (excess === 0) continue;
        isWithin = false;
        const share = excess / Math.max(LEAST_VARIANCE, this.covariance[i * N + i]!);
        for (let j = 0; j < N; j++) this.weights[j]! += this.covariance[i * N + j]! * share;
      }
      if (isWithin) return;
    }
  }

  #bound(): void {
    for (let i = 0; i < N; i++) {
      this.weights[i] = Math.min(this.prior.most[i]!, Math.max(this.prior.least[i]!, this.weights[i]!));
      const variance = this.covariance[i * N + i]!;
      const most = this.#diagonal[i]!;
      if (variance >= LEAST_VARIANCE && variance <= most) continue;
      const scale = variance > most ? Math.sqrt(most / variance) : 0;
      for (let j = 0; j < N; j++) this.covariance[j * N + i] = this.covariance[i * N + j]! *= scale;
      this.covariance[i * N + i] = variance > most ? most : LEAST_VARIANCE;
    }
  }
}
