import { Gathered } from '../wire/stream/gathered.js';

/** So many chunks are kept as they came; of a body in more, the small ones are put together. */
const MANY_CHUNKS = 64;
const SMALL_BYTES = 16 * 1024;
const MERGED_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * The bytes of a body up to a bound, as they come. A chunk of one byte holds hundreds of them in memory, and a client may
 * send a million of those.
 */
export class CollectedBody {
  #chunks: Buffer[] = [];
  #bytes = 0;
  readonly #small = new Gathered(MERGED_BYTES);

  constructor(readonly maxBytes: number) {}

  /** More came than the bound allows: nothing of it is kept. */
  get overflowed(): boolean {
    return this.#bytes > this.maxBytes;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.overflowed) this.clear();
    else if (this.#chunks.length < MANY_CHUNKS) this.#chunks.push(chunk);
    else this.#merge(chunk);
  }

  /** All that was kept, in order. */
  get chunks(): readonly Buffer[] {
    this.#flush();
    return this.#chunks;
  }

  /** All that was kept in one piece; no copy where it came in one. */
  whole(): Buffer {
    const { chunks } = this;
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  }

  /** Frees what was kept. */
  clear(): void {
    this.#chunks = [];
    this.#small.clear();
  }

  #merge(chunk: Buffer): void {
    if (this.#small.size + chunk.length > MERGED_BYTES) this.#flush();
    if (chunk.length < SMALL_BYTES) this.#small.add(chunk);
    else {
      this.#flush();
      this.#chunks.push(chunk);
    }
  }

  #flush(): void {
    if (this.#small.size > 0) this.#chunks.push(this.#small.with(NOTHING));
    this.#small.clear();
  }
}
