/** First in, first out, at O(1) each. (A `Map` is slow as a queue: to look at its first entry passes over all that were deleted before it.) */
export class Fifo<T> {
  #items: T[] = [];
  #first = 0;

  get size(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#first];
  }

  shift(): T | undefined {
    const item = this.#items[this.#first];
    if (this.#first < this.#items.length) this.#first++;
    if (this.#first * 2 > this.#items.length && this.#first > 16) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
