import type { Clock } from '../lib/clock.js';
import type { Timing } from './options.js';

/**
 * The time that a model server takes: a queue in front of a number of slots, one prefill at a time, and tokens that
 * come more slowly the more sequences run. It knows no HTTP.
 */
export class Engine {
  readonly #timing: Timing;
  readonly #clock: Clock;
  readonly #queue: (() => void)[] = [];
  #running = 0;
  #mostAtOnce = 0;
  #prefillFreeAtMs = 0;

  constructor(timing: Timing, clock: Clock) {
    this.#timing = timing;
    this.#clock = clock;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** The most that ran and waited at one time until now. */
  get mostAtOnce(): number {
    return this.#mostAtOnce;
  }

  get isFull(): boolean {
    return this.#running >= this.#timing.slots && this.#queue.length >= this.#timing.maxQueued;
  }

  /** Waits for a slot, in order of arrival; false if the request was given up meanwhile. A slot taken must be released. */
  async takeSlot(gone: AbortSignal): Promise<boolean> {
    this.#mostAtOnce = Math.max(this.#mostAtOnce, this.#running + this.#queue.length + 1);
    if (this.#running < this.#timing.slots) {
      this.#running++;
      return true;
    }
    return new Promise<boolean>((resolve) => {
      const grant = (): void => {
        resolve(true);
      };
      this.#queue.push(grant);
      onAbort(gone, () => {
        const place = this.#queue.indexOf(grant);
        if (place < 0) return;
        this.#queue.splice(place, 1);
        resolve(false);
      });
    });
  }

  /** A slot goes straight to who waits longest, so that nobody slips in between. */
  releaseSlot(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#running--;
    else next();
  }

  /** Reads a prompt: after the prompts before it. */
  async prefill(promptTokens: number, gone: AbortSignal): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const workMs = (promptTokens / this.#timing.prefillTokensPerSecond) * 1_000 * this.#timing.timeScale;
    this.#prefillFreeAtMs = Math.max(nowMs, this.#prefillFreeAtMs) + workMs;
    await this.sleepUntil(this.#prefillFreeAtMs, gone);
  }

  /** From one token to the next, as busy as it is now. */
  tokenMs(): number {
    const others = Math.max(0, this.#running - 1);
    return (this.#timing.interTokenMs + this.#timing.interTokenMsPerSequence * others) * this.#timing.timeScale;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  /** Sleeps until a time, not at all if it is past; returns early when the client is gone. */
  async sleepUntil(timeMs: number, gone: AbortSignal): Promise<void> {
    const ms = timeMs - this.#clock.nowMs();
    if (ms <= 0 || gone.aborted) return;
    // One sleep a token: none of them may leave a listener behind.
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        cancel();
        gone.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = this.#clock.after(ms, wake);
      gone.addEventListener('abort', wake);
    });
  }
}

/** Returns how to stop listening: a long answer waits many times on one signal. */
export function onAbort(signal: AbortSignal, fn: () => void): () => void {
  const listener = (): void => {
    fn();
  };
  if (signal.aborted) fn();
  else signal.addEventListener('abort', listener, { once: true });
  return () => {
    signal.removeEventListener('abort', listener);
  };
}
