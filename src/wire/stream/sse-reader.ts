import type { ResponseReader } from '../../domain/wire.js';
import { isObject, MAX_DEPTH, parseText } from '../json/json.js';
import { bomLength, deeperThan } from '../json/scan.js';
import type { Answer } from './answer.js';
import { Familiar } from './familiar.js';
import { Gathered } from './gathered.js';
import { Passing } from './passing.js';
import { dataStart, parseSseEvent, SseSplitter } from './sse.js';

/** The longest event that is read, in bytes; a longer one passes unread. */
export const MAX_EVENT_BYTES = 1024 * 1024;
/** The most bytes of an unfinished event that are kept from the client until it is known whether it is the usage event. */
export const MAX_HELD_BYTES = 64 * 1024;
/** Shorter events are parsed without a look at their depth first. */
const SHORT_EVENT = 16 * 1024;

const NOTHING = Buffer.alloc(0);
const LF = 0x0a;
const CR = 0x0d;

/** Reads an answer of server-sent events, and hides the event that our own edit caused where told to. */
export class SseReader implements ResponseReader {
  readonly #splitter = new SseSplitter();
  readonly #familiar: Familiar;
  /** The event that is not whole yet. Unless it is `released`, the client has nothing of it. */
  readonly #event = new Gathered(MAX_EVENT_BYTES);
  #released: boolean;
  #first = true;
  #hidLast = false;
  #lastEndedInCr = false;

  constructor(
    readonly reading: Answer,
    readonly hideUsage: boolean,
  ) {
    this.#familiar = new Familiar(reading, MAX_EVENT_BYTES);
    this.#released = !hideUsage;
  }

  push(chunk: Buffer): Buffer {
    const passing = new Passing(chunk);
    let at = 0;
    while (at < chunk.length) {
      if (this.#event.size === 0) at = this.#skip(chunk, at);
      if (at === chunk.length) break;
      const end = this.#splitter.next(chunk, at);
      if (end < 0) {
        this.#begin(chunk, at, passing);
        break;
      }
      this.#finish(chunk, at, end, passing);
      at = end;
    }
    return passing.result();
  }

  end(): Buffer {
    const passing = new Passing(NOTHING);
    if (this.#event.size > 0) this.#finish(NOTHING, 0, 0, passing);
    this.reading.complete = this.reading.endsWhole();
    return passing.result();
  }

  /** Takes familiar events that begin at `at`; none of them is hidden. */
  #skip(chunk: Buffer, at: number): number {
    const end = this.#familiar.skip(chunk, at, chunk.length);
    if (end > at) this.#afterFamiliar();
    return end;
  }

  #afterFamiliar(): void {
    this.#splitter.skipped();
    this.#hidLast = false;
    this.#lastEndedInCr = false;
  }

  /** The event that began earlier, or at `start`, ends at `end`: reads it, and passes it on unless it is hidden. */
  #finish(chunk: Buffer, start: number, end: number, passing: Passing): void {
    const begun = this.#event.size;
    const last = end > start ? chunk[end - 1] : this.#event.bytes[begun - 1];
    const lateLf = this.#lastEndedInCr && begun === 0 && end - start === 1 && last === LF;
    const held = this.#released || begun === 0 ? null : this.#event.with(NOTHING);
    const isUsage = begun === 0 ? this.#read(chunk, start, end) : this.#readGathered(chunk, start, end);
    // The LF of a blank line whose CR ended the event before goes where that event went.
    const hidden = lateLf ? this.#hidLast : isUsage && !this.#released;
    if (hidden) passing.hide(start, end);
    else if (held !== null) passing.insert(held, start);
    this.#hidLast = hidden;
    this.#lastEndedInCr = last === CR;
    this.#released = !this.hideUsage;
    this.#event.clear();
  }

  /** An event begins at `start`, or goes on there; it does not end in this chunk. */
  #begin(chunk: Buffer, start: number, passing: Passing): void {
    if (!this.#released) {
      if (this.#event.size + chunk.length - start <= MAX_HELD_BYTES) passing.hide(start, chunk.length);
      else {
        if (this.#event.size > 0) passing.insert(this.#event.with(NOTHING), start);
        this.#released = true;
      }
    }
    this.#event.add(chunk, start, chunk.length);
    this.reading.unreadable ||= this.#event.overflowed;
  }

  /** Reads the event that was gathered and ends with these bytes; true if it is the usage event. */
  #readGathered(chunk: Buffer, start: number, end: number): boolean {
    const event = this.#event;
    event.add(chunk, start, end);
    if (event.overflowed) return this.#tooLong();
    if (this.#familiar.skip(event.bytes, 0, event.size) > 0) return false;
    return this.#read(event.bytes, 0, event.size);
  }

  #tooLong(): false {
    this.reading.unreadable = true;
    return false;
  }

  /** Reads one whole event; true if it is the usage event. */
  #read(bytes: Buffer, start: number, end: number): boolean {
    if (end - start > MAX_EVENT_BYTES) return this.#tooLong();
    const event = bytes.subarray(start, end);
    const bom = this.#first ? bomLength(event) : 0;
    this.#first = false;
    const { name, data } = parseSseEvent(event.toString('utf8', bom, event.length));
    if (name === 'error') this.reading.sawError = true;
    const said = data?.trim() ?? '';
    if (said === '') return false;
    if (said === '[DONE]') {
      this.reading.complete = true;
      return false;
    }
    const learnable = bom === 0 && event[event.length - 1] === LF && !data!.includes('\n');
    return this.#take(event, said, name, learnable);
  }

  #take(event: Buffer, said: string, name: string | null, learnable: boolean): boolean {
    const part = event.length > SHORT_EVENT && deeperThan(event, MAX_DEPTH) ? undefined : parseText(said);
    if (!isObject(part)) {
      this.reading.unreadable = true;
      return false;
    }
    const counted = this.#familiar.take(part, name, learnable ? { bytes: event, start: dataStart(event) } : null);
    // What has an output text is the client's.
    return counted === 0 && this.reading.isOurs(part);
  }
}
