const TAU_MS = 10_000;

/** Exponentially weighted rate over 10 s. */
export class ServedRate {
  #rate = 0;
  #atMs = 0;

  add(work: number, nowMs: number): void {
    this.#decay(nowMs);
    this.#rate = Math.max(0, this.#rate + (work * 1000) / TAU_MS);
  }

  perSecond(nowMs: number): number {
    this.#decay(nowMs);
    return this.#rate;
  }

  #decay(nowMs: number): void {
    if (nowMs === this.#atMs) return;
    this.#rate *= Math.exp((this.#atMs - nowMs) / TAU_MS);
    this.#atMs = nowMs;
  }
}
