import type { CancelTimer, Clock } from '../lib/clock.js';

/** Writes one fault; `suppressed` is how many of its kind came since the last line and were not written. */
export type WriteFault = (kind: string, error: unknown, suppressed: number) => void;

interface Window {
  suppressed: number;
  lastError: unknown;
  cancel: CancelTimer;
}

const WINDOW_MS = 1_000;

/**
 * At most one line a second of each kind of fault, so that a storm of them does not become a storm of lines. What was
 * suppressed is told when its second is over, even if nothing follows. Kinds are a closed set: memory is bounded.
 */
export class FaultLimiter {
  readonly #windows = new Map<string, Window>();

  constructor(
    private readonly clock: Clock,
    private readonly write: WriteFault,
  ) {}

  fault(kind: string, error: unknown): void {
    const window = this.#windows.get(kind);
    if (window === undefined) {
      this.#emit(kind, error, 0);
      return;
    }
    window.suppressed++;
    window.lastError = error;
  }

  /** Writes what is still held back and sets no more timers. */
  stop(): void {
    for (const [kind, window] of this.#windows) {
      window.cancel();
      if (window.suppressed > 0) this.write(kind, window.lastError, window.suppressed - 1);
    }
    this.#windows.clear();
  }

  #emit(kind: string, error: unknown, suppressed: number): void {
    const cancel = this.clock.after(WINDOW_MS, () => {
      this.#windowEnded(kind);
    });
    this.#windows.set(kind, { suppressed: 0, lastError: null, cancel });
    this.write(kind, error, suppressed);
  }

  /** The line told now is one of the suppressed itself. */
  #windowEnded(kind: string): void {
    const window = this.#windows.get(kind);
    this.#windows.delete(kind);
    if (window !== undefined && window.suppressed > 0) this.#emit(kind, window.lastError, window.suppressed - 1);
  }
}
