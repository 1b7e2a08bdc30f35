import type { Clock } from '../lib/clock.js';
import type { Observer } from '../domain/decision.js';

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5_000;
const CLOSE_WITHIN_MS = 5_000;

/**
 * Ends leases at the store and does not give up on one: a refused call is counted and made again (ending twice changes
 * nothing), with growing pauses, until it is taken or the process closes.
 */
export class Settlements {
  readonly #open = new Set<Promise<void>>();
  readonly #pausing = new Set<() => void>();
  #closed = false;

  constructor(
    private readonly clock: Clock,
    private readonly observer: Observer,
  ) {}

  /** Runs `end` until it succeeds. */
  run(end: () => Promise<unknown>): void {
    this.#track(this.#untilTaken(end));
  }

  /** Runs `end` once, for what need not succeed. */
  attempt(end: () => Promise<unknown>): void {
    this.#track(end().then(() => undefined, () => undefined));
  }

  /**
   * Waits for all that are under way; those that fail from now on are not tried again. A store that does not answer is not
   * waited for longer than `withinMs`. @returns how many were given up.
   */
  async close(withinMs = CLOSE_WITHIN_MS): Promise<number> {
    this.#closed = true;
    for (const resume of this.#pausing) resume();
    await new Promise<void>((resolve) => {
      const cancel = this.clock.after(withinMs, resolve);
      void this.#allTaken().then(() => {
        cancel();
        resolve();
      });
    });
    return this.#open.size;
  }

  async #allTaken(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  /** `work` never rejects. */
  #track(work: Promise<void>): void {
    this.#open.add(work);
    void work.then(() => this.#open.delete(work));
  }

  async #untilTaken(end: () => Promise<unknown>): Promise<void> {
    for (let pauseMs = FIRST_RETRY_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_MS)) {
      try {
        await end();
        return;
      } catch (error) {
        this.observer.fault('settle', error);
      }
      if (this.#closed) return;
      await this.#pause(pauseMs);
    }
  }

  /** Ends early when everything closes, so that a last try is made at once. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const resume = (): void => {
        this.#pausing.delete(resume);
        cancel();
        resolve();
      };
      const cancel = this.clock.after(ms, resume);
      this.#pausing.add(resume);
    });
  }
}
