import type { LedgerEvent } from '../domain/lease.js';

/** Keeps the latest events, at most `capacity` of them. */
export class EventRing {
  readonly #events: LedgerEvent[] = [];
  #next = 0;

  constructor(private readonly capacity: number) {}

  add(event: LedgerEvent): void {
    this.#events[this.#next] = event;
    this.#next = (this.#next + 1) % this.capacity;
  }

  /** The latest `limit`, oldest first. */
  latest(limit: number): readonly LedgerEvent[] {
    const wrapped = this.#events.length === this.capacity;
    const inOrder = wrapped ? [...this.#events.slice(this.#next), ...this.#events.slice(0, this.#next)] : this.#events;
    return limit > 0 ? inOrder.slice(-limit) : [];
  }
}
