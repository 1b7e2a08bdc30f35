const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BLANK = 0x20;

/** Finds the parts of a JSON list whose opening bracket was seen, however it is cut. Means something for valid JSON only. */
export class ListSplitter {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inPart = false;
  #closed = false;

  /** The list's closing bracket came. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Where a part begins from `from` on, or goes on; -1 where there is none in this chunk. */
  begin(chunk: Buffer, from: number): number {
    let at = from;
    if (this.#inPart) return at;
    if (this.#closed) return -1;
    while (at < chunk.length && (chunk[at]! <= BLANK || chunk[at] === COMMA)) at++;
    if (at === chunk.length) return -1;
    if (chunk[at] === CLOSE_LIST) {
      this.#closed = true;
      return -1;
    }
    this.#inPart = true;
    return at;
  }

  /** The offset behind the part that `begin` found; -1 if it does not end in this chunk. */
  end(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.#inString) this.#string(byte);
      else if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#depth++;
      else if (this.#depth === 0 && (byte === COMMA || byte === CLOSE_LIST)) return this.#ended(at);
      else if ((byte === CLOSE_OBJECT || byte === CLOSE_LIST) && --this.#depth <= 0) return this.#ended(at + 1);
    }
    return -1;
  }

  #string(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  #ended(at: number): number {
    this.#inPart = false;
    this.#depth = 0;
    return at;
  }
}
