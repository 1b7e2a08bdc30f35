import type { ResponseReader } from '../../domain/wire.js';
import { Gathered } from './gathered.js';
import { isObject, MAX_DEPTH, parseText, type Json } from '../json/json.js';
import { bomLength, deeperThan } from '../json/scan.js';
import type { Answer } from './answer.js';
import { parseSseEvent, SseSplitter } from './sse.js';

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
    this.#released = !hideUsage;
  }

  push(chunk: Buffer): Buffer {
    const passed: Buffer[] = [];
    let untouched = this.#event.size === 0;
    let start = 0;
    for (const end of this.#splitter.ends(chunk)) {
      const last = start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end);
      if (!this.#finish(last, passed)) untouched = false;
      start = end;
    }
    if (start < chunk.length) this.#begin(chunk.subarray(start), passed);
    if (!this.hideUsage || (untouched && this.#event.size === 0)) return chunk;
    return Buffer.concat(passed);
  }

  end(): Buffer {
    const passed: Buffer[] = [];
    if (this.#event.size > 0) this.#finish(NOTHING, passed);
    this.reading.complete = this.reading.endsWhole();
    return this.hideUsage ? Buffer.concat(passed) : NOTHING;
  }

  /** `last` is the end of an event, or all of it: reads it, and passes it on unless it is hidden. False if it is. */
  #finish(last: Buffer, passed: Buffer[]): boolean {
    const lateLf = this.#lastEndedInCr && this.#event.size === 0 && last.length === 1 && last[0] === LF;
    const whole = this.#event.overflowed ? null : this.#event.with(last);
    this.#event.clear();
    const isUsage = this.#read(whole);
    // The LF of a blank line whose CR ended the event before goes where that event went.
    const hidden = lateLf ? this.#hidLast : isUsage && !this.#released;
    if (!hidden) passed.push(this.#released || whole === null ? last : whole);
    this.#hidLast = hidden;
    this.#lastEndedInCr = last[last.length - 1] === CR;
    this.#released = !this.hideUsage;
    return !hidden;
  }

  /** `piece` is the beginning of an event, or more of it. */
  #begin(piece: Buffer, passed: Buffer[]): void {
    if (this.#released) passed.push(piece);
    else if (this.#event.size + piece.length > MAX_HELD_BYTES) {
      // Before it is added: a piece too long to be read is not kept.
      passed.push(this.#event.with(piece));
      this.#released = true;
    }
    this.#event.add(piece);
    this.reading.unreadable ||= this.#event.overflowed;
  }

  /** Reads one whole event; true if it is the usage event. Null: it was too long to be kept. */
  #read(event: Buffer | null): boolean {
    if (event === null || event.length > MAX_EVENT_BYTES) {
      this.reading.unreadable = true;
      return false;
    }
    const text = event.toString('utf8', this.#first ? bomLength(event) : 0);
    this.#first = false;
    const { name, data } = parseSseEvent(text);
    if (name === 'error') this.reading.sawError = true;
    const said = data?.trim() ?? '';
    if (said === '') return false;
    if (said === '[DONE]') {
      this.reading.complete = true;
      return false;
    }
    const part = event.length > SHORT_EVENT && deeperThan(event, MAX_DEPTH) ? undefined : parseText(said);
    return this.#take(part, name);
  }

  #take(part: Json, event: string | null): boolean {
    if (!isObject(part)) {
      this.reading.unreadable = true;
      return false;
    }
    this.reading.take(part, event);
    return this.reading.isOurs(part);
  }
}
