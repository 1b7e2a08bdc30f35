/** Ends a pending timer; calling it again, or after it fired, does nothing. */
export type CancelTimer = () => void;

/**
 * The one source of time. Everything that waits or reads the time gets a clock, so that tests and the simulator
 * run on virtual time.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch, never decreasing; may have a fraction. */
  nowMs(): number;
  /** Calls `fn` once, `ms` milliseconds from now. */
  after(ms: number, fn: () => void): CancelTimer;
}

/** Real time. Monotonic (a step of the machine's wall clock does not move it) and precise to the microsecond. */
export const systemClock: Clock = {
  nowMs: () => performance.timeOrigin + performance.now(),
  after: (ms, fn) => {
    const timer = setTimeout(fn, ms);
    return () => {
      clearTimeout(timer);
    };
  },
};
