import type { LedgerEvent } from '../domain/lease.js';
import type { StoredEvent } from '../domain/store.js';

/**
 * Events that wait for a sink, oldest first. Ids rise, also over restarts as long as the clock does: milliseconds, and a number within
 * them. Above `capacity` the oldest are lost, which `onLost` is told.
 */
export class PendingEvents {
  readonly #events = new Map<string, StoredEvent>();
  #lastMs = 0;
  #number = 0;

  constructor(
    private readonly capacity: number,
    private readonly onLost: (event: StoredEvent) => void,
  ) {}

  add(rootId: string, event: LedgerEvent, nowMs: number): void {
    const id = this.#nextId(Math.floor(nowMs));
    this.#events.set(id, { id, rootId, event });
    if (this.#events.size <= this.capacity) return;
    for (const oldest of this.#events.values()) {
      this.#events.delete(oldest.id);
      this.onLost(oldest);
      return;
    }
  }

  oldest(limit: number): readonly StoredEvent[] {
    const events: StoredEvent[] = [];
    for (const event of this.#events.values()) {
      if (events.length >= limit) break;
      events.push(event);
    }
    return events;
  }

  acknowledge(events: readonly StoredEvent[]): void {
    for (const { id } of events) this.#events.delete(id);
  }

  #nextId(nowMs: number): string {
    this.#number = nowMs > this.#lastMs ? 0 : this.#number + 1;
    this.#lastMs = Math.max(this.#lastMs, nowMs);
    return `${this.#lastMs}-${this.#number}`;
  }
}
