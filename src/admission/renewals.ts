import { RENEW_MS, type Renewal, type Store } from '../domain/store.js';
import type { CancelTimer, Clock } from '../lib/clock.js';

/** The longest pause between two looks at the running leases, in milliseconds: output beyond a reservation is told within it. */
const TICK_MS = 200;
/** A lease that was told this long ago is told again: with the next tick it is at most `RENEW_MS`, with room for one that comes late. */
const DUE_MS = RENEW_MS - 1.25 * TICK_MS;
/** Leases in one call: with thousands in one, a busy store would seem to be away. */
const MOST_AT_ONCE = 500;

/** A lease whose exchange runs, or whose request is held. */
export interface RunningLease {
  readonly id: string;
  /** Output that its reservation holds, in tokens. */
  readonly reservedOutputTokens: number;
  /** Output so far, in tokens. Must not throw. */
  outputSoFar(): number;
  /** It waits, and is not dispatched yet. */
  readonly held?: boolean;
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
 * once, which is within a quarter of a second, that it was dispatched and what it puts out beyond its reservation. One timer for
 * all, and one call for up to 500 that are due; each is due by its own beginning, so that they do not all come in the same moment.
 */
export class Renewals {
  readonly #running = new Map<string, Told>();
  #cancelTimer: CancelTimer | null = null;
  /** When the call began that the store has not answered yet. */
  #calledAtMs: number | null = null;
  /** Number of the latest pass; an older one that hangs tells nothing more. */
  #pass = 0;

  constructor(private readonly ports: RenewalPorts) {}

  /** A lease was dispatched, which is told with the next look; or its request is held, and it is known to live as of now. */
  begin(lease: RunningLease): void {
    const atMs = lease.held === true ? this.ports.clock.nowMs() : -Infinity;
    this.#running.set(lease.id, { lease, outputTokens: lease.reservedOutputTokens, atMs });
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
    const due = this.#due(nowMs);
    if (due.length > 0) void this.#tellAll(due, ++this.#pass);
  }

  #due(nowMs: number): Told[] {
    const due: Told[] = [];
    for (const told of this.#running.values()) {
      if (nowMs - told.atMs >= DUE_MS || told.lease.outputSoFar() > told.outputTokens) due.push(told);
    }
    return due;
  }

  async #tellAll(due: readonly Told[], pass: number): Promise<void> {
    let taken = true;
    for (let from = 0; taken && from < due.length && pass === this.#pass; from += MOST_AT_ONCE) {
      taken = await this.#tell(due.slice(from, from + MOST_AT_ONCE));
    }
    if (pass === this.#pass) this.#calledAtMs = null;
  }

  /** Whether the store took it. A call that fails is no loss: the next one, or the settlement, carries the whole figure. */
  async #tell(some: readonly Told[]): Promise<boolean> {
    const nowMs = this.ports.clock.nowMs();
    const renewals: Renewal[] = [];
    for (const told of some) {
      if (!this.#running.has(told.lease.id)) continue;
      told.atMs = nowMs;
      const { id, held } = told.lease;
      renewals.push({ leaseId: id, outputTokens: told.lease.outputSoFar(), ...(held === true && { held }) });
    }
    if (renewals.length === 0) return true;
    this.#calledAtMs = nowMs;
    try {
      await this.ports.store.renew(renewals, nowMs);
    } catch (error) {
      this.ports.onFault(error);
      return false;
    }
    for (const { leaseId, outputTokens } of renewals) this.#wasTold(leaseId, outputTokens);
    return true;
  }

  #wasTold(leaseId: string, outputTokens: number): void {
    const told = this.#running.get(leaseId);
    if (told !== undefined) told.outputTokens = Math.max(told.outputTokens, outputTokens);
  }
}
