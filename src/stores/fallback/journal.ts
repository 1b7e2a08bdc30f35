import type { BucketCharge, Consumption, LedgerEvent } from '../../domain/lease.js';
import type { AtStore } from './own-leases.js';

/** A settlement that the store has not got yet. */
export interface SettleEntry {
  readonly kind: 'settle';
  readonly leaseId: string;
  readonly tenantId: string;
  readonly rootId: string;
  readonly owner: string;
  /** All that it held while it ran. */
  readonly held: readonly BucketCharge[];
  readonly consumed: Consumption;
  readonly event: LedgerEvent;
  /** Whether the store may have the lease itself, and settles it. */
  readonly atStore: AtStore;
  /** It was counted in the own share, and what of it the store is to charge is still to be chosen. */
  inShare: boolean;
  /** What the store charges for it where it has no lease of it, at true amounts: of a long outage only what is not yet refilled. */
  charged: readonly BucketCharge[];
  /** When it may first have been booked with the answer lost; null before. */
  triedMs: number | null;
}

/** A lease that may be at the store and must not be. Others settle it for dead if this gets lost: none is refused for its sake. */
export interface CancelEntry {
  readonly kind: 'cancel';
  readonly leaseId: string;
}

export type JournalEntry = SettleEntry | CancelEntry;

export interface JournalSize {
  readonly entries: number;
  /** As JSON, in UTF-16 units. */
  readonly bytes: number;
  /** Settlements that were given up for want of room, since the start: their requests are missing in ledger and totals. */
  readonly dropped: number;
}

export interface JournalBounds {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** Where a journal is kept beside memory. None of this rejects or waits: who writes a file tells its own faults. */
export interface JournalCopy {
  added(entry: JournalEntry, json: string): void;
  done(leaseId: string): void;
  close(): Promise<void>;
}

interface Kept {
  readonly entry: JournalEntry;
  readonly bytes: number;
}

/** What waits for the store, oldest first, one entry a lease. Bounded: the oldest give way, and are counted. */
export class Journal {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #dropped = 0;

  constructor(
    private readonly bounds: JournalBounds,
    private readonly copy: JournalCopy | null = null,
    found: readonly JournalEntry[] = [],
  ) {
    for (const entry of found) this.#keep(entry, JSON.stringify(entry));
  }

  get size(): JournalSize {
    return { entries: this.#kept.size, bytes: this.#bytes, dropped: this.#dropped };
  }

  get isEmpty(): boolean {
    return this.#kept.size === 0;
  }

  has(leaseId: string): boolean {
    return this.#kept.has(leaseId);
  }

  /** Oldest first. */
  entries(): readonly JournalEntry[] {
    return [...this.#kept.values()].map(({ entry }) => entry);
  }

  add(entry: JournalEntry): void {
    const json = JSON.stringify(entry);
    this.copy?.added(entry, json);
    this.#keep(entry, json);
  }

  /** The store has it. */
  done(leaseId: string): void {
    if (this.#remove(leaseId)) this.copy?.done(leaseId);
  }

  /** What is in memory alone ends with the process: given up, and counted. */
  async close(): Promise<void> {
    if (this.copy !== null) return this.copy.close();
    for (const { entry } of [...this.#kept.values()]) this.#giveUp(entry);
  }

  #keep(entry: JournalEntry, json: string): void {
    this.#remove(entry.leaseId);
    this.#kept.set(entry.leaseId, { entry, bytes: json.length });
    this.#bytes += json.length;
    for (const eldest of this.#kept.values()) {
      if (this.#kept.size <= this.bounds.maxEntries && this.#bytes <= this.bounds.maxBytes) return;
      this.#giveUp(eldest.entry);
    }
  }

  #giveUp({ leaseId, kind }: JournalEntry): void {
    this.#remove(leaseId);
    this.copy?.done(leaseId);
    if (kind === 'settle') this.#dropped++;
  }

  #remove(leaseId: string): boolean {
    const kept = this.#kept.get(leaseId);
    if (kept === undefined) return false;
    this.#kept.delete(leaseId);
    this.#bytes -= kept.bytes;
    return true;
  }
}
