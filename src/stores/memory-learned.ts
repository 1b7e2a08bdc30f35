import type { LearnedState } from '../domain/estimate.js';
import { MAX_LEARNED_LENGTH } from '../domain/store.js';

export interface LearnedBounds {
  readonly maxKeys: number;
  /** Of all states together, in UTF-16 units. */
  readonly maxLength: number;
}

/** What was learned, by key: the ones saved longest ago give way. */
export class LearnedTable {
  readonly #states = new Map<string, LearnedState>();
  #length = 0;

  constructor(private readonly bounds: LearnedBounds) {}

  /** Takes a state in, unless the one that is there was learned from more. */
  save(state: LearnedState): void {
    if (sizeOf(state) > MAX_LEARNED_LENGTH) return;
    const known = this.#states.get(state.key);
    if (known !== undefined && known.observations > state.observations) return;
    this.#forget(known);
    this.#states.set(state.key, state);
    this.#length += sizeOf(state);
    const eldest = this.#states.values();
    while (this.#states.size > this.bounds.maxKeys || this.#length > this.bounds.maxLength) this.#forget(eldest.next().value);
  }

  all(): readonly LearnedState[] {
    return [...this.#states.values()];
  }

  #forget(state: LearnedState | undefined): void {
    if (state === undefined || !this.#states.delete(state.key)) return;
    this.#length -= sizeOf(state);
  }
}

function sizeOf({ key, state }: LearnedState): number {
  return key.length + state.length;
}
