import xxhash from 'xxhash-wasm';
import type { PromptSink } from '../domain/request.js';

export interface PrefixOptions {
  /** Bytes of UTF-8 in a block. Engines cache blocks of 16 tokens or more (vLLM), which are about 64 bytes; four of those are one of ours. */
  readonly blockBytes?: number;
  /** Most blocks of one prompt; what comes behind them is not looked at. */
  readonly maxBlocks?: number;
}

/** Makes the hashes of prompts' beginnings. */
export interface PrefixHasher {
  /** Begins a prompt. The same text of two models has nothing in common in their caches, so the model is the first link. */
  begin(model: string): PrefixBlocks;
}

/**
 * Takes a prompt in the order in which an engine sees it. The hash of each block is over its bytes and the hash before: two prompts
 * with the same first k blocks have the same first k hashes, and others (but for chance, 2⁻⁶⁴) have not. The rest that fills no block
 * has no hash, as engines do not cache it either.
 */
export interface PrefixBlocks extends PromptSink {
  add(piece: string): void;
  /** Hashes of the blocks that are full by now, at most `maxBlocks`. */
  readonly hashes: BigUint64Array;
}

const BLOCK_BYTES = 256;
const MAX_BLOCKS = 4096;
/** Characters that are turned to UTF-8 at once: at most three bytes each. */
const SLICE = 16 * 1024;

/** Loads the hash (WebAssembly), once at the start. */
export async function createPrefixHasher({ blockBytes = BLOCK_BYTES, maxBlocks = MAX_BLOCKS }: PrefixOptions = {}): Promise<PrefixHasher> {
  const { h64, h64Raw } = await xxhash();
  return { begin: (model) => new Blocks(h64Raw, h64(model), blockBytes, maxBlocks) };
}

type Hash = (bytes: Uint8Array, seed?: bigint) => bigint;

class Blocks implements PrefixBlocks {
  readonly #hashes: BigUint64Array;
  #count = 0;
  /** Bytes that fill no block yet, and room for the next slice. */
  readonly #pending: Buffer;
  #length = 0;

  constructor(
    private readonly hash: Hash,
    private chain: bigint,
    private readonly blockBytes: number,
    private readonly maxBlocks: number,
  ) {
    this.#hashes = new BigUint64Array(maxBlocks);
    this.#pending = Buffer.allocUnsafe(blockBytes + 3 * SLICE);
  }

  get hashes(): BigUint64Array {
    return this.#hashes.subarray(0, this.#count);
  }

  add(piece: string): void {
    for (let at = 0; at < piece.length && this.#count < this.maxBlocks; ) {
      const end = sliceEnd(piece, at);
      this.#length += this.#pending.write(piece.slice(at, end), this.#length);
      this.#take();
      at = end;
    }
  }

  media(payload: Uint8Array): void {
    if (this.#count < this.maxBlocks) this.add(`\0media ${this.hash(payload).toString(16)}\0`);
  }

  /** Hashes the blocks that are full and keeps the rest. */
  #take(): void {
    const { blockBytes } = this;
    let at = 0;
    for (; at + blockBytes <= this.#length && this.#count < this.maxBlocks; at += blockBytes) {
      this.chain = this.hash(this.#pending.subarray(at, at + blockBytes), this.chain);
      this.#hashes[this.#count++] = this.chain;
    }
    this.#pending.copyWithin(0, at, this.#length);
    this.#length = this.#count < this.maxBlocks ? this.#length - at : 0;
  }
}

/** End of the slice that begins at `at`: not between the two halves of a character. */
function sliceEnd(text: string, at: number): number {
  const end = Math.min(text.length, at + SLICE);
  const last = text.charCodeAt(end - 1);
  return end < text.length && last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}
