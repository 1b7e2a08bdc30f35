const SMALLEST = 1024;
const NOTHING = Buffer.alloc(0);
const NO_VIEW = new DataView(NOTHING.buffer, 0, 0);

/**
 * Bytes gathered from pieces, up to a bound. They are copied, so that neither many tiny pieces nor small parts of large
 * chunks hold more memory than their own length.
 */
export class Gathered {
  #bytes = NOTHING;
  #view = NO_VIEW;
  /** Where the gathered bytes begin: what was dropped stands before. */
  #start = 0;
  #size = 0;

  constructor(readonly maxBytes: number) {}

  /** How many bytes came since the last `clear`, without those dropped, with those above the bound. */
  get size(): number {
    return this.#size;
  }

  /** More came than the bound allows: nothing of it is kept. */
  get overflowed(): boolean {
    return this.#size > this.maxBytes;
  }

  /** What was gathered: `size` bytes of this from `start` on, valid until the next call of anything. Not to be used after an overflow. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  get start(): number {
    return this.#start;
  }

  /** Just what was gathered, valid as long. */
  get whole(): Buffer {
    return this.#bytes.subarray(this.#start, this.#start + this.#size);
  }

  /** The same bytes for reading several at once. */
  get view(): DataView {
    return this.#view;
  }

  /** Takes a piece, or the part of it from `start` to `end`. */
  add(piece: Buffer, start = 0, end = piece.length): void {
    const length = end - start;
    if (this.#size + length > this.maxBytes) this.#drop();
    else {
      if (this.#start + this.#size + length > this.#bytes.length) this.#makeRoom(this.#size + length);
      const to = this.#start + this.#size;
      if (length === piece.length) this.#bytes.set(piece, to);
      else piece.copy(this.#bytes, to, start, end);
    }
    this.#size += length;
  }

  /** Forgets the first `length` bytes. */
  drop(length: number): void {
    this.#start += length;
    this.#size -= length;
    if (this.#size === 0) this.clear();
  }

  /** What was gathered followed by `last`, without a copy where nothing was gathered. Not to be called after an overflow. */
  with(last: Buffer): Buffer {
    return this.#size === 0 ? last : Buffer.concat([this.#bytes.subarray(this.#start, this.#start + this.#size), last]);
  }

  clear(): void {
    this.#start = 0;
    this.#size = 0;
    if (this.#bytes.length > SMALLEST) this.#drop();
  }

  #drop(): void {
    this.#bytes = NOTHING;
    this.#view = NO_VIEW;
    this.#start = 0;
  }

  /** Moves what there is to the front, of a larger buffer where it needs one. */
  #makeRoom(size: number): void {
    const old = this.#bytes;
    if (size > old.length / 2) {
      this.#bytes = Buffer.allocUnsafeSlow(Math.min(this.maxBytes, Math.max(SMALLEST, size, old.length * 2)));
      this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
    }
    old.copy(this.#bytes, 0, this.#start, this.#start + this.#size);
    this.#start = 0;
  }
}
