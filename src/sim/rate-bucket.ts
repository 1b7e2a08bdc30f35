/** A token bucket on the virtual clock. It may go below zero where what was taken turns out larger. */
export class RateBucket {
  #level: number;
  #atMs: number;
  #perSecond: number;
  readonly #burstSeconds: number;

  constructor(perSecond: number, burstSeconds: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#burstSeconds = burstSeconds;
    this.#level = perSecond * burstSeconds;
    this.#atMs = nowMs;
  }

  setRate(perSecond: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#perSecond = perSecond;
    this.#level = Math.min(this.#level, this.#size);
  }

  /** Milliseconds until it has this much (no more than it can hold); 0: it has. */
  waitMs(amount: number, nowMs: number): number {
    this.#refill(nowMs);
    const missing = Math.min(amount, this.#size) - this.#level;
    return missing <= 1e-9 ? 0 : this.#perSecond > 0 ? (missing / this.#perSecond) * 1000 : Infinity;
  }

  take(amount: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#level = Math.min(this.#size, this.#level - amount);
  }

  get #size(): number {
    return this.#perSecond * this.#burstSeconds;
  }

  #refill(nowMs: number): void {
    this.#level = Math.min(this.#size, this.#level + ((nowMs - this.#atMs) / 1000) * this.#perSecond);
    this.#atMs = nowMs;
  }
}
