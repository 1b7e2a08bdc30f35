import type { EndEvent, ResponseReader } from '../../domain/wire.js';
import { isObject, MAX_DEPTH, parseText } from '../json/json.js';
import { bomLength, deeperThan } from '../json/scan.js';
import type { Answer } from './answer.js';
import { lineEnd } from './ending.js';
import { Familiar } from './familiar.js';
import { Gathered } from './gathered.js';

/** The longest line that is read, in bytes: Ollama's last one holds the whole conversation as token ids. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** Shorter lines are parsed without a look at their depth first. */
const SHORT_LINE = 16 * 1024;

const NOTHING = Buffer.alloc(0);
const LF = 0x0a;

/** Reads an answer of one JSON object a line. Nothing is ever hidden in one. */
export class LinesReader implements ResponseReader {
  readonly #familiar: Familiar;
  /** The line that is not whole yet. */
  readonly #line = new Gathered(MAX_LINE_BYTES);
  #first = true;

  constructor(readonly reading: Answer) {
    this.#familiar = new Familiar(reading, MAX_LINE_BYTES);
  }

  push(chunk: Buffer): Buffer {
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length);
    let at = 0;
    while (at < chunk.length) {
      if (this.#line.size === 0) at = this.#familiar.skip(chunk, view, at, chunk.length);
      if (at === chunk.length) break;
      const lf = chunk.indexOf(LF, at);
      const end = lf < 0 ? chunk.length : lf + 1;
      if (lf < 0 || this.#line.size > 0) this.#gather(chunk, at, end);
      if (lf >= 0) this.#finish(chunk, at, end);
      at = end;
    }
    return chunk;
  }

  end(): Buffer {
    if (this.#line.size > 0) this.#finish(NOTHING, 0, 0);
    this.reading.complete = this.reading.endsWhole();
    return NOTHING;
  }

  get midEvent(): boolean {
    return this.#line.size > 0;
  }

  endWith(event: EndEvent): Buffer {
    return lineEnd(event, this.midEvent);
  }

  #gather(chunk: Buffer, start: number, end: number): void {
    this.#line.add(chunk, start, end);
    this.reading.unreadable ||= this.#line.overflowed;
  }

  /** A line ends: the one that was gathered, or all of it stands in the chunk. */
  #finish(chunk: Buffer, start: number, end: number): void {
    const line = this.#line;
    if (line.size === 0) this.#read(chunk.subarray(start, end));
    else if (!line.overflowed && this.#familiar.skip(line.bytes, line.view, line.start, line.start + line.size) === line.start) this.#read(line.whole);
    line.clear();
  }

  #read(line: Buffer): void {
    const bom = this.#first ? bomLength(line) : 0;
    this.#first = false;
    const said = line.toString('utf8', bom, line.length).trim();
    if (said === '') return;
    const part = line.length > MAX_LINE_BYTES || (line.length > SHORT_LINE && deeperThan(line, MAX_DEPTH)) ? undefined : parseText(said);
    if (!isObject(part)) {
      this.reading.unreadable = true;
      return;
    }
    this.#familiar.take(part, null, bom === 0 && line[line.length - 1] === LF ? { bytes: line, start: 0 } : null);
  }
}
