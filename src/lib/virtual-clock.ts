import type { CancelTimer, Clock } from './clock.js';

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fn: () => void;
}

/** A clock that stands still until it is told to advance; timers fire in due order, ties in the order they were set. */
export class VirtualClock implements Clock {
  #nowMs: number;
  #order = 0;
  readonly #timers = new Set<Timer>();

  constructor(startMs = 0) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  after(ms: number, fn: () => void): CancelTimer {
    const timer: Timer = { dueMs: this.#nowMs + Math.max(0, ms), order: this.#order++, fn };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** Moves time forward by `ms`, firing every timer that falls due on the way, at its own time. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (let next = this.#nextDue(endMs); next !== null; next = this.#nextDue(endMs)) {
      this.#timers.delete(next);
      this.#nowMs = next.dueMs;
      next.fn();
    }
    this.#nowMs = endMs;
  }

  /** Timers that are set and have not fired. */
  get pending(): number {
    return this.#timers.size;
  }

  #nextDue(endMs: number): Timer | null {
    let best: Timer | null = null;
    for (const timer of this.#timers) {
      if (timer.dueMs > endMs) continue;
      if (best === null || timer.dueMs < best.dueMs || (timer.dueMs === best.dueMs && timer.order < best.order)) best = timer;
    }
    return best;
  }
}
