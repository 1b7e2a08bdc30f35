import { EventStreamCodec } from '@smithy/eventstream-codec';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';

/** One server-sent event: its name, where the API gives it one, and what it tells. */
export interface Told {
  readonly event?: string;
  readonly data: unknown;
}

/** Server-sent events, a blank line after each. A text goes out as it is, anything else as JSON. */
export function sseStream(events: readonly Told[], lineEnd = '\n'): Buffer {
  const lines = events.map(({ event, data }) => {
    const name = event === undefined ? '' : `event: ${event}${lineEnd}`;
    return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}${lineEnd}${lineEnd}`;
  });
  return Buffer.from(lines.join(''));
}

/** One JSON value a line. */
export function ndjson(values: readonly unknown[]): Buffer {
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
}

/** One JSON list, pretty and with its commas on lines of their own: how Gemini streams without `alt=sse`. */
export function jsonList(values: readonly unknown[]): Buffer {
  return Buffer.from(`[${values.map((value) => JSON.stringify(value, null, 2)).join('\n,\r\n')}\n]\n`);
}

/** One frame of an AWS event stream. */
export interface Frame {
  readonly type: string;
  readonly payload: unknown;
  /** An error in place of an event. */
  readonly exception?: boolean;
}

const codec = new EventStreamCodec(toUtf8, fromUtf8);

/** Frames of an AWS event stream, with their checksums. */
export function eventStream(frames: readonly Frame[]): Buffer {
  const header = (value: string) => ({ type: 'string' as const, value });
  return Buffer.concat(
    frames.map(({ type, payload, exception = false }) => {
      const [name, kind] = exception ? [':exception-type', 'exception'] : [':event-type', 'event'];
      const headers = { [name]: header(type), ':content-type': header('application/json'), ':message-type': header(kind) };
      return codec.encode({ headers, body: fromUtf8(JSON.stringify(payload)) });
    }),
  );
}

const SIZES = [1, 7, 64, 3, 29, 2, 150, 11];

/** The bytes in pieces of changing sizes, cut wherever it comes. */
export function inPieces(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = SIZES[i % SIZES.length]!;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}
