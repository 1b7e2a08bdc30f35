import type { Clock } from '../lib/clock.js';
import type { Script } from './script.js';

/** How fast the simulated engine is. The defaults are those of a small model on one modest GPU. */
export interface Timing {
  /** Prompt tokens a second. Prompts are read one after the other, as the budget of a step is shared. Default 4,000. */
  readonly prefillTokensPerSecond: number;
  /** Between two tokens of a sequence that runs alone, milliseconds. Default 12. */
  readonly interTokenMs: number;
  /** Added for each other running sequence, milliseconds. Default 1.5. */
  readonly interTokenMsPerSequence: number;
  /** Sequences that run at once; others wait in order. Default 8. */
  readonly slots: number;
  /** Requests that may wait; one more gets a 503. Default 1,024. */
  readonly maxQueued: number;
  /** All durations are multiplied by this: 1 is honest, 0 is instant. Default 1. */
  readonly timeScale: number;
}

export const DEFAULT_TIMING: Timing = {
  prefillTokensPerSecond: 4_000,
  interTokenMs: 12,
  interTokenMsPerSequence: 1.5,
  slots: 8,
  maxQueued: 1_024,
  timeScale: 1,
};

/** Answers at once: for tests that are not about time. */
export const INSTANT: Partial<Timing> = { timeScale: 0, slots: 100_000, maxQueued: 100_000 };

export interface SimulatedUpstreamOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: the system chooses. */
  readonly port?: number;
  readonly timing?: Partial<Timing>;
  /** Models it serves; null serves any. Default null. */
  readonly models?: readonly string[] | null;
  /** Prompt and answer together. Default 131,072. */
  readonly contextTokens?: number;
  /** Length of answers to requests without a cap. Default 48 to 175, by the prompt. */
  readonly outputTokens?: number;
  /** Looks at each request and may decide what happens instead. */
  readonly script?: Script;
  /** Requests that are remembered with headers and body; the oldest go first. Default 10,000. */
  readonly maxRecorded?: number;
  readonly clock?: Clock;
}
