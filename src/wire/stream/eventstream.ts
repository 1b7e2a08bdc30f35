import { EventStreamCodec } from '@smithy/eventstream-codec';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';
import { Gathered } from './gathered.js';

type MessageHeaders = ReturnType<EventStreamCodec['decode']>['headers'];

/** One message of an AWS event stream (`application/vnd.amazon.eventstream`). */
export interface EventFrame {
  /** `:event-type`, `:exception-type` or `:error-code`; null where it has none. */
  readonly event: string | null;
  /** Exceptions are errors that the API knows, errors are all others. Both end the stream. */
  readonly kind: 'event' | 'exception' | 'error';
  /** Valid until the next `push`. */
  readonly payload: Buffer;
}

/** The longest frame that is read, in bytes; a longer one is passed over. Bedrock's own are a few KB. */
export const MAX_FRAME_BYTES = 1024 * 1024;
/** AWS's own bounds: what is beyond them is no event stream, however right its checksums are. */
const MAX_HEADERS_BYTES = 128 * 1024;
const MAX_PAYLOAD_BYTES = 24 * 1024 * 1024;

/** Length of the frame, length of its headers, checksum of these two: 4 bytes each. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
const FRAME_OVERHEAD_BYTES = PRELUDE_BYTES + CHECKSUM_BYTES;

/** Bytes of a header's value by its type: two truth values, four sizes of number, bytes and text (by a length of their own), time, UUID. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, null, null, 8, 16] as const;

/**
 * Cuts an AWS event stream into its frames. The decoding of a frame is the library's; this stands before it, because no length may
 * be believed, waited for or allocated before its checksum was seen to be right. After a bad frame nothing more can be read.
 */
export class EventStreamFrames {
  readonly #codec = new EventStreamCodec(toUtf8, fromUtf8);
  readonly #pending = new Gathered(MAX_FRAME_BYTES);
  /** Length of the frame that has begun; 0 while its prelude is not whole. */
  #length = 0;
  /** Bytes still to come of a frame that is passed over. */
  #toSkip = 0;
  #failed = false;
  #passedOver = false;

  /** Something was no event stream: no frame comes any more. */
  get failed(): boolean {
    return this.#failed;
  }

  /** A frame was too long to be read. */
  get passedOver(): boolean {
    return this.#passedOver;
  }

  /** Nothing of a frame is missing. */
  get atEnd(): boolean {
    return this.#pending.size === 0 && this.#toSkip === 0;
  }

  /** Takes the next bytes, cut anywhere; returns the frames that end in them. */
  push(chunk: Buffer): readonly EventFrame[] {
    const frames: EventFrame[] = [];
    let at = 0;
    while (at < chunk.length && !this.#failed) at = this.#step(chunk, at, frames);
    return frames;
  }

  /** Takes what belongs together from `at` on; returns where that ends. */
  #step(chunk: Buffer, at: number, frames: EventFrame[]): number {
    const left = chunk.length - at;
    if (this.#toSkip > 0) {
      const skipped = Math.min(this.#toSkip, left);
      this.#toSkip -= skipped;
      return at + skipped;
    }
    if (this.#length === 0) return this.#begin(chunk, at, left);
    const missing = this.#length - this.#pending.size;
    if (left < missing) return this.#keep(chunk, at);
    this.#take(this.#pending.with(chunk.subarray(at, at + missing)), frames);
    this.#pending.clear();
    this.#length = 0;
    return at + missing;
  }

  /** Reads the prelude of a frame as soon as it is whole. */
  #begin(chunk: Buffer, at: number, left: number): number {
    const missing = PRELUDE_BYTES - this.#pending.size;
    if (left < missing) return this.#keep(chunk, at);
    const prelude = this.#pending.with(chunk.subarray(at, at + missing));
    const length = frameLength(prelude);
    if (length === null) return this.#fail();
    if (length > MAX_FRAME_BYTES) {
      this.#passedOver = true;
      this.#toSkip = length - PRELUDE_BYTES;
      this.#pending.clear();
      return at + missing;
    }
    this.#length = length;
    // Where the prelude lies in this chunk, the frame is taken from there as a whole: no copy if it is all there.
    if (this.#pending.size === 0) return at;
    this.#pending.add(chunk.subarray(at, at + missing));
    return at + missing;
  }

  #keep(chunk: Buffer, at: number): number {
    this.#pending.add(at === 0 ? chunk : chunk.subarray(at));
    return chunk.length;
  }

  #take(bytes: Buffer, frames: EventFrame[]): void {
    const frame = this.#decoded(bytes);
    if (frame === null) this.#fail();
    else frames.push(frame);
  }

  #decoded(bytes: Buffer): EventFrame | null {
    if (!soundHeaders(bytes)) return null;
    try {
      const { headers, body } = this.#codec.decode(bytes);
      return frameOf(headers, Buffer.from(body.buffer, body.byteOffset, body.byteLength));
    } catch {
      return null;
    }
  }

  #fail(): number {
    this.#failed = true;
    this.#pending.clear();
    return Infinity;
  }
}

/** Length in bytes of the frame that begins with these; null where they are no prelude. */
function frameLength(prelude: Buffer): number | null {
  const length = prelude.readUInt32BE(0);
  const headers = prelude.readUInt32BE(4);
  if (prelude.readUInt32BE(8) !== crc32(prelude, 8)) return null;
  const payload = length - headers - FRAME_OVERHEAD_BYTES;
  return headers <= MAX_HEADERS_BYTES && payload >= 0 && payload <= MAX_PAYLOAD_BYTES ? length : null;
}

/** CRC-32 of the first `length` bytes as in IEEE 802.3 (reflected, polynomial 0xEDB88320); bit by bit, for a few bytes only. */
function crc32(bytes: Buffer, length: number): number {
  let crc = 0xffffffff;
  for (let i = 0; i < length; i++) {
    crc ^= bytes[i]!;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** Whether the headers fill just their own bytes and none comes twice: the library reads past their end, and takes the last of two. */
function soundHeaders(frame: Buffer): boolean {
  const end = PRELUDE_BYTES + frame.readUInt32BE(4);
  const names = new Set<string>();
  let at = PRELUDE_BYTES;
  while (at < end) {
    const nameEnd = at + 1 + frame[at]!;
    if (nameEnd >= end) return false;
    const name = frame.toString('latin1', at + 1, nameEnd);
    if (names.has(name)) return false;
    names.add(name);
    const valueAt = nameEnd + 1;
    const bytes = VALUE_BYTES[frame[nameEnd]!];
    if (bytes === undefined || (bytes === null && valueAt + 2 > end)) return false;
    at = valueAt + (bytes ?? 2 + frame.readUInt16BE(valueAt));
  }
  return at === end;
}

function frameOf(headers: MessageHeaders, payload: Buffer): EventFrame {
  const type = textOf(headers, ':message-type');
  if (type === 'exception') return { event: textOf(headers, ':exception-type'), kind: 'exception', payload };
  if (type === 'error') return { event: textOf(headers, ':error-code'), kind: 'error', payload };
  return { event: textOf(headers, ':event-type'), kind: 'event', payload };
}

function textOf(headers: MessageHeaders, name: string): string | null {
  const header = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return header?.type === 'string' ? header.value : null;
}
