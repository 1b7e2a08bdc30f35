import type { ResponseReader } from '../../domain/wire.js';
import { isObject, MAX_DEPTH, parseText } from '../json/json.js';
import { deeperThan } from '../json/scan.js';
import type { Answer } from './answer.js';
import { EventStreamFrames, type EventFrame } from './eventstream.js';

/** Shorter payloads are parsed without a look at their depth first. */
const SHORT_PAYLOAD = 16 * 1024;

const NOTHING = Buffer.alloc(0);

/** Reads an answer that is an AWS event stream. Its bytes pass untouched: nothing is ever hidden in one. */
export class EventStreamReader implements ResponseReader {
  readonly #frames = new EventStreamFrames();

  constructor(readonly reading: Answer) {}

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

  #take({ kind, event, payload }: EventFrame): void {
    if (kind !== 'event') {
      this.reading.sawError = true;
      return;
    }
    if (payload.length === 0) return;
    const tooDeep = payload.length > SHORT_PAYLOAD && deeperThan(payload, MAX_DEPTH);
    const part = tooDeep ? undefined : parseText(payload.toString('utf8'));
    if (isObject(part)) this.reading.take(part, event);
    else this.reading.unreadable = true;
  }
}
