/** A queue that also takes at its front; all in constant time, amortised. */
export class Deque<T> {
  #front: T[] = [];
  #back: T[] = [];
  #head = 0;

  get length(): number {
    return this.#front.length + this.#back.length - this.#head;
  }

  peek(): T | undefined {
    return this.#front.length > 0 ? this.#front.at(-1) : this.#back[this.#head];
  }

  push(item: T): void {
    this.#back.push(item);
  }

  unshift(item: T): void {
    this.#front.push(item);
  }

  shift(): T | undefined {
    if (this.#front.length > 0) return this.#front.pop();
    const item = this.#back[this.#head];
    if (item === undefined) return undefined;
    this.#head++;
    if (this.#head > 1024 && this.#head * 2 > this.#back.length) {
      this.#back = this.#back.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = this.#front.length - 1; i >= 0; i--) yield this.#front[i]!;
    for (let i = this.#head; i < this.#back.length; i++) yield this.#back[i]!;
  }
}
