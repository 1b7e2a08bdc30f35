const SMALLEST = 1024;
const NOTHING = Buffer.alloc(0);
/** Shorter pieces are copied byte by byte: the native copy takes longer to start. */
const SHORT = 24;

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

  /** What was gathered, in its first `size` bytes; valid until the next call of anything. Nothing after an overflow. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Takes a piece, or the part of it from `start` to `end`. */
  add(piece: Buffer, start = 0, end = piece.length): void {
    const size = this.#size + end - start;
    if (size > this.maxBytes) this.#bytes = NOTHING;
    else {
      if (size > this.#bytes.length) this.#grow(size);
      if (end - start > SHORT) piece.copy(this.#bytes, this.#size, start, end);
      else for (let from = start, to = this.#size; from < end; from++, to++) this.#bytes[to] = piece[from]!;
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
