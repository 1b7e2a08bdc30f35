import type { ResponseReader } from '../domain/wire.js';
import { Gathered } from './gathered.js';
import { isObject, MAX_DEPTH, parseText, type Json, type JsonObject } from './json.js';
import { bomLength, deeperThan } from './json-scan.js';
import { OpenAiAnswer } from './openai-answer.js';
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

/** Reads a streamed answer, and hides its usage event where told to. */
export class OpenAiStreamReader implements ResponseReader {
  readonly reading = new OpenAiAnswer();
  readonly #splitter = new SseSplitter();
  /** The event that is not whole yet. Unless it is `released`, the client has nothing of it. */
  readonly #event = new Gathered(MAX_EVENT_BYTES);
  #released: boolean;
  #first = true;
  #hidLast = false;
  #lastEndedInCr = false;

  constructor(readonly hideUsage: boolean) {
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
    this.reading.complete ||= this.reading.sawFinalUsage;
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
    return this.#take(part);
  }

  #take(part: Json): boolean {
    if (!isObject(part)) {
      this.reading.unreadable = true;
      return false;
    }
    const saidAll = this.reading.sawFinish;
    this.reading.take(part);
    return isUsageEvent(part, saidAll);
  }
}

/**
 * The one event that `include_usage` adds. Azure's first chunk also has no choices, but it has no usage either. LiteLLM
 * puts a choice that says nothing beside its usage: after the end of an answer (`saidAll`) that is the same event.
 */
function isUsageEvent(part: JsonObject, saidAll: boolean): boolean {
  const choices = part['choices'];
  if (!Array.isArray(choices) || !isObject(part['usage'])) return false;
  return choices.length === 0 || (saidAll && choices.every(saysNothing));
}

/** A choice without text, calls or an end of its own. */
function saysNothing(choice: Json): boolean {
  if (!isObject(choice)) return false;
  const { delta, text, finish_reason: finish } = choice;
  return isBlank(finish) && isBlank(text) && (isBlank(delta) || (isObject(delta) && Object.values(delta).every(isBlank)));
}

function isBlank(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '';
}
