import type { Clock } from '../../lib/clock.js';
import { FAILURES, SHARE_WAITERS_MS, SILENT_MS, STILL_MS } from './bounds.js';

/** Whether a processor hears of a keeper: by the questions that nobody answers, and by the silence where there is nothing to ask. */
export class Contact {
  #failures = 0;
  #silentMs = 0;
  #lookedMs: number;
  #awaySinceMs: number | null = null;

  constructor(private readonly clock: Clock) {
    this.#lookedMs = clock.nowMs();
  }

  /** Whether nobody is waited for any more. */
  get isAway(): boolean {
    return this.#awaySinceMs !== null;
  }

  /** Whether it has lasted so long that no keeper can have dispatched meanwhile. */
  get isAlone(): boolean {
    return this.#awaySinceMs !== null && Math.max(this.#silentMs, this.clock.nowMs() - this.#awaySinceMs) >= SHARE_WAITERS_MS;
  }

  /** Somebody told something: there is a keeper, or there will be one. */
  heard(): void {
    this.#silentMs = 0;
    this.#lookedMs = this.clock.nowMs();
  }

  answered(): void {
    this.#failures = 0;
  }

  /** A question had no answer in time. @returns whether nobody is waited for from now on. */
  unanswered(): boolean {
    return ++this.#failures >= FAILURES && this.#lose();
  }

  /** Time passes. What this process slept through was no silence: it could not have heard. @returns whether nobody is waited for from now on. */
  look(): boolean {
    const nowMs = this.clock.nowMs();
    this.#silentMs += Math.min(nowMs - this.#lookedMs, STILL_MS);
    this.#lookedMs = nowMs;
    return this.#silentMs >= SILENT_MS && this.#lose();
  }

  /** A keeper knows all. @returns how long none did, in milliseconds; null: one did. */
  found(): number | null {
    const sinceMs = this.#awaySinceMs;
    this.answered();
    this.heard();
    this.#awaySinceMs = null;
    return sinceMs === null ? null : this.clock.nowMs() - sinceMs;
  }

  #lose(): boolean {
    if (this.isAway) return false;
    this.#awaySinceMs = this.clock.nowMs();
    return true;
  }
}
