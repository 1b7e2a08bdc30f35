import type { Observation } from '../domain/estimate.js';
import { Histogram } from './histogram.js';

/** Weight of what was known before when an answer comes: about the last 20 answers count. */
const KEEP = 0.95;
/** A ratio beyond these says more about a strange answer than about a tokenizer. */
const MAX_RATIO = 4;
const CACHE_KEEP = 0.8;

/** What the answers to one tenant's requests to one model taught. */
export class Learned {
  readonly outputs = new Histogram();
  #trueTokens = 0;
  #rawTokens = 0;
  #cachedShare: number | null = null;

  /**
   * True prompt tokens over estimated ones, an exponentially weighted mean in which long prompts weigh more: what is the
   * same on each request (a hidden preamble) then does not spoil the estimate of long ones. 1 while nothing is known.
   */
  get ratio(): number {
    return this.#rawTokens > 0 ? this.#trueTokens / this.#rawTokens : 1;
  }

  /** Share of the input that came from the upstream's cache, 0 to 1; the first answer sets it. */
  get cachedShare(): number {
    return this.#cachedShare ?? 0;
  }

  /** Takes what an answer told; figures that can't be true are left out. */
  take({ prompt, usage: { inputTokens, cachedInputTokens, outputTokens } }: Observation): void {
    const rawTokens = prompt.regressors[0] ?? 0;
    if (isCount(outputTokens)) this.outputs.add(outputTokens);
    if (!isCount(inputTokens) || inputTokens === 0) return;
    if (isCount(cachedInputTokens)) this.#takeCached(Math.min(1, cachedInputTokens / inputTokens));
    if (isCount(rawTokens) && rawTokens > 0) this.#takePrompt(inputTokens, rawTokens);
  }

  #takePrompt(inputTokens: number, rawTokens: number): void {
    const plausible = Math.min(rawTokens * MAX_RATIO, Math.max(rawTokens / MAX_RATIO, inputTokens));
    this.#trueTokens = this.#trueTokens * KEEP + plausible;
    this.#rawTokens = this.#rawTokens * KEEP + rawTokens;
  }

  #takeCached(share: number): void {
    this.#cachedShare = this.#cachedShare === null ? share : this.#cachedShare * CACHE_KEEP + share * (1 - CACHE_KEEP);
  }
}

function isCount(value: number): boolean {
  return Number.isFinite(value) && value >= 0;
}
