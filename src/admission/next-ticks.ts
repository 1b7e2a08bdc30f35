import type { PoolSettings, PoolStore } from '../domain/pool.js';
import type { CancelTimer, Clock } from '../lib/clock.js';

/** Processors that share a queue do not all come in the same moment. */
const JITTER_MS = 10;
/** After a call that failed, and at the earliest after one that was answered. */
const AFTER_FAULT_MS = 1_000;
const SHORTEST_MS = 1;

export interface TickPorts {
  readonly pools: Pick<PoolStore, 'tick'>;
  readonly clock: Clock;
  /** Any number from 0 up to 1. */
  readonly random: () => number;
  /** The newest settings of a pool; null where none are known. */
  readonly settings: (poolId: string) => PoolSettings | null;
  /** Whether requests of ours wait there: nobody else's are looked after. */
  readonly hasWaiters: (poolId: string) => boolean;
  readonly onFault: (error: unknown) => void;
}

interface Timer {
  readonly dueMs: number;
  readonly cancel: CancelTimer;
}

/** Lets a pool do what comes due by time alone: one timer a pool in which requests of ours wait, however many they are. */
export class NextTicks {
  readonly #timers = new Map<string, Timer>();
  /** Pools that are being called, and the earliest that was told of them meanwhile. */
  readonly #ticking = new Map<string, number>();

  constructor(private readonly ports: TickPorts) {}

  /** The pool told when something happens next; null: never by itself. The latest word counts. */
  arm(poolId: string, nextAtMs: number | null): void {
    const timer = this.#timers.get(poolId);
    if (nextAtMs === null || !this.ports.hasWaiters(poolId)) {
      this.#stop(poolId);
      return;
    }
    if (timer?.dueMs === nextAtMs) return;
    const meanwhileMs = this.#ticking.get(poolId);
    if (meanwhileMs !== undefined) {
      this.#ticking.set(poolId, Math.min(meanwhileMs, nextAtMs));
      return;
    }
    this.#stop(poolId);
    const delayMs = Math.max(SHORTEST_MS, nextAtMs - this.ports.clock.nowMs()) + JITTER_MS * this.ports.random();
    const cancel = this.ports.clock.after(delayMs, () => {
      this.#timers.delete(poolId);
      this.now(poolId);
    });
    this.#timers.set(poolId, { dueMs: nextAtMs, cancel });
  }

  /** Lets the pool look at once: its settings may be new. */
  now(poolId: string): void {
    if (this.#ticking.has(poolId)) {
      // What is under way brought the settings of before.
      this.#ticking.set(poolId, this.ports.clock.nowMs());
      return;
    }
    const settings = this.ports.settings(poolId);
    if (settings === null) return;
    this.#stop(poolId);
    this.#ticking.set(poolId, Infinity);
    void this.#tick(settings);
  }

  close(): void {
    for (const poolId of [...this.#timers.keys()]) this.#stop(poolId);
  }

  async #tick(settings: PoolSettings): Promise<void> {
    const { pools, clock, onFault } = this.ports;
    let nextAtMs: number | null;
    try {
      ({ nextAtMs } = await pools.tick(settings, Math.floor(clock.nowMs())));
    } catch (error) {
      onFault(error);
      nextAtMs = clock.nowMs() + AFTER_FAULT_MS;
    }
    const nextMs = Math.min(nextAtMs ?? Infinity, this.#ticking.get(settings.id) ?? Infinity);
    this.#ticking.delete(settings.id);
    this.arm(settings.id, nextMs === Infinity ? null : nextMs);
  }

  #stop(poolId: string): void {
    this.#timers.get(poolId)?.cancel();
    this.#timers.delete(poolId);
  }
}
