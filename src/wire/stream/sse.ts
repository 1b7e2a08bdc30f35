const LF = 0x0a;
const CR = 0x0d;

/**
 * Finds where events of a server-sent event stream end. Keeps nothing but where it is in a line, so it runs at the speed
 * of one look at each byte, however the stream is cut.
 */
export class SseSplitter {
  #lineEmpty = true;
  #afterCr = false;
  /** The last chunk ended with an event whose blank line was a CR: an LF may still belong to it. */
  #endedByCr = false;

  /**
   * Looks on at `from`; returns the offset behind the event that ends first, its blank line included, -1 if none ends in this
   * chunk. Where a chunk was cut between the CR and the LF of a blank line, that LF comes as an event of its own.
   */
  next(chunk: Buffer, from: number): number {
    if (from >= chunk.length) return -1;
    let at = from;
    const endedByCr = this.#endedByCr;
    this.#endedByCr = false;
    // The second half of a line end: it belongs to whatever its first half ended.
    if (this.#afterCr && chunk[at] === LF) at++;
    this.#afterCr = false;
    if (at > from && endedByCr) return at;
    let lineEmpty = this.#lineEmpty;
    while (at < chunk.length) {
      const byte = chunk[at++]!;
      if (byte > CR || (byte !== LF && byte !== CR)) lineEmpty = false;
      else {
        if (byte === CR && at < chunk.length && chunk[at] === LF) at++;
        else this.#afterCr = byte === CR && at === chunk.length;
        if (lineEmpty) {
          this.#endedByCr = this.#afterCr;
          this.#lineEmpty = true;
          return at;
        }
        lineEmpty = true;
      }
    }
    this.#lineEmpty = lineEmpty;
    return -1;
  }

  /** Whole events, the last of which ended in an LF, were seen by others. */
  skipped(): void {
    this.#lineEmpty = true;
    this.#afterCr = false;
    this.#endedByCr = false;
  }
}

/** What one event says. */
export interface SseEvent {
  /** Its `event` field; null without one. */
  readonly name: string | null;
  /** Its `data` lines, joined by line ends; null without one. */
  readonly data: string | null;
}

/**
 * Reads the text of one event, as the WHATWG specification says: a space after the colon is not part of the value, lines
 * of other fields and comments are skipped.
 */
export function parseSseEvent(text: string): SseEvent {
  // Nearly all events are one data line: no need to split those.
  if (text.startsWith('data:') && text.indexOf('\n') === text.length - 2 && text.endsWith('\n\n') && !text.includes('\r')) {
    return { name: null, data: valueOf(text.slice(0, -2), 5) };
  }
  let name: string | null = null;
  let data: string | null = null;
  for (const line of text.includes('\r') ? text.split(/\r\n|\n|\r/) : text.split('\n')) {
    if (line.startsWith('data:')) data = data === null ? valueOf(line, 5) : `${data}\n${valueOf(line, 5)}`;
    else if (line.startsWith('event:')) name = valueOf(line, 6);
    else if (line === 'data') data = data === null ? '' : `${data}\n`;
  }
  return { name, data };
}

function valueOf(line: string, from: number): string {
  return line.slice(line[from] === ' ' ? from + 1 : from);
}

/** Where the value of an event's only `data` line begins, in bytes. */
export function dataStart(event: Buffer): number {
  let at = event.indexOf('data:');
  while (at > 0 && event[at - 1] !== LF && event[at - 1] !== CR) at = event.indexOf('data:', at + 1);
  return at + 5;
}
