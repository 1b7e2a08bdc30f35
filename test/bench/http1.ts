const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const NOTHING = Buffer.alloc(0);

export interface MessageEvents {
  /** Start line and headers of a message. */
  head?(head: string): void;
  /** The next bytes of its body, without chunk framing. */
  body?(bytes: Buffer): void;
  /** The message is over. */
  end(): void;
}

/**
 * Just enough of HTTP/1.1 to tell messages apart on a kept connection: a length or chunks, no trailers. Load and upstream use
 * it in place of node:http, which costs them several times as much, so that they are not what is measured.
 */
export class MessageReader {
  #rest: Buffer = NOTHING;
  #state: 'head' | 'length' | 'chunk-size' | 'chunk' | 'chunk-end' = 'head';
  #left = 0;

  constructor(private readonly events: MessageEvents) {}

  push(chunk: Buffer): void {
    let bytes: Buffer = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const used = this.#step(bytes);
      if (used === 0) break;
      bytes = bytes.subarray(used);
    }
    this.#rest = bytes;
  }

  /** Takes one piece of a message; 0 where more bytes are needed. */
  #step(bytes: Buffer): number {
    switch (this.#state) {
      case 'head':
        return this.#head(bytes);
      case 'length':
      case 'chunk':
        return this.#body(bytes);
      case 'chunk-size':
        return this.#chunkSize(bytes);
      case 'chunk-end':
        if (bytes.length < 2) return 0;
        this.#state = 'chunk-size';
        return 2;
    }
  }

  #head(bytes: Buffer): number {
    const at = bytes.indexOf(HEAD_END);
    if (at < 0) return 0;
    const head = bytes.toString('latin1', 0, at);
    this.events.head?.(head);
    this.#left = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) this.#state = 'chunk-size';
    else if (this.#left > 0) this.#state = 'length';
    else this.events.end();
    return at + HEAD_END.length;
  }

  #body(bytes: Buffer): number {
    const used = Math.min(this.#left, bytes.length);
    if (used === 0) return 0;
    this.events.body?.(bytes.subarray(0, used));
    this.#left -= used;
    if (this.#left > 0) return used;
    if (this.#state === 'chunk') this.#state = 'chunk-end';
    else {
      this.#state = 'head';
      this.events.end();
    }
    return used;
  }

  #chunkSize(bytes: Buffer): number {
    const at = bytes.indexOf(LINE_END);
    if (at < 0) return 0;
    const size = parseInt(bytes.toString('latin1', 0, at), 16);
    if (size > 0) {
      this.#left = size;
      this.#state = 'chunk';
      return at + 2;
    }
    if (bytes.length < at + 4) return 0;
    this.#state = 'head';
    this.events.end();
    return at + 4;
  }
}
