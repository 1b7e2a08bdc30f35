import type { Clock } from '../lib/clock.js';
import type { Observer } from '../domain/decision.js';

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5_000;

/**
 * Ends leases at the store and does not give up on one: a refused call is counted and made again (ending twice changes
 * nothing), with growing pauses, until it is taken or the process closes.
 */
export class Settlements {
  readonly #open = new Set<Promise<void>>();
  #closed = false;

  constructor(
    private readonly clock: Clock,
    private readonly observer: Observer,
  ) {}

  /** Runs `end` until it succeeds. */
  run(end: () => Promise<unknown>): void {
    const settled = this.#untilTaken(end).finally(() => this.#open.delete(settled));
    this.#open.add(settled);
  }

  /** Waits for all that are under way; those that fail from now on are not tried again. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#open.size > 0) await Promise.all(this.#open);
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
      await new Promise<void>((resume) => this.clock.after(pauseMs, resume));
    }
  }
}
