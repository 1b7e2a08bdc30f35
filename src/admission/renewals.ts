import { RENEW_MS, type Renewal, type Store } from '../domain/store.js';
import type { CancelTimer, Clock } from '../lib/clock.js';

/** The longest pause between two looks at the running leases, in milliseconds: output beyond a reservation is told within it. */
const TICK_MS = 200;
/** A lease that was told this long ago is told again: with the next tick it is at most `RENEW_MS`, with room for one that comes late. */
const DUE_MS = RENEW_MS - 1.25 * TICK_MS;

/** A lease whose exchange runs. */
export interface RunningLease {
  readonly id: string;
  /** Output that its reservation holds, in tokens. */
  readonly reservedOutputTokens: number;
  /** Output so far, in tokens. Must not throw. */
  outputSoFar(): number;
}

export interface RenewalPorts {
  readonly store: Pick<Store, 'renew'>;
  readonly clock: Clock;
  /** Any number from 0 up to 1. */
  readonly random: () => number;
  readonly onFault: (error: unknown) => void;
}

/** What the store was told of a lease. */
interface Told {
  readonly lease: RunningLease;
  outputTokens: number;
  atMs: number;
}

/**
 * Tells the store that leases live, each about once a second for as long as its exchange runs, however long the first token takes; and at
 * once, which is within a quarter of a second, that it was dispatched and what it puts out beyond its reservation. One timer and one
 * call for all that are due; each is due by its own beginning, so that they do not all come in the same moment.
 */
export class Renewals {
  readonly #running = new Map<string, Told>();
  #cancelTimer: CancelTimer | null = null;
  /** When the call began that the store has not answered yet. */
  #calledAtMs: number | null = null;

  constructor(private readonly ports: RenewalPorts) {}

  /** A lease was dispatched. */
  begin(lease: RunningLease): void {
    this.#running.set(lease.id, { lease, outputTokens: lease.reservedOutputTokens, atMs: -Infinity });
    this.#schedule();
  }

  /** A lease ended. */
  forget(leaseId: string): void {
    this.#running.delete(leaseId);
  }

  /** Tells nothing more. */
  close(): void {
    this.#cancelTimer?.();
    this.#running.clear();
  }

  #schedule(): void {
    if (this.#running.size === 0) return;
    this.#cancelTimer ??= this.ports.clock.after(TICK_MS * (1 - 0.2 * this.ports.random()), () => {
      this.#cancelTimer = null;
      this.#tick();
      this.#schedule();
    });
  }

  /** A store that is slow gets one call at a time; one that does not answer at all, one a second. */
  #tick(): void {
    const nowMs = this.ports.clock.nowMs();
    if (this.#calledAtMs !== null && nowMs - this.#calledAtMs < RENEW_MS) return;
    const renewals = this.#due(nowMs);
    if (renewals.length > 0) void this.#tell(renewals, nowMs);
  }

  #due(nowMs: number): Renewal[] {
    const renewals: Renewal[] = [];
    for (const [leaseId, told] of this.#running) {
      const outputTokens = told.lease.outputSoFar();
      if (nowMs - told.atMs < DUE_MS && outputTokens <= told.outputTokens) continue;
      told.atMs = nowMs;
      renewals.push({ leaseId, outputTokens });
    }
    return renewals;
  }

  /** A call that fails is no loss: the next one, or the settlement, carries the whole figure. */
  async #tell(renewals: readonly Renewal[], nowMs: number): Promise<void> {
    this.#calledAtMs = nowMs;
    try {
      await this.ports.store.renew(renewals, nowMs);
      for (const { leaseId, outputTokens } of renewals) {
        const told = this.#running.get(leaseId);
        if (told !== undefined) told.outputTokens = Math.max(told.outputTokens, outputTokens);
      }
    } catch (error) {
      this.ports.onFault(error);
    } finally {
      if (this.#calledAtMs === nowMs) this.#calledAtMs = null;
    }
  }
}
