/** What a heap keeps in its items: where it stands, so that it can be taken from the middle. */
export interface HeapItem {
  heapIndex: number;
  heapKey: number;
}

/** Sequences by a key, smallest first; any of them can be taken out. An item is in one heap at a time. */
export class SequenceHeap<T extends HeapItem> {
  readonly #items: T[] = [];

  get length(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  add(item: T, key: number): void {
    item.heapKey = key;
    this.#rise(this.#items.length, item);
  }

  /** Does nothing where it is not in the heap. */
  remove(item: T): void {
    const at = item.heapIndex;
    if (at < 0) return;
    item.heapIndex = -1;
    const last = this.#items.pop()!;
    if (last === item) return;
    const parent = (at - 1) >> 1;
    if (at > 0 && this.#items[parent]!.heapKey > last.heapKey) this.#rise(at, last);
    else this.#sink(at, last);
  }

  #rise(from: number, item: T): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#items[parent]!.heapKey <= item.heapKey) break;
      this.#put(at, this.#items[parent]!);
      at = parent;
    }
    this.#put(at, item);
  }

  #sink(from: number, item: T): void {
    let at = from;
    for (let child = 2 * at + 1; child < this.#items.length; child = 2 * at + 1) {
      if (child + 1 < this.#items.length && this.#items[child + 1]!.heapKey < this.#items[child]!.heapKey) child++;
      if (this.#items[child]!.heapKey >= item.heapKey) break;
      this.#put(at, this.#items[child]!);
      at = child;
    }
    this.#put(at, item);
  }

  #put(at: number, item: T): void {
    this.#items[at] = item;
    item.heapIndex = at;
  }
}
