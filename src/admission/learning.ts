import type { FaultKind } from '../domain/decision.js';
import type { Estimator, LearnedState } from '../domain/estimate.js';
import type { Store } from '../domain/store.js';
import type { CancelTimer, Clock } from '../lib/clock.js';

const INTERVAL_MS = 30_000;
/** Longer than this nothing waits for what was learned: an estimate that knows nothing is better than no service. */
const WAIT_MS = 1_000;
/** States that wait for a store that is away; the oldest give way. */
const MAX_PENDING = 2_000;

export interface LearningPorts {
  readonly estimator: Estimator;
  readonly store: Store;
  readonly clock: Clock;
  readonly observer: { fault(kind: FaultKind, error: unknown): void };
}

/**
 * Keeps what the estimator learned in the store, so that a restart does not forget it and processors learn from each other's
 * answers. A store that fails costs nothing but that: the fault is counted, and what was not taken is saved with the next.
 */
export class Learning {
  #cancelTimer: CancelTimer | null = null;
  #closed = false;
  #running: Promise<void> | null = null;
  readonly #pending = new Map<string, LearnedState>();

  constructor(private readonly ports: LearningPorts) {}

  /** Takes up what is stored, then exchanges every half minute. Resolves when that was taken up, or after a second. Never rejects. */
  async start(): Promise<void> {
    await this.#within(this.#adopt());
    this.#schedule();
  }

  /** Saves what is new and takes up what others saved, now. Never rejects. */
  exchange(): Promise<void> {
    this.#running ??= this.#save()
      .then(() => this.#adopt())
      .finally(() => {
        this.#running = null;
      });
    return this.#running;
  }

  /** Saves what is new, for a second at most, and ends. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer?.();
    await this.#within((this.#running ?? Promise.resolve()).then(() => this.#save()));
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#cancelTimer = this.ports.clock.after(INTERVAL_MS, () => {
      void this.exchange();
      this.#schedule();
    });
  }

  async #save(): Promise<void> {
    const { estimator, store } = this.ports;
    await this.#guarded(async () => {
      for (const state of estimator.learned()) this.#wait(state);
      const states = [...this.#pending.values()];
      if (states.length === 0) return;
      await store.saveLearned(states);
      for (const state of states) if (this.#pending.get(state.key) === state) this.#pending.delete(state.key);
    });
  }

  #wait(state: LearnedState): void {
    this.#pending.delete(state.key);
    this.#pending.set(state.key, state);
    const [oldest] = this.#pending.keys();
    if (oldest !== undefined && this.#pending.size > MAX_PENDING) this.#pending.delete(oldest);
  }

  async #adopt(): Promise<void> {
    const { estimator, store } = this.ports;
    await this.#guarded(async () => {
      estimator.adopt(await store.loadLearned());
    });
  }

  async #guarded(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.ports.observer.fault('store', error);
    }
  }

  #within(work: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.ports.clock.after(WAIT_MS, resolve);
      void work.then(() => {
        cancel();
        resolve();
      });
    });
  }
}
