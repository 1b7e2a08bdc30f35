const NOTHING = Buffer.alloc(0);

/** What the client gets of a chunk: all of it, unless parts are hidden, or bytes that were held back come before a part. */
export class Passing {
  /** What is before `#from` was passed on or hidden. */
  #from = 0;
  #passed: Buffer[] | null = null;

  constructor(readonly chunk: Buffer) {}

  /** The part from `start` to `end` is not passed on. */
  hide(start: number, end: number): void {
    this.#flush(start);
    this.#from = end;
  }

  /** `held` comes before what is at `at`. It is kept, so it must not change. */
  insert(held: Buffer, at: number): void {
    this.#flush(at);
    this.#passed ??= [];
    this.#passed.push(held);
  }

  /** The chunk itself where nothing was hidden or inserted. */
  result(): Buffer {
    if (this.#from === 0 && this.#passed === null) return this.chunk;
    const rest = this.#from === this.chunk.length ? NOTHING : this.chunk.subarray(this.#from);
    return this.#passed === null ? rest : Buffer.concat([...this.#passed, rest]);
  }

  #flush(end: number): void {
    if (end > this.#from) {
      this.#passed ??= [];
      this.#passed.push(this.chunk.subarray(this.#from, end));
    }
    this.#from = end;
  }
}
