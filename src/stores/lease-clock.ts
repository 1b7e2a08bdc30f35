import { LEASE_MS } from '../domain/store.js';

/** The most by which one call moves a lease clock on. */
const MAX_STEP_MS = 1_000;

/**
 * The clock that the leases of one root expire by. It follows the clock of the callers, but never jumps: after a pause, or a step of that
 * clock, it goes on from where it stood. Only what several calls have seen for `LEASE_MS` is dead.
 */
export interface LeaseClock {
  clockMs: number;
  /** Time of the last call, as the caller told it. */
  lastMs: number;
}

export function startClock(nowMs: number): LeaseClock {
  return { clockMs: 0, lastMs: Math.floor(nowMs) };
}

/** To be called with every call for the root, before anything else. */
export function advance(clock: LeaseClock, nowMs: number): void {
  const now = Math.floor(nowMs);
  clock.clockMs += Math.min(MAX_STEP_MS, Math.max(0, now - clock.lastMs));
  clock.lastMs = now;
}

/** Whether a lease that gave its last sign of life at `aliveMs` of this clock has expired. */
export function hasExpired(clock: LeaseClock, aliveMs: number): boolean {
  return clock.clockMs - aliveMs >= LEASE_MS;
}
