import type { CancelTimer, Clock } from '../../lib/clock.js';

/** So many failures without a success between them, and nobody waits for the store any longer. */
const FAILURES = 3;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

export interface CircuitParts {
  readonly clock: Clock;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  /** Asks the store for something harmless; rejects if it does not answer in time. */
  readonly probe: () => Promise<unknown>;
  readonly onOpen: (error: unknown) => void;
  /** The store is back, after so many milliseconds. */
  readonly onClose: (awayMs: number) => void;
}

/**
 * Whether it is worth asking the store. Opens after failures in a row; then probes, with growing pauses of random length (so that
 * processors do not come back all at once), until one is answered. Pauses begin short again only when the store was there for a while: one
 * that answers probes and nothing else is not probed ten times a second.
 */
export class Circuit {
  #failures = 0;
  #openSinceMs: number | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #backSinceMs = -Infinity;
  #cancelTimer: CancelTimer | null = null;
  #closed = false;

  constructor(private readonly parts: CircuitParts) {}

  get isOpen(): boolean {
    return this.#openSinceMs !== null;
  }

  /** Since when the store is away; null while it is not. */
  get openSinceMs(): number | null {
    return this.#openSinceMs;
  }

  /** A call was answered. Late answers, to calls from before it opened, close nothing. */
  succeeded(): void {
    if (!this.isOpen) this.#failures = 0;
  }

  failed(error: unknown): void {
    if (this.isOpen || ++this.#failures < FAILURES) return;
    const nowMs = this.parts.clock.nowMs();
    this.#openSinceMs = nowMs;
    if (nowMs - this.#backSinceMs >= LONGEST_PAUSE_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.parts.onOpen(error);
    this.#probeLater();
  }

  /** No more probes. */
  stop(): void {
    this.#closed = true;
    this.#cancelTimer?.();
  }

  #probeLater(): void {
    if (this.#closed) return;
    const pauseMs = this.#pauseMs * (0.5 + this.parts.random() / 2);
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    this.#cancelTimer = this.parts.clock.after(pauseMs, () => {
      this.parts.probe().then(
        () => { this.#close(); },
        () => { this.#probeLater(); },
      );
    });
  }

  #close(): void {
    const sinceMs = this.#openSinceMs;
    if (sinceMs === null || this.#closed) return;
    this.#openSinceMs = null;
    this.#failures = 0;
    this.#backSinceMs = this.parts.clock.nowMs();
    this.parts.onClose(this.#backSinceMs - sinceMs);
  }
}
