/** Weight of the latest answer in the means: about the last 30 count. */
const SHARE = 1 / 16;
/** No single answer counts for more. */
const MOST = 4;
/** Within these the estimates are right on the whole: off by less than what is allowed for, and as often above the truth as below it. */
const MOST_BIAS = 0.25;
const MOST_SPREAD = 1;

/** Whether a model's estimates are right on the whole, by its latest answers. Errors are told in units of what an estimate may be off by. */
export class Accuracy {
  #bias = 0;
  #spread = 2 * MOST_SPREAD;

  take(error: number): void {
    const bounded = Math.max(-MOST, Math.min(MOST, error));
    this.#bias += SHARE * (bounded - this.#bias);
    this.#spread += SHARE * (Math.abs(bounded) - this.#spread);
  }

  get isGood(): boolean {
    return Math.abs(this.#bias) <= MOST_BIAS && this.#spread <= MOST_SPREAD;
  }
}
