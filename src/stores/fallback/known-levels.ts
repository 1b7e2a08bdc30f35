import type { BucketCharge, Level } from '../../domain/lease.js';
import type { BucketSpec } from '../../domain/store.js';
import { deficitAt, laterMs, UNITS_PER_TOKEN } from '../../quota/bucket.js';

/** Buckets of which a level is remembered; those that were first heard of longest ago give way. */
const MAX_KNOWN = 50_000;

interface Known {
  /** Rates: what is missing to full. */
  deficitUnits: number;
  updatedMs: number;
  /** Concurrency: places taken, by all processors. */
  taken: number;
}

/** How full the shared buckets were when the store last told, brought up to date by what this processor itself did since. */
export class KnownLevels {
  readonly #known = new Map<string, Known>();

  /** The store told these levels. */
  learn(levels: readonly Level[], nowMs: number): void {
    for (const { key, dimension, capacity, remaining } of levels) {
      const missing = capacity - remaining;
      const known = this.#known.get(key) ?? this.#add(key);
      known.updatedMs = Math.floor(nowMs);
      if (dimension === 'concurrency') known.taken = missing;
      else known.deficitUnits = missing * UNITS_PER_TOKEN;
    }
  }

  /** A lease of ours ended: of what a charge held, so many tokens came back (or, below 0, were too few), and a place. */
  ended(charge: BucketCharge, returnedTokens: number, nowMs: number): void {
    const known = this.#known.get(charge.key);
    if (known === undefined) return;
    if (charge.dimension === 'concurrency') {
      known.taken = Math.max(0, known.taken - 1);
      return;
    }
    const deficit = deficitAt(known, charge.limit, nowMs);
    known.updatedMs = laterMs(known, nowMs);
    known.deficitUnits = Math.max(0, deficit - returnedTokens * UNITS_PER_TOKEN);
  }

  /** What is missing to full now, in units; 0 where nothing is known. */
  deficitUnits(spec: BucketSpec, nowMs: number): number {
    return deficitAt(this.#known.get(spec.key), spec.limit, nowMs);
  }

  /** Places of a concurrency limit that are free; null where nothing is known. */
  freePlaces({ key, capacity }: BucketSpec): number | null {
    const known = this.#known.get(key);
    return known === undefined ? null : Math.max(0, capacity - known.taken);
  }

  #add(key: string): Known {
    if (this.#known.size >= MAX_KNOWN) {
      const [eldest] = this.#known.keys();
      if (eldest !== undefined) this.#known.delete(eldest);
    }
    const known = { deficitUnits: 0, updatedMs: 0, taken: 0 };
    this.#known.set(key, known);
    return known;
  }
}
