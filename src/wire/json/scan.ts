const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Bytes looked at one by one before the search for a quote is left to `indexOf`, which is slow to start and fast to run. */
const WALK = 16;
/** Behind an escaped quote that was farther than this the search goes on at once: the next one will be far as well. */
const FAR = 48;

/** Where a member's value lies: `start` inclusive, `end` exclusive, without the blanks around it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Length of a byte order mark at the start: 3 or 0. */
export function bomLength(bytes: Buffer): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

/** The first byte from `at` that is not blank. */
export function skipBlank(bytes: Buffer, at: number): number {
  let i = at;
  while (bytes[i] === 0x20 || bytes[i] === 0x0a || bytes[i] === 0x0d || bytes[i] === 0x09) i++;
  return i;
}

/** From the opening quote at `at` to behind the closing one; the length of the bytes where there is none. Linear. */
export function skipString(bytes: Buffer, at: number): number {
  const { length } = bytes;
  let i = at + 1;
  let walk = WALK;
  for (;;) {
    const walkEnd = Math.min(i + walk, length);
    while (i < walkEnd && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1;
    if (i < walkEnd) return i + 1;
    if (i >= length) return length;
    const quote = bytes.indexOf(QUOTE, i);
    if (quote < 0) return length;
    if (!isEscaped(bytes, i, quote)) return quote + 1;
    walk = quote - i > FAR ? 0 : WALK;
    i = quote + 1;
  }
}

/** Whether an odd number of backslashes stands before `at`, counted back to `from` at most (which is itself not escaped). */
function isEscaped(bytes: Buffer, from: number, at: number): boolean {
  let first = at;
  while (first > from && bytes[first - 1] === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}

/**
 * Tells whether the nesting of lists and objects goes beyond `limit`, before anything is parsed. Works on any bytes;
 * means something for JSON only. Linear, no recursion.
 */
export function deeperThan(bytes: Buffer, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < bytes.length; ) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      i = skipString(bytes, i);
      continue;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (++depth > limit) return true;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--;
    i++;
  }
  return false;
}

/** From the first byte of a value to behind its last. */
function skipValue(bytes: Buffer, at: number): number {
  let depth = 0;
  let i = at;
  while (i < bytes.length) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      i = skipString(bytes, i);
      if (depth === 0) return i;
      continue;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (depth === 0) return i;
      if (--depth === 0) return i + 1;
    } else if (depth === 0 && (byte === COMMA || skipBlank(bytes, i) !== i)) return i;
    i++;
  }
  return i;
}

/**
 * Finds a member of the object that begins at `objectStart` (its brace) in valid JSON, without parsing it. Of duplicate
 * keys the last counts, as for `JSON.parse`. Null where there is none, or where the bytes are no object.
 */
export function findMember(bytes: Buffer, objectStart: number, key: string): Span | null {
  const wanted = Buffer.from(key);
  let found: Span | null = null;
  let i = bytes[objectStart] === OPEN_OBJECT ? skipBlank(bytes, objectStart + 1) : bytes.length;
  while (bytes[i] === QUOTE) {
    const keyEnd = skipString(bytes, i);
    const colon = skipBlank(bytes, keyEnd);
    if (bytes[colon] !== COLON) return null;
    const start = skipBlank(bytes, colon + 1);
    const end = skipValue(bytes, start);
    if (isKey(bytes, i, keyEnd, wanted)) found = { start, end };
    const next = skipBlank(bytes, end);
    if (bytes[next] !== COMMA) break;
    i = skipBlank(bytes, next + 1);
  }
  return found;
}

/** Whether the bytes between two quotes are that key, which is of letters and `_`; each may be written as an escape. */
function isKey(bytes: Buffer, start: number, end: number, wanted: Buffer): boolean {
  let at = start + 1;
  for (const code of wanted) {
    const escaped = bytes[at] === BACKSLASH;
    if ((escaped ? escapedCode(bytes, at) : bytes[at]) !== code) return false;
    at += escaped ? ESCAPE_BYTES : 1;
  }
  return at === end - 1;
}

const ESCAPE_BYTES = 6;

/** The code of `\uXXXX` at `at`; NaN for anything else. */
function escapedCode(bytes: Buffer, at: number): number {
  if (bytes[at + 1] !== LETTER_U) return NaN;
  let code = 0;
  for (let i = 2; i < ESCAPE_BYTES; i++) code = code * 16 + hexDigit(bytes[at + i] ?? 0);
  return code;
}

const LETTER_U = 0x75;

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : NaN;
}
