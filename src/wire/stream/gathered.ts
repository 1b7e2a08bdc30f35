const SMALLEST = 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Bytes gathered from pieces, up to a bound. They are copied, so that neither many tiny pieces nor small parts of large
 * chunks hold more memory than their own length.
 */
export class Gathered {
  #bytes = NOTHING;
  #size = 0;

  constructor(readonly maxBytes: number) {}

  /** How many bytes came since the last `clear`, those above the bound included. */
  get size(): number {
    return this.#size;
  }

  /** More came than the bound allows: nothing of it is kept. */
  get overflowed(): boolean {
    return this.#size > this.maxBytes;
  }

  add(piece: Buffer): void {
    const size = this.#size + piece.length;
    if (size > this.maxBytes) this.#bytes = NOTHING;
    else {
      if (size > this.#bytes.length) this.#grow(size);
      piece.copy(this.#bytes, this.#size);
    }
    this.#size = size;
  }

  /** What was gathered followed by `last`, without a copy where nothing was gathered. Not to be called after an overflow. */
  with(last: Buffer): Buffer {
    return this.#size === 0 ? last : Buffer.concat([this.#bytes.subarray(0, this.#size), last]);
  }

  clear(): void {
    this.#size = 0;
    if (this.#bytes.length > SMALLEST) this.#bytes = NOTHING;
  }

  #grow(size: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.min(this.maxBytes, Math.max(SMALLEST, size, this.#bytes.length * 2)));
    this.#bytes.copy(larger, 0, 0, this.#size);
    this.#bytes = larger;
  }
}
