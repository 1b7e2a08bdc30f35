import type { CancelTimer, Clock } from '../../lib/clock.js';
import type { Beat, PoolLink, Standing } from './link.js';

/** Between two beats of a keeper, of one that follows, and of one that looks for a keeper, in milliseconds. */
const KEEPER_MS = 500;
const FOLLOWER_MS = 1_000;
const LOOKING_MS = 200;
/** A claim that ended is contended for within so long. */
const JITTER_MS = 100;
/** Never more often than this. */
const SHORTEST_MS = 20;

export interface BeatParts {
  readonly clock: Clock;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  readonly link: Pick<PoolLink, 'beat'>;
  readonly beat: () => Beat;
  readonly onStanding: (standing: Standing, askedMs: number) => void;
  readonly onFault: (error: unknown) => void;
  /** After each beat, and now and then while one has no answer. */
  readonly look: () => void;
  /** What the pause depends on; null: the pool is left, and no more beats until `soon` is called. */
  readonly rest: () => { readonly isKeeper: boolean; readonly isAway: boolean } | null;
  /** Never rejects. No beat comes between its steps: it would claim, and hear, what they give up. */
  readonly leave: () => Promise<void>;
}

/** Signs of life of a processor at a pool, and claims: as long as it uses it. */
export class Beats {
  #cancelTimer: CancelTimer | null = null;
  #dueMs = Infinity;
  #isBeating = false;
  #again = false;
  #lastMs = -Infinity;
  #leftMs = Infinity;
  #stopped = false;
  #leaving: Promise<void> = Promise.resolve();

  constructor(private readonly parts: BeatParts) {}

  get hasBegun(): boolean {
    return this.#lastMs > -Infinity;
  }

  /** A beat within so long. */
  soon(ms: number): void {
    if (this.#isBeating) this.#again = true;
    else this.#schedule(ms);
  }

  /** @returns when nothing is being left any more. */
  stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    return this.#leaving;
  }

  #schedule(ms: number): void {
    const { clock } = this.parts;
    const nowMs = clock.nowMs();
    const dueMs = Math.max(nowMs + ms, this.#lastMs + SHORTEST_MS);
    if (this.#stopped || dueMs >= this.#dueMs) return;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#dueMs = dueMs;
    if (dueMs <= nowMs) void this.#beat();
    else this.#cancelTimer = clock.after(dueMs - nowMs, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const { clock, link, beat, onStanding, onFault, look } = this.parts;
    this.#isBeating = true;
    this.#again = false;
    this.#cancelTimer = null;
    this.#dueMs = Infinity;
    const askedMs = clock.nowMs();
    this.#lastMs = askedMs;
    this.#leftMs = Infinity;
    const endLooking = this.#lookMeanwhile();
    try {
      const standing = await link.beat(beat());
      this.#leftMs = standing.leftMs;
      if (!this.#stopped) onStanding(standing, askedMs);
    } catch (error) {
      onFault(error);
    }
    endLooking();
    this.#isBeating = false;
    if (this.#stopped) return;
    look();
    this.#next();
  }

  #lookMeanwhile(): CancelTimer {
    const { clock, look } = this.parts;
    const again = (): CancelTimer => clock.after(LOOKING_MS, () => {
      if (this.#stopped) return;
      look();
      cancelTimer = again();
    });
    let cancelTimer = again();
    return () => { cancelTimer(); };
  }

  #next(): void {
    const { random, rest } = this.parts;
    const resting = rest();
    if (resting === null) this.#leaving = this.#leave();
    else if (this.#again) this.#schedule(SHORTEST_MS);
    else if (resting.isKeeper) this.#schedule(KEEPER_MS * (0.8 + random() / 5));
    else if (resting.isAway) this.#schedule(LOOKING_MS * (0.5 + random() / 2));
    else this.#schedule(Math.min(FOLLOWER_MS * (0.75 + random() / 4), this.#leftMs + 10 + random() * JITTER_MS));
  }

  async #leave(): Promise<void> {
    this.#isBeating = true;
    this.#again = false;
    await this.parts.leave();
    this.#isBeating = false;
    if (this.#again) this.#schedule(SHORTEST_MS);
  }
}
