import type { Clock } from './clock.js';

/** Work that goes on and on. */
export interface Repeating {
  /** No further step begins. Resolves when the one that runs has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `step` again and again, the first time after a pause; each pause is asked for when the last run has ended, so that a slow step never
 * runs twice at one time. `step` must not reject.
 */
export function repeating(clock: Clock, pauseMs: () => number, step: () => Promise<void>): Repeating {
  let stopped = false;
  let running: Promise<void> | null = null;
  const run = (): void => {
    running = step().then(() => {
      running = null;
      if (!stopped) pause();
    });
  };
  let cancel = (): void => undefined;
  const pause = (): void => {
    cancel = clock.after(pauseMs(), run);
  };
  pause();
  return {
    stop: async () => {
      stopped = true;
      cancel();
      await running;
    },
  };
}
