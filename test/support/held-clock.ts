import { systemClock, type Clock } from '../../src/lib/clock.js';

/** A clock that stands still for decisions until it is told to advance, while timers run in real time: for exact levels behind a real Envoy. */
export class HeldClock implements Clock {
  #nowMs = Math.floor(systemClock.nowMs());
  readonly after = systemClock.after;

  nowMs(): number {
    return this.#nowMs;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }
}
