import { PROCESSOR_MS, type Store } from '../../domain/store.js';
import type { Clock } from '../../lib/clock.js';
import { repeating, type Repeating } from '../../lib/repeating.js';

/** Four in the time after which a processor counts as gone. */
const EVERY_MS = PROCESSOR_MS / 4;
/** At first more often, with pauses that double: those that start together are to know of each other before one of them counts on being alone. */
const FIRST_PAUSE_MS = 150;

export interface HeartbeatParts {
  readonly store: Pick<Store, 'heartbeat'>;
  readonly owner: string;
  readonly clock: Clock;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
}

/** Tells the store that this processor lives, and remembers how many do. A beat that fails changes nothing: the last count stays. */
export class Heartbeats {
  #count: number | null = null;
  #repeating: Repeating | null = null;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(private readonly parts: HeartbeatParts) {}

  /** Begins, and resolves after the first beat. Never rejects. */
  async start(): Promise<void> {
    if (this.#repeating !== null) return;
    this.#repeating = repeating(this.parts.clock, () => this.#nextPauseMs(), () => this.#beat());
    await this.#beat();
  }

  /** How many processors lived when the store was last asked; null before its first answer. */
  count(): number | null {
    return this.#count;
  }

  stop(): void {
    void this.#repeating?.stop();
  }

  #nextPauseMs(): number {
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(EVERY_MS, pauseMs * 2);
    return pauseMs * (0.75 + this.parts.random() / 4);
  }

  async #beat(): Promise<void> {
    const { store, owner, clock } = this.parts;
    try {
      this.#count = Math.max(1, await store.heartbeat(owner, clock.nowMs()));
    } catch {
      // Who watches the store tells that it is away; nothing hangs on one beat.
    }
  }
}
