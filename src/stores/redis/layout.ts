import { Keys } from './keys.js';
import type { RedisClient } from './scripts.js';

/** The layout that this release reads and writes: what keys are called and what is in them. */
export const LAYOUT = 1;

export interface LayoutParts {
  readonly client: RedisClient;
  /** Sets several stores apart that share a server. */
  readonly keyPrefix?: string;
  /** Told when the store turns out to have a layout that is newer than ours, and when it no longer has (null). */
  readonly onChange: (newer: number | null) => void;
}

/**
 * Which layout the store has: one small key, written by the first that connects, and read with each connection and each heartbeat, never with a
 * request. A store whose layout is newer than ours is not written to. (What a later release has to do: `keys.ts`.)
 */
export class Layout {
  #newer: number | null = null;
  readonly #key: string;

  constructor(private readonly parts: LayoutParts) {
    this.#key = new Keys(parts.keyPrefix ?? '').shared('layout');
  }

  /** The store's layout where that is newer than ours; null where it is known, or was never told. */
  get newer(): number | null {
    return this.#newer;
  }

  /** Looks again. @throws the client's errors: then nothing changed. */
  async check(): Promise<void> {
    const found = await this.parts.client.get(this.#key);
    if (found === null) await this.parts.client.set(this.#key, String(LAYOUT), 'NX');
    this.#take(found);
  }

  /** @throws Error while the store has a layout that is not known here. */
  assertKnown(): void {
    if (this.#newer !== null) throw new Error(newerLayout(this.#newer));
  }

  /** What is no number this program did not write. */
  #take(found: string | null): void {
    const layout = /^\d{1,9}$/.test(found ?? '') ? Number(found) : LAYOUT;
    const newer = layout > LAYOUT ? layout : null;
    if (newer === this.#newer) return;
    this.#newer = newer;
    this.parts.onChange(newer);
  }
}

/** In words, for the log and for probes. */
export function newerLayout(layout: number): string {
  return `the layout of the store is ${layout}, and this release knows ${LAYOUT}`;
}
