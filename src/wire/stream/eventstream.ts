import { EventStreamCodec } from '@smithy/eventstream-codec';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';
import { crc32 } from 'node:zlib';
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

/** How many different headers are remembered, and how long they may be. */
const MAX_KINDS = 8;
const MAX_KIND_BYTES = 1024;

/** Keeps nothing between frames. */
const CODEC = new EventStreamCodec(toUtf8, fromUtf8);

/** What headers tell, and their bytes. */
interface Told extends Pick<EventFrame, 'event' | 'kind'> {
  readonly headers: Buffer;
}

/** CRC-32's steps by the byte, for its reflected polynomial 0xEDB88320. */
const CRC_OF_BYTE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  return crc;
});

/** Bytes of a header's value by its type: two truth values, four sizes of number, bytes and text (by a length of their own), time, UUID. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, null, null, 8, 16] as const;

/**
 * Cuts an AWS event stream into its frames. The decoding of a frame is the library's; this stands before it, because no length may
 * be believed, waited for or allocated before its checksum was seen to be right. After a bad frame nothing more can be read.
 */
export class EventStreamFrames {
  /** The headers seen last. */
  #kinds: readonly Told[] = [];
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
    if (this.#pending.size === 0) this.#take(chunk, at, at + missing, frames);
    else {
      // A copy: what comes next in this chunk is gathered in the same place.
      const frame = this.#pending.with(chunk.subarray(at, at + missing));
      this.#take(frame, 0, frame.length, frames);
      this.#pending.clear();
    }
    this.#length = 0;
    return at + missing;
  }

  /** Reads the prelude of a frame as soon as it is whole. */
  #begin(chunk: Buffer, at: number, left: number): number {
    const missing = PRELUDE_BYTES - this.#pending.size;
    if (left < missing) return this.#keep(chunk, at);
    const inChunk = this.#pending.size === 0;
    if (!inChunk) this.#pending.add(chunk, at, at + missing);
    const length = inChunk ? frameLength(chunk, at) : frameLength(this.#pending.whole, 0);
    if (length === null) return this.#fail();
    if (length > MAX_FRAME_BYTES) {
      this.#passedOver = true;
      this.#toSkip = length - PRELUDE_BYTES;
      this.#pending.clear();
      return at + missing;
    }
    this.#length = length;
    // Where the prelude lies in this chunk, the frame is taken from there as a whole: no copy if it is all there.
    return inChunk ? at : at + missing;
  }

  #keep(chunk: Buffer, at: number): number {
    this.#pending.add(chunk, at);
    return chunk.length;
  }

  /** Takes the frame from `start` to `end`. */
  #take(bytes: Buffer, start: number, end: number, frames: EventFrame[]): void {
    const payloadStart = start + PRELUDE_BYTES + bytes.readUInt32BE(start + 4);
    const payloadEnd = end - CHECKSUM_BYTES;
    const sound = crc32(bytes.subarray(start, payloadEnd)) === bytes.readUInt32BE(payloadEnd);
    const told = sound ? (this.#toldAlready(bytes, start + PRELUDE_BYTES, payloadStart) ?? this.#told(bytes.subarray(start, end), payloadStart - start)) : null;
    if (told === null) this.#fail();
    else frames.push({ event: told.event, kind: told.kind, payload: bytes.subarray(payloadStart, payloadEnd) });
  }

  /** A stream has few kinds of frames, and those of a kind have the same headers. */
  #toldAlready(bytes: Buffer, start: number, end: number): Told | null {
    for (const told of this.#kinds) if (told.headers.compare(bytes, start, end) === 0) return told;
    return null;
  }

  /** What the headers of a frame tell, which end at `end`, by the library; null where they are no headers. */
  #told(frame: Buffer, end: number): Told | null {
    if (!soundHeaders(frame, end)) return null;
    try {
      const told = { headers: Buffer.from(frame.subarray(PRELUDE_BYTES, end)), ...toldBy(CODEC.decode(frame).headers) };
      if (told.headers.length <= MAX_KIND_BYTES) this.#kinds = [told, ...this.#kinds.slice(0, MAX_KINDS - 1)];
      return told;
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

/** Length in bytes of the frame whose prelude is at `at`; null where that is no prelude. */
function frameLength(bytes: Buffer, at: number): number | null {
  const length = bytes.readUInt32BE(at);
  const headers = bytes.readUInt32BE(at + 4);
  if (bytes.readUInt32BE(at + 8) !== crcOfLengths(bytes, at)) return null;
  const payload = length - headers - FRAME_OVERHEAD_BYTES;
  return headers <= MAX_HEADERS_BYTES && payload >= 0 && payload <= MAX_PAYLOAD_BYTES ? length : null;
}

/** CRC-32 (IEEE 802.3) of the two lengths at `at`: for so few bytes a call of zlib's takes far longer. */
function crcOfLengths(bytes: Buffer, at: number): number {
  let crc = 0xffffffff;
  for (let i = at; i < at + 8; i++) crc = (crc >>> 8) ^ CRC_OF_BYTE[(crc ^ bytes[i]!) & 0xff]!;
  return ~crc >>> 0;
}

/** Whether the headers fill just their own bytes and none comes twice: the library reads past their end, and takes the last of two. */
function soundHeaders(frame: Buffer, end: number): boolean {
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

function toldBy(headers: MessageHeaders): Pick<EventFrame, 'event' | 'kind'> {
  const type = textOf(headers, ':message-type');
  if (type === 'exception') return { event: textOf(headers, ':exception-type'), kind: 'exception' };
  if (type === 'error') return { event: textOf(headers, ':error-code'), kind: 'error' };
  return { event: textOf(headers, ':event-type'), kind: 'event' };
}

function textOf(headers: MessageHeaders, name: string): string | null {
  const header = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return header?.type === 'string' ? header.value : null;
}
