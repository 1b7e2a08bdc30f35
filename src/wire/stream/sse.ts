const LF = 0x0a;
const CR = 0x0d;

/** Finds where events of a server-sent event stream end, however it is cut. Keeps nothing but where it is in a line. */
export class SseSplitter {
  #lineEmpty = true;
  #afterCr = false;
  /** The last chunk ended with an event whose blank line was a CR: an LF may still belong to it. */
  #endedByCr = false;

  /**
   * Looks on at `from` in a chunk that ends at `to`; returns the offset behind the event that ends first, its blank line included, -1
   * if none ends in this chunk. Where a chunk was cut between the CR and the LF of a blank line, that LF comes as an event of its
   * own. `view`: of `bytes`.
   */
  next(bytes: Buffer, view: DataView, from: number, to: number): number {
    if (from >= to) return -1;
    let at = from;
    const endedByCr = this.#endedByCr;
    this.#endedByCr = false;
    // The second half of a line end: it belongs to whatever its first half ended.
    if (this.#afterCr && bytes[at] === LF) at++;
    this.#afterCr = false;
    return at > from && endedByCr ? at : this.#end(bytes, view, at, to);
  }

  #end(bytes: Buffer, view: DataView, from: number, to: number): number {
    let at = from;
    let lineEmpty = this.#lineEmpty;
    while (at < to) {
      if (to - at >= 8 && hasNoLineEnd(view.getInt32(at)) && hasNoLineEnd(view.getInt32(at + 4))) {
        lineEmpty = false;
        at += 8;
        continue;
      }
      const byte = bytes[at++]!;
      if (byte !== LF && byte !== CR) {
        lineEmpty = false;
        continue;
      }
      if (byte === CR && at < to && bytes[at] === LF) at++;
      else this.#afterCr = byte === CR && at === to;
      if (lineEmpty) {
        this.#endedByCr = this.#afterCr;
        this.#lineEmpty = true;
        return at;
      }
      lineEmpty = true;
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

/** False where one of four bytes is below 14, as LF and CR are; now and then for others too. */
function hasNoLineEnd(word: number): boolean {
  return ((word - 0x0e0e0e0e) & ~word & 0x80808080) === 0;
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
 * of other fields and comments are skipped. Where there are no fields but an object in JSON stands, that is the data.
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
  // A whole JSON body that is only called a stream: clients pass over it, but it cost what it says.
  return { name, data: data === null && name === null && /^\s*\{/.test(text) ? text : data };
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
