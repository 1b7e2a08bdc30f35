import type { EndEvent, ResponseReader } from '../../domain/wire.js';
import { isObject, MAX_DEPTH, parseText } from '../json/json.js';
import { bomLength, deeperThan } from '../json/scan.js';
import type { Answer } from './answer.js';
import { sseEnd } from './ending.js';
import { Familiar } from './familiar.js';
import { Gathered } from './gathered.js';
import { Passing } from './passing.js';
import { dataStart, parseSseEvent, SseSplitter } from './sse.js';

/** The longest event that is read, in bytes: a picture that a model made comes in one. A longer one passes unread. */
export const MAX_EVENT_BYTES = 4 * 1024 * 1024;
/** The most bytes of an unfinished event that are kept from the client until it is known whether it is the usage event. */
export const MAX_HELD_BYTES = 64 * 1024;
/** Shorter events are parsed without a look at their depth first. */
const SHORT_EVENT = 16 * 1024;
/** Shorter chunks are gathered as a whole: one copy, and their events stand in one piece. */
const SHORT_CHUNK = 512;

/** No event is as short as a blank line. */
const BLANK_LINE_BYTES = 2;

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
    if (chunk.length <= SHORT_CHUNK && this.#event.size + chunk.length <= MAX_EVENT_BYTES) this.#pushShort(chunk, passing);
    else this.#pushLong(chunk, passing);
    return passing.result();
  }

  end(): Buffer {
    const passing = new Passing(NOTHING);
    const { size, start, bytes, view, overflowed } = this.#event;
    if (overflowed) this.#finishTooLong(NOTHING, 0, 0, passing);
    else if (size > 0) this.#finish(bytes, view, start, start + size, size, 0, passing);
    this.reading.complete = this.reading.endsWhole();
    return passing.result();
  }

  /** What is held back the client has nothing of. */
  get midEvent(): boolean {
    return this.#released && this.#event.size > 0;
  }

  endWith(event: EndEvent): Buffer {
    return sseEnd(event, this.midEvent);
  }

  /** Gathers the chunk, and reads the events that end in it from there. */
  #pushShort(chunk: Buffer, passing: Passing): void {
    const event = this.#event;
    const before = event.size;
    event.add(chunk);
    const { bytes, view } = event;
    const chunkStart = event.start + before;
    const to = chunkStart + chunk.length;
    let start = event.start;
    for (;;) {
      // Where an event in a known shape is whole, nothing has to look for its end.
      start = this.#skipGathered(start, chunkStart, to, passing);
      const end = this.#splitter.next(bytes, view, Math.max(start, chunkStart), to);
      if (end < 0) break;
      this.#finish(bytes, view, start, end, Math.max(0, chunkStart - start), end - chunkStart, passing);
      start = end;
    }
    if (start < to) this.#hold(start, Math.max(0, chunkStart - start), to - Math.max(start, chunkStart), chunk.length, passing);
    event.drop(start - event.start);
  }

  /** Reads events where they stand, and gathers only what is cut. */
  #pushLong(chunk: Buffer, passing: Passing): void {
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length);
    let at = 0;
    while (at < chunk.length) {
      if (this.#event.size === 0) at = this.#skip(chunk, view, at, chunk.length);
      const end = this.#splitter.next(chunk, view, at, chunk.length);
      if (end < 0) {
        this.#begin(chunk, at, passing);
        return;
      }
      if (this.#event.size === 0) this.#finish(chunk, view, at, end, 0, end, passing);
      else this.#finishBegun(chunk, at, end, passing);
      at = end;
    }
  }

  /** Takes familiar events that begin at `at`; none of them is hidden. Returns the offset behind them. */
  #skip(bytes: Buffer, view: DataView, at: number, to: number): number {
    const end = this.#familiar.skip(bytes, view, at, to);
    if (end === at) return at;
    this.#splitter.skipped();
    this.#hidLast = false;
    this.#lastEndedInCr = false;
    return end;
  }

  /** The same among the gathered bytes, of which those from `chunkStart` on are the chunk's. */
  #skipGathered(start: number, chunkStart: number, to: number, passing: Passing): number {
    const { bytes, view } = this.#event;
    const end = this.#skip(bytes, view, start, to);
    if (end === start) return start;
    if (start < chunkStart && !this.#released) passing.insert(Buffer.from(bytes.subarray(start, chunkStart)), 0);
    this.#released = !this.hideUsage;
    return end;
  }

  /** An event begins at `start`, or goes on there; it does not end in this chunk. */
  #begin(chunk: Buffer, start: number, passing: Passing): void {
    if (start === chunk.length) return;
    const event = this.#event;
    this.#hold(event.start, event.size, chunk.length - start, chunk.length, passing);
    event.add(chunk, start, chunk.length);
    this.reading.unreadable ||= event.overflowed;
  }

  /**
   * Keeps an event that is not whole from the client, or lets it go where it grew too long for that. `begun` bytes of it, which were
   * gathered and stand at `start`, came before the chunk; `piece` bytes, up to `chunkEnd`, are in the chunk.
   */
  #hold(start: number, begun: number, piece: number, chunkEnd: number, passing: Passing): void {
    if (this.#released) return;
    if (begun + piece <= MAX_HELD_BYTES) passing.hide(chunkEnd - piece, chunkEnd);
    else {
      if (begun > 0) passing.insert(Buffer.from(this.#event.bytes.subarray(start, start + begun)), chunkEnd - piece);
      this.#released = true;
    }
  }

  /** The event that was begun ends with these bytes. */
  #finishBegun(chunk: Buffer, start: number, end: number, passing: Passing): void {
    const event = this.#event;
    const begun = event.size;
    if (begun + end - start > MAX_EVENT_BYTES) this.#finishTooLong(chunk, start, end, passing);
    else {
      event.add(chunk, start, end);
      this.#finish(event.bytes, event.view, event.start, event.start + event.size, begun, end, passing);
    }
    event.clear();
  }

  /** What was gathered and the bytes of the chunk are one event that is too long to be read. */
  #finishTooLong(chunk: Buffer, start: number, end: number, passing: Passing): void {
    if (!this.#released && this.#event.size > 0) passing.insert(this.#event.with(NOTHING), start);
    this.#tooLong();
    this.#after(chunk[end - 1], false);
  }

  /**
   * An event stands from `start` to `end`: reads it, and passes it on unless it is hidden. Its first `begun` bytes came before the chunk,
   * its others end at `chunkEnd` in the chunk.
   */
  #finish(bytes: Buffer, view: DataView, start: number, end: number, begun: number, chunkEnd: number, passing: Passing): void {
    const chunkStart = chunkEnd - (end - start - begun);
    const last = bytes[end - 1];
    const lateLf = this.#lastEndedInCr && begun === 0 && end - start === 1 && last === LF;
    const isUsage = this.#familiar.skip(bytes, view, start, end) === start && this.#read(bytes, start, end);
    // The LF of a blank line whose CR ended the event before goes where that event went.
    const hidden = lateLf ? this.#hidLast : isUsage && !this.#released;
    if (hidden) passing.hide(chunkStart, chunkEnd);
    else if (begun > 0 && !this.#released) passing.insert(Buffer.from(bytes.subarray(start, start + begun)), chunkStart);
    this.#after(last, hidden);
  }

  #after(last: number | undefined, hidden: boolean): void {
    this.#hidLast = hidden;
    this.#lastEndedInCr = last === CR;
    this.#released = !this.hideUsage;
  }

  #tooLong(): false {
    this.reading.unreadable = true;
    return false;
  }

  /** Reads one whole event; true if it is the usage event. */
  #read(bytes: Buffer, start: number, end: number): boolean {
    if (end - start > MAX_EVENT_BYTES) return this.#tooLong();
    if (end - start <= BLANK_LINE_BYTES) {
      // Megabytes of blank lines would be millions of events.
      this.#first = false;
      return false;
    }
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
