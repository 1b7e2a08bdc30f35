/** A map of bounded size: when full, the key that was not used for the longest time goes. */
export class Recent<V> {
  readonly #entries = new Map<string, V>();
  /** The last of the entries: moving it to the end again would only make the map grow and shrink. */
  #latest: string | null = null;

  constructor(readonly maxKeys: number) {}

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined && key !== this.#latest) this.#put(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#put(key, value);
    if (this.#entries.size <= this.maxKeys) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  #put(key: string, value: V): void {
    if (key !== this.#latest) this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#latest = key;
  }
}
