import type { LedgerEvent, TenantTotals } from '../domain/lease.js';
import type { StoredEvent } from '../domain/store.js';
import { EventRing } from './event-ring.js';
import type { Figures } from './ledger-entries.js';
import { PendingEvents } from './pending-events.js';
import { PeriodTotals } from './period-totals.js';

export interface LedgerOptions {
  readonly recentEvents: number;
  readonly keepEvents: boolean;
  readonly maxPendingEvents: number;
  readonly onEventLost: (event: StoredEvent) => void;
  readonly maxPeriodTotals: number;
}

/** One entry of the ledger: an event and what it adds to totals. */
export interface Entry {
  readonly rootId: string;
  readonly event: LedgerEvent;
  /** 1, or 0 for the correction of one that was counted. */
  readonly requests: number;
  readonly figures: Figures;
  /** All to whose totals it belongs. */
  readonly billed: ReadonlySet<string>;
}

/** Settled requests: the latest, those that wait for a sink, and totals by period. */
export class MemoryLedger {
  readonly #recent: EventRing;
  readonly #pending: PendingEvents | null;
  readonly #periods: PeriodTotals;

  constructor(options: LedgerOptions) {
    this.#recent = new EventRing(options.recentEvents);
    this.#pending = options.keepEvents ? new PendingEvents(options.maxPendingEvents, options.onEventLost) : null;
    this.#periods = new PeriodTotals(options.maxPeriodTotals);
  }

  book({ rootId, event, requests, figures, billed }: Entry, nowMs: number): void {
    this.#recent.add(event);
    this.#pending?.add(rootId, event, nowMs);
    for (const tenantId of billed) this.#periods.add(tenantId, event.settledAtMs, requests, figures);
  }

  recent(limit: number): readonly LedgerEvent[] {
    return this.#recent.latest(limit);
  }

  totalsIn(period: string): ReadonlyMap<string, TenantTotals> {
    return this.#periods.in(period);
  }

  pending(limit: number): readonly StoredEvent[] {
    return this.#pending?.oldest(limit) ?? [];
  }

  acknowledge(events: readonly StoredEvent[]): void {
    this.#pending?.acknowledge(events);
  }
}
