import type { FaultKind } from '../domain/decision.js';
import type { Store } from '../domain/store.js';
import type { Clock } from '../lib/clock.js';
import { repeating, type Repeating } from '../lib/repeating.js';

const EVERY_MS = 1_000;

export interface ReaperPorts {
  readonly store: Pick<Store, 'reap'>;
  readonly clock: Clock;
  /** Any number from 0 up to 1. */
  readonly random: () => number;
  readonly observer: { reaped(leases: number): void; fault(kind: FaultKind, error: unknown): void };
}

/**
 * Settles what dead processors left, whosever it is. Every processor does, about once a second and not all in the same moment; the store
 * sees to it that each lease ends once. A store that fails costs nothing but a fault that is counted.
 */
export class Reaper {
  #repeating: Repeating | null = null;

  constructor(private readonly ports: ReaperPorts) {}

  start(): void {
    const { clock, random } = this.ports;
    this.#repeating ??= repeating(clock, () => EVERY_MS * (0.75 + random() / 2), () => this.#reap());
  }

  /** No further call begins; one that is under way is not waited for. */
  close(): void {
    void this.#repeating?.stop();
  }

  async #reap(): Promise<void> {
    const { store, clock, observer } = this.ports;
    try {
      const leases = await store.reap(clock.nowMs());
      if (leases > 0) observer.reaped(leases);
    } catch (error) {
      observer.fault('reap', error);
    }
  }
}
