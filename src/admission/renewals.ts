import type { CancelTimer, Clock } from '../lib/clock.js';
import type { Store } from '../domain/store.js';

const INTERVAL_MS = 250;

/** Collects what running streams put out beyond their reservation and tells the store in one call for all, a few times a second. */
export class Renewals {
  readonly #pending = new Map<string, number>();
  #cancelTimer: CancelTimer | null = null;

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /** The output of a lease so far, in tokens. */
  note(leaseId: string, outputTokens: number): void {
    this.#pending.set(leaseId, outputTokens);
    this.#cancelTimer ??= this.clock.after(INTERVAL_MS, () => {
      void this.flush();
    });
  }

  /** A lease ended: what was noted of it is void. */
  forget(leaseId: string): void {
    this.#pending.delete(leaseId);
  }

  /** Tells the store now. A failed renewal is no loss: the next one, or the settlement, carries the whole figure. */
  async flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const renewals = [...this.#pending].map(([leaseId, outputTokens]) => ({ leaseId, outputTokens }));
    this.#pending.clear();
    if (renewals.length > 0) await this.store.renew(renewals, this.clock.nowMs()).catch(this.onFault);
  }
}
