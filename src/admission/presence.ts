/** Whether the client of a request is still there: one that is held may leave, and then nothing may go on in its name. */
export class Presence {
  #gone = false;
  #onLeave: (() => void) | null = null;

  get gone(): boolean {
    return this.#gone;
  }

  /** Calls this when the client leaves, in the same step; null: no more. One listener at a time: a request waits at one place only. */
  onLeave(listener: (() => void) | null): void {
    this.#onLeave = listener;
  }

  leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#onLeave?.();
    this.#onLeave = null;
  }
}
