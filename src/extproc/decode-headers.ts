import type { EnvoyMessage } from './protocol.js';

type Header = NonNullable<NonNullable<EnvoyMessage['request_headers']>['headers']>['headers'][number];

const REQUEST_HEADERS = 0x12;
const RESPONSE_HEADERS = 0x1a;
const EMPTY = Buffer.alloc(0);

/** A place in bytes; reading moves it. */
interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

/**
 * Decodes a message of headers: their values straight to text, where the general decoder makes a Buffer and two objects of each
 * (14 to 20 headers a request). Everything else in the message is left to `general`. Null for other messages, and for bytes that are not
 * as expected: `general` knows what to do with those.
 */
export function decodeHeaders(bytes: Buffer, general: (bytes: Buffer) => EnvoyMessage): EnvoyMessage | null {
  const tag = bytes[0];
  if (tag !== REQUEST_HEADERS && tag !== RESPONSE_HEADERS) return null;
  const cursor = { bytes, at: 1 };
  const end = lengthAt(cursor) + cursor.at;
  const headers: Header[] = [];
  let endOfStream = false;
  while (cursor.at < end) {
    const field = bytes[cursor.at++];
    if (field === 0x0a) {
      if (!headerMap(cursor, headers)) return null;
    } else if (field === 0x18) endOfStream = lengthAt(cursor) !== 0;
    else return null;
  }
  if (cursor.at !== end || end > bytes.length) return null;
  const rest = general(bytes.subarray(end));
  // The same kind twice, or another behind it: the last one would count.
  if (rest.request !== undefined) return null;
  const message = { headers: { headers }, end_of_stream: endOfStream };
  rest.request = tag === REQUEST_HEADERS ? 'request_headers' : 'response_headers';
  rest[rest.request] = message as NonNullable<EnvoyMessage['request_headers']>;
  return rest;
}

/** False where it is not as expected. */
function headerMap(cursor: Cursor, headers: Header[]): boolean {
  const { bytes } = cursor;
  const end = lengthAt(cursor) + cursor.at;
  while (cursor.at < end) {
    if (bytes[cursor.at++] !== 0x0a) return false;
    const headerEnd = lengthAt(cursor) + cursor.at;
    let key = '';
    let value = '';
    let rawValue = '';
    while (cursor.at < headerEnd) {
      const field = bytes[cursor.at++]!;
      if (field === 0x0a) key = text(cursor);
      else if (field === 0x12) value = text(cursor);
      else if (field === 0x1a) rawValue = text(cursor);
      else return false;
    }
    if (cursor.at !== headerEnd) return false;
    headers.push({ key, value: rawValue === '' ? value : rawValue, raw_value: EMPTY });
  }
  return cursor.at === end;
}

function text(cursor: Cursor): string {
  const end = lengthAt(cursor) + cursor.at;
  const start = cursor.at;
  cursor.at = end;
  return cursor.bytes.toString('utf8', start, end);
}

/** A number of up to 28 bits; no message is longer. */
function lengthAt(cursor: Cursor): number {
  const { bytes } = cursor;
  let value = 0;
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = bytes[cursor.at++] ?? 0;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return Number.POSITIVE_INFINITY;
}
