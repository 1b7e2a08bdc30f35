import type { Usage } from '../domain/usage.js';
import { Histogram } from './histogram.js';

const CACHE_KEEP = 0.8;

/** What the answers to one tenant's requests to one model taught, apart from how its text becomes tokens. */
export class Learned {
  readonly outputs = new Histogram();
  readonly inputs = new Histogram();
  #cachedShare: number | null = null;

  /** Share of the input that came from the upstream's cache, 0 to 1; the first answer sets it. */
  get cachedShare(): number {
    return this.#cachedShare ?? 0;
  }

  /** Takes what an answer told; figures that can't be true are left out. */
  take({ inputTokens, cachedInputTokens, outputTokens }: Usage): void {
    if (isCount(outputTokens)) this.outputs.add(outputTokens);
    if (!isCount(inputTokens) || inputTokens === 0) return;
    this.inputs.add(inputTokens);
    if (isCount(cachedInputTokens)) this.#takeCached(Math.min(1, cachedInputTokens / inputTokens));
  }

  #takeCached(share: number): void {
    this.#cachedShare = this.#cachedShare === null ? share : this.#cachedShare * CACHE_KEEP + share * (1 - CACHE_KEEP);
  }
}

export function isCount(value: number): boolean {
  return Number.isFinite(value) && value >= 0;
}
