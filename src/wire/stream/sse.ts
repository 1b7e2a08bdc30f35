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
   * Takes the next chunk; returns the offsets in it behind each event, its blank line included. Where a chunk was cut
   * between the CR and the LF of a blank line, that LF comes as an event of its own.
   */
  ends(chunk: Buffer): number[] {
    const ends: number[] = [];
    let lineEmpty = this.#lineEmpty;
    let afterCr = this.#afterCr;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i];
      if (byte !== LF && byte !== CR) {
        lineEmpty = false;
        afterCr = false;
      } else if (byte === LF && afterCr) {
        afterCr = false;
        // The second half of a line end: it belongs to whatever its first half ended.
        if (ends[ends.length - 1] === i) ends[ends.length - 1] = i + 1;
        else if (i === 0 && this.#endedByCr) ends.push(1);
      } else {
        if (lineEmpty) ends.push(i + 1);
        lineEmpty = true;
        afterCr = byte === CR;
      }
    }
    this.#lineEmpty = lineEmpty;
    this.#afterCr = afterCr;
    if (chunk.length > 0) this.#endedByCr = afterCr && ends[ends.length - 1] === chunk.length;
    return ends;
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
