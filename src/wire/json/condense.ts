import { bomLength, skipBlank, skipString } from './scan.js';
import { LongText, MARK, NumberList, Texts, type Long } from './texts.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MARK_ESCAPE = Buffer.from('\\u007f');
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Strings of more bytes than this are left out of what is parsed: longer than any name, id or role that a parser looks at. */
const LONG_BYTES = 512;
/** Lists of so many numbers or more are left out as well: token ids, embeddings. */
const MANY_NUMBERS = 16;

/** Bytes that plain numbers are written in, with the commas and blanks between them. */
const OF_NUMBERS = Uint8Array.from({ length: 256 }, (_, byte) => ('0123456789+-.eE, \t\r\n'.includes(String.fromCharCode(byte)) ? 1 : 0));

/** Bytes that mean something outside of strings. */
const OF_SHAPE = Uint8Array.from({ length: 256 }, (_, byte) => ('"[]{},:'.includes(String.fromCharCode(byte)) ? 1 : 0));

/** How `{"a": …, "b": …}` differs from `{"b": …, "a": …}`: a running hash of keys begins with this at each object. */
const FNV_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const SHAPE_BITS = 17;

/** What one body may hold of what a JSON parser is slow at. */
export interface ShapeLimits {
  readonly depth: number;
  /** Lists, objects and commas. */
  readonly parts: number;
  /** Different beginnings of objects, by the keys and their order: for each a parser makes a description that it keeps. */
  readonly shapes: number;
}

export type Shape = 'too_deep' | 'too_many' | readonly Long[];

/**
 * Walks once over a JSON text: what is too slow to parse is told, and what need not be parsed is found. Works on any bytes; means
 * something for JSON only. Linear, no recursion. Of what is found nothing is checked but its ends: a control character or a wrong
 * escape in a long string, or a list such as `[1,,2]`, is the upstream's to refuse.
 */
export function shapeOf(bytes: Buffer, limits: ShapeLimits): Shape {
  const found: Long[] = [];
  keys.begin(limits.depth);
  let depth = 0;
  let parts = 0;
  let keyStart = 0;
  let keyEnd = 0;
  const { length } = bytes;
  for (let i = 0; ; ) {
    while (i < length && OF_SHAPE[bytes[i]!] === 0) i++;
    if (i >= length) return found;
    const byte = bytes[i];
    if (byte === QUOTE) {
      keyStart = i;
      keyEnd = i = skipString(bytes, i);
      if ((keyEnd - keyStart > LONG_BYTES || isMarked(bytes, keyStart)) && !isKey(bytes, keyEnd)) found.push(new LongText(bytes, keyStart + 1, keyEnd - 1));
      continue;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (++depth > limits.depth) return 'too_deep';
      if (++parts > limits.parts) return 'too_many';
      if (byte === OPEN_OBJECT) keys.open(depth);
      else {
        const list = numbersAt(bytes, i);
        if (list !== null) {
          found.push(list);
          i = list.end;
          depth--;
          continue;
        }
      }
    } else if (byte === COMMA) {
      if (++parts > limits.parts) return 'too_many';
    } else if (byte === COLON && keyStart !== keyEnd) {
      keys.member(depth, bytes, keyStart, keyEnd);
      if (keys.count > limits.shapes) return 'too_many';
      keyStart = keyEnd;
    } else if ((byte === CLOSE_OBJECT || byte === CLOSE_LIST) && depth > 0) depth--;
    i++;
  }
}

/** Counts the different beginnings of objects, by a bit for each hash: hardly ever fewer, never more than there are. One body at a time. */
class ShapeCounter {
  readonly #seen = new Uint8Array(2 ** (SHAPE_BITS - 3));
  /** Where bits are set. */
  readonly #touched: number[] = [];
  /** The hash of the keys until now, for the object at each depth. */
  #hashes = new Int32Array(0);

  get count(): number {
    return this.#touched.length;
  }

  begin(depth: number): void {
    for (const at of this.#touched) this.#seen[at] = 0;
    this.#touched.length = 0;
    if (this.#hashes.length > depth) this.#hashes.fill(0);
    else this.#hashes = new Int32Array(depth + 1);
  }

  open(depth: number): void {
    this.#hashes[depth] = FNV_BASIS;
  }

  member(depth: number, bytes: Buffer, start: number, end: number): void {
    let hash = this.#hashes[depth]!;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, FNV_PRIME);
    this.#hashes[depth] = hash;
    const bit = (hash ^ (hash >>> SHAPE_BITS)) & (2 ** SHAPE_BITS - 1);
    const mask = 1 << (bit & 7);
    if ((this.#seen[bit >> 3]! & mask) !== 0) return;
    this.#seen[bit >> 3]! |= mask;
    this.#touched.push(bit >> 3);
  }
}

/** One for all bodies: a table of its own is 16 KB of zeros outside of the heap, for each request and each answer. */
const keys = new ShapeCounter();

/** A string that begins with the mark of our own, as it is or as an escape (whose last digit may be a capital). */
function isMarked(bytes: Buffer, quote: number): boolean {
  const first = bytes[quote + 1];
  if (first !== BACKSLASH) return first === MARK;
  for (let i = 0; i < MARK_ESCAPE.length - 1; i++) if (bytes[quote + 1 + i] !== MARK_ESCAPE[i]) return false;
  return (bytes[quote + MARK_ESCAPE.length]! | 0x20) === MARK_ESCAPE[MARK_ESCAPE.length - 1];
}

function isKey(bytes: Buffer, end: number): boolean {
  return bytes[skipBlank(bytes, end)] === COLON;
}

/** The list of many numbers that begins at `open`; null where there is something else. */
function numbersAt(bytes: Buffer, open: number): NumberList | null {
  let commas = 0;
  let i = open + 1;
  for (; OF_NUMBERS[bytes[i] ?? 0] === 1; i++) if (bytes[i] === COMMA) commas++;
  if (commas + 1 < MANY_NUMBERS || bytes[i] !== CLOSE_LIST || isKey(bytes, i + 1)) return null;
  return new NumberList(bytes, open, i + 1, commas + 1);
}

/** Most bytes of a marker with its quotes: some of what it replaces is shorter. */
const MARKER_BYTES = 12;

/** The same JSON text with a short string in the place of each long string and list; what they stand for is told by `texts`. */
export function condense(bytes: Buffer, found: readonly Long[]): { readonly json: string; readonly texts: Texts } {
  const out = Buffer.allocUnsafe(found.reduce((left, long) => left - long.length + MARKER_BYTES, bytes.length));
  let length = 0;
  let at = bomLength(bytes);
  found.forEach((long, index) => {
    const quoted = long instanceof LongText ? 1 : 0;
    length = copy(bytes, at, long.start - quoted, out, length);
    length = writeMarker(out, length, index);
    at = long.end + quoted;
  });
  length = copy(bytes, at, bytes.length, out, length);
  return { json: out.toString('utf8', 0, length), texts: new Texts(found) };
}

/** By hand: `Buffer.write` takes longer for so little. */
function writeMarker(out: Buffer, at: number, index: number): number {
  let digits = 1;
  for (let power = 10; power <= index; power *= 10) digits++;
  out[at] = QUOTE;
  out[at + 1] = MARK;
  for (let i = digits, rest = index; i > 0; i--, rest = Math.floor(rest / 10)) out[at + 1 + i] = 0x30 + (rest % 10);
  out[at + 2 + digits] = QUOTE;
  return at + digits + 3;
}

const SHORT = 100;

/** Copies bytes and returns the new end; a few are faster by hand. */
function copy(from: Buffer, start: number, end: number, to: Buffer, at: number): number {
  if (end - start > SHORT) return at + from.copy(to, at, start, end);
  for (let i = start; i < end; i++) to[at + i - start] = from[i]!;
  return at + end - start;
}
