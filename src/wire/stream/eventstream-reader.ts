import type { EndEvent, ResponseReader } from '../../domain/wire.js';
import { isObject, MAX_DEPTH, parseText } from '../json/json.js';
import { deeperThan } from '../json/scan.js';
import type { Answer } from './answer.js';
import { frameEnd } from './ending.js';
import { EventStreamFrames, MAX_FRAME_BYTES, type EventFrame } from './eventstream.js';
import { Familiar } from './familiar.js';

/** Shorter payloads are parsed without a look at their depth first. */
const SHORT_PAYLOAD = 16 * 1024;

const NOTHING = Buffer.alloc(0);

/** Reads an answer that is an AWS event stream. Its bytes pass untouched: nothing is ever hidden in one. */
export class EventStreamReader implements ResponseReader {
  readonly #frames = new EventStreamFrames();
  readonly #familiar: Familiar;
  /** The first event that had output text: most others are of its kind, and those are not parsed where they are familiar. */
  #textEvent: string | null = null;

  constructor(readonly reading: Answer) {
    this.#familiar = new Familiar(reading, MAX_FRAME_BYTES);
  }

  push(chunk: Buffer): Buffer {
    for (const frame of this.#frames.push(chunk)) this.#take(frame);
    if (this.#frames.failed || this.#frames.passedOver) this.reading.unreadable = true;
    return chunk;
  }

  end(): Buffer {
    if (!this.#frames.atEnd) this.reading.unreadable = true;
    this.reading.complete = this.reading.endsWhole();
    return NOTHING;
  }

  get midEvent(): boolean {
    return !this.#frames.atEnd;
  }

  endWith(event: EndEvent): Buffer | null {
    return this.midEvent || this.#frames.failed ? null : frameEnd(event);
  }

  #take({ kind, event, payload }: EventFrame): void {
    if (kind !== 'event') {
      this.reading.sawError = true;
      return;
    }
    if (payload.length === 0 || this.#isFamiliar(event, payload)) return;
    const tooDeep = payload.length > SHORT_PAYLOAD && deeperThan(payload, MAX_DEPTH);
    const part = tooDeep ? undefined : parseText(payload.toString('utf8'));
    if (!isObject(part)) {
      this.reading.unreadable = true;
      return;
    }
    // What is in base64 has no shape that says anything.
    const example = event === this.#textEvent && typeof part['bytes'] !== 'string' ? { bytes: payload, start: 0 } : null;
    if (this.#familiar.take(part, event, example) > 0) this.#textEvent ??= event;
  }

  #isFamiliar(event: string | null, payload: Buffer): boolean {
    if (event === null || event !== this.#textEvent) return false;
    const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
    return this.#familiar.skip(payload, view, 0, payload.length) === payload.length;
  }
}
