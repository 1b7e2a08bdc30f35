import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 10;

/** Measures how late the event loop serves its timers. */
export interface EventLoopLag {
  /** 99th percentile since the last call, in seconds. */
  takeSeconds(): number;
  stop(): void;
}

/** Samples inside libuv, without any JavaScript of ours a sample. Each sample holds the timer's own interval, which is taken off. */
export function startEventLoopLag(): EventLoopLag {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return {
    takeSeconds: () => {
      const lateNs = histogram.count === 0 ? 0 : histogram.percentile(99) - RESOLUTION_MS * 1e6;
      histogram.reset();
      return Math.max(0, lateNs) / 1e9;
    },
    stop: () => {
      histogram.disable();
    },
  };
}
