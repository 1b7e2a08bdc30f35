import type { FaultKind } from '../domain/decision.js';
import { eventKey, type LedgerSink } from '../domain/ledger.js';
import type { Store, StoredEvent } from '../domain/store.js';
import type { Clock } from '../lib/clock.js';
import { repeating, type Repeating } from '../lib/repeating.js';

const BATCH_EVENTS = 500;
/** With nothing to hand on. */
const IDLE_MS = 500;
/** While another processor hands on. */
const STANDBY_MS = 2_000;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 10_000;
const FLUSH_WITHIN_MS = 5_000;

export interface ExporterPorts {
  readonly store: Pick<Store, 'pendingEvents' | 'acknowledgeEvents' | 'claimExport'>;
  readonly sink: LedgerSink;
  /** Name of this processor. */
  readonly owner: string;
  readonly clock: Clock;
  /** Any number from 0 up to 1. */
  readonly random: () => number;
  readonly observer: { fault(kind: FaultKind, error: unknown): void };
  readonly onExported: (events: number) => void;
}

/** What a round found. */
type Round = 'more' | 'all' | 'not_ours' | 'failed';

/**
 * Hands the store's events on to a sink, and lets the store forget what the sink has: each at least once. Of several processors one does;
 * where two did after all, the sink has some events twice, under the same key.
 */
export class LedgerExporter {
  #repeating: Repeating | null = null;
  #pauseMs = 0;
  #failures = 0;
  /** Keys of those that the sink has and the store has not forgotten: they are not written again. */
  #kept: ReadonlySet<string> = new Set();

  constructor(private readonly ports: ExporterPorts) {}

  start(): void {
    this.#repeating ??= repeating(this.ports.clock, () => this.#pauseMs * (0.75 + this.ports.random() / 2), async () => {
      this.#pauseMs = this.#pauseAfter(await this.#round());
    });
  }

  /**
   * Hands on what is left and closes the sink, within a bound: what is not handed on stays in the store. Call it when the last lease is settled.
   * Never rejects.
   */
  async stop(withinMs = FLUSH_WITHIN_MS): Promise<void> {
    let inTime = true;
    await new Promise<void>((resolve) => {
      const cancel = this.ports.clock.after(withinMs, () => {
        inTime = false;
        resolve();
      });
      void this.#flush(() => inTime).then(() => {
        cancel();
        resolve();
      });
    });
  }

  async #flush(inTime: () => boolean): Promise<void> {
    await this.#repeating?.stop();
    while (inTime() && (await this.#round()) === 'more');
    await this.ports.sink.close().catch((error: unknown) => {
      this.ports.observer.fault('ledger', error);
    });
  }

  async #round(): Promise<Round> {
    const { store, owner, clock, observer } = this.ports;
    try {
      if ((await store.claimExport?.(owner, clock.nowMs())) === false) return 'not_ours';
      const events = await store.pendingEvents(BATCH_EVENTS);
      if (events.length > 0) await this.#handOn(events);
      this.#failures = 0;
      return events.length < BATCH_EVENTS ? 'all' : 'more';
    } catch (error) {
      observer.fault('ledger', error);
      this.#failures++;
      return 'failed';
    }
  }

  async #handOn(events: readonly StoredEvent[]): Promise<void> {
    const { store, sink, onExported } = this.ports;
    const fresh = events.filter((stored) => !this.#kept.has(eventKey(stored)));
    if (fresh.length > 0) await sink.write(fresh);
    this.#kept = new Set(events.map(eventKey));
    onExported(fresh.length);
    await store.acknowledgeEvents(events);
  }

  #pauseAfter(round: Round): number {
    switch (round) {
      case 'more':
        return 0;
      case 'all':
        return IDLE_MS;
      case 'not_ours':
        return STANDBY_MS;
      case 'failed':
        return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1));
    }
  }
}
