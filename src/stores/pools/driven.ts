import type { CancelTimer, Clock } from '../../lib/clock.js';
import { PoolScheduler, type OwnedEvent } from '../../pool/scheduler.js';

/** Whose time a scheduler goes by: its own process's, or, in tests, that which callers tell. */
export type PoolTime = 'own' | 'caller';

export interface DrivenParts {
  readonly poolId: string;
  readonly clock: Clock;
  readonly time: PoolTime;
  readonly dispatchesPerCall?: number | undefined;
  /** Whether it may decide now; default: always. */
  readonly mayDecide?: () => boolean;
  readonly onEvents: (events: readonly OwnedEvent[]) => void;
}

/** One that may not decide looks again after so long, in milliseconds. */
const AGAIN_MS = 100;

/** A scheduler with a timer for what happens by time alone: nobody else need call for that. By the callers' time it has none. */
export class DrivenScheduler {
  readonly scheduler: PoolScheduler;
  #dueMs: number | null = null;
  #cancelTimer: CancelTimer | null = null;
  #stopped = false;

  constructor(private readonly parts: DrivenParts) {
    const { poolId, dispatchesPerCall } = parts;
    this.scheduler = new PoolScheduler(poolId, dispatchesPerCall === undefined ? {} : { dispatchesPerCall });
  }

  /** The time to decide by. */
  nowMs(callerMs: number): number {
    return this.parts.time === 'caller' ? callerMs : Math.floor(this.parts.clock.nowMs());
  }

  /** When something happens next, for the caller: null where the timer sees to that. */
  nextAtMs(nowMs: number): number | null {
    return this.parts.time === 'caller' ? this.scheduler.nextAtMs(nowMs) : null;
  }

  /** To be called after each call of the scheduler, and after its answer was told. */
  settle(): void {
    const events = this.scheduler.takeEvents();
    if (events.length > 0) this.parts.onEvents(events);
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  #arm(atLeastMs = 1): void {
    if (this.#stopped || this.parts.time === 'caller') return;
    const nowMs = this.nowMs(0);
    const nextMs = this.scheduler.nextAtMs(nowMs);
    // A timer that fires early does no harm: it looks, and is set anew.
    if (nextMs === null || (this.#dueMs !== null && this.#dueMs <= nextMs)) return;
    this.#cancelTimer?.();
    this.#dueMs = nextMs;
    this.#cancelTimer = this.parts.clock.after(Math.max(atLeastMs, nextMs - nowMs), () => {
      this.#dueMs = null;
      this.#tick();
    });
  }

  #tick(): void {
    if (this.parts.mayDecide?.() === false) return this.#arm(AGAIN_MS);
    const { settings } = this.scheduler.state;
    if (settings !== null) this.scheduler.tick(settings, this.nowMs(0));
    this.settle();
  }
}
