interface Options {
  /** A generation ends when it has this many entries … */
  readonly entries: number;
  /** … or is this old, in milliseconds. */
  readonly ageMs: number;
}

/**
 * Remembers values for a while: each for at least `ageMs` or until `entries` newer ones came. Two maps that take turns
 * forget a whole generation at once, so remembering costs the same however much is remembered.
 */
export class Generations<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #bornMs = 0;

  constructor(private readonly options: Options) {}

  get(key: string): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  set(key: string, value: V, nowMs: number): void {
    if (this.#young.size >= this.options.entries || nowMs - this.#bornMs >= this.options.ageMs) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bornMs = nowMs;
    }
    this.#young.set(key, value);
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }
}
