const FIRST_BYTES = 16 * 1024;

/**
 * Writes a protobuf message from its end to its beginning: that way the length of an inner message is known when the bytes
 * in front of it are written. One at a time; fields are written in reverse order.
 */
export class ReverseWriter {
  #buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  /** Everything from here on is written. */
  #at = FIRST_BYTES;

  begin(): void {
    this.#at = this.#buffer.length;
  }

  /** Where a message that is about to be written ends: counted from the end, so that growing changes nothing. */
  mark(): number {
    return this.#buffer.length - this.#at;
  }

  /** Ends a message by what stands in front of it: its tag and its length. */
  close(tag: number, mark: number): void {
    this.#varint(this.mark() - mark);
    this.#byte(tag);
  }

  number(tag: number, value: number): void {
    this.#varint(value);
    this.#byte(tag);
  }

  double(tag: number, value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#buffer.writeDoubleLE(value, this.#at);
    this.#byte(tag);
  }

  bytes(tag: number, value: Uint8Array): void {
    this.#reserve(value.length);
    this.#at -= value.length;
    this.#buffer.set(value, this.#at);
    this.number(tag, value.length);
  }

  /** As UTF-8. Names and ids are short and ASCII, for which a loop is quicker than a call out of the engine. */
  text(tag: number, value: string): void {
    const { length } = value;
    this.#reserve(length);
    const start = this.#at - length;
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) {
        this.bytes(tag, Buffer.from(value, 'utf8'));
        return;
      }
      this.#buffer[start + i] = code;
    }
    this.#at = start;
    this.number(tag, length);
  }

  /** A copy of what was written. */
  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(this.#at));
  }

  #varint(value: number): void {
    this.#reserve(8);
    let bytes = 1;
    for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes++;
    this.#at -= bytes;
    let rest = value;
    for (let i = 0; i < bytes; i++) {
      this.#buffer[this.#at + i] = i === bytes - 1 ? rest : (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
  }

  #byte(value: number): void {
    this.#reserve(1);
    this.#buffer[--this.#at] = value;
  }

  #reserve(bytes: number): void {
    if (this.#at >= bytes) return;
    const mark = this.mark();
    const larger = Buffer.allocUnsafeSlow(2 * (mark + bytes));
    this.#buffer.copy(larger, larger.length - mark, this.#at);
    this.#buffer = larger;
    this.#at = larger.length - mark;
  }
}
