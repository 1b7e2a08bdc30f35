import { parseText } from '../json/json.js';
import type { Answer } from './answer.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const SMALL_E = 0x65;
const SMALL = 0x20;

const ASCII = 0;
const BEYOND_ASCII = 1;
const ESCAPED = 2;
const OTHER = 3;
const STOP = 4;
/** Bytes inside a string: those that are what they say, parts of longer characters, and those that need a closer look. */
const IN_STRING = Uint8Array.from({ length: 256 }, (_, byte) => (byte === QUOTE || byte === BACKSLASH || byte < 0x20 ? STOP : byte < 0x80 ? ASCII : BEYOND_ASCII));

/** What the second byte of an escape stands for; 0 for `u` and for what is no escape. */
const ESCAPES = new Uint8Array(256);
for (const [escape, meant] of ['""', '\\\\', '//', 'n\n', 't\t', 'r\r', 'b\b', 'f\f']) ESCAPES[escape!.charCodeAt(0)] = meant!.charCodeAt(0);
/** Longer texts with escapes are decoded by the JSON parser. */
const unescaped = Buffer.alloc(256);

/** How a text stands: in ASCII, in ASCII with short escapes, without any escapes, or in some other way. */
type How = 'plain' | 'escaped' | 'wide' | 'other';

/** By what was seen in it. */
const HOW: readonly How[] = ['plain', 'wide', 'escaped', 'other'];

/** What may stand in a place where parts of one shape differ: an output text (never empty), any string, any number. */
export type SlotKind = 'text' | 'string' | 'number';

export interface Slot {
  readonly kind: SlotKind;
  /** Offsets in the example, without quotes. */
  readonly start: number;
  readonly end: number;
}

/**
 * The shape of a part as it stands in the stream: bytes that are always the same, and slots between them. Another part with the
 * same bytes, and with a value of the same kind in each slot, is the same but for those values. This is JSON's own grammar:
 * the bytes are compared, the values are checked, nothing is guessed.
 */
export class Shape {
  /** Bytes between the slots, one after the other; where each piece of them ends. */
  readonly #same: Uint8Array;
  readonly #sameView: DataView;
  readonly #ends: readonly number[];
  readonly #kinds: readonly SlotKind[];
  /** Where the texts of the part that was matched last stand, by slot, and how. */
  readonly #starts: number[];
  readonly #stops: number[];
  readonly #how: How[];

  /** `example`: a part of that shape. `counted`: the slots whose texts are counted, in the order of counting. `pieces`: of output, in each part. */
  constructor(
    example: Buffer,
    slots: readonly Slot[],
    readonly counted: readonly number[],
    readonly pieces: number,
  ) {
    const same: Buffer[] = [];
    let at = 0;
    for (const { start, end } of slots) {
      same.push(example.subarray(at, start));
      at = end;
    }
    same.push(example.subarray(at));
    let end = 0;
    this.#ends = same.map(({ length }) => (end += length));
    this.#same = new Uint8Array(Buffer.concat(same));
    this.#sameView = new DataView(this.#same.buffer);
    this.#kinds = slots.map(({ kind }) => kind);
    this.#starts = slots.map(() => 0);
    this.#stops = slots.map(() => 0);
    this.#how = slots.map(() => 'plain');
  }

  /** Bytes of the shortest part of this shape, at least. */
  get length(): number {
    return this.#same.length;
  }

  /** The offset behind the part of this shape that begins at `from`; -1 where there is none, or not all of it before `to`. `view`: of `bytes`. */
  match(bytes: Buffer, view: DataView, from: number, to: number): number {
    const same = this.#same;
    const sameView = this.#sameView;
    const ends = this.#ends;
    if (to - from < same.length) return -1;
    const lastSlot = this.#kinds.length;
    let at = from;
    let i = 0;
    for (let slot = 0; ; slot++) {
      const end = ends[slot]!;
      if (to - at < end - i) return -1;
      // Four bytes at a time, then one by one.
      for (; end - i >= 4; i += 4, at += 4) if (view.getInt32(at, true) !== sameView.getInt32(i, true)) return -1;
      while (i < end) if (bytes[at++] !== same[i++]) return -1;
      if (slot === lastSlot) return at;
      at = this.#kinds[slot] === 'number' ? numberEnd(bytes, at, to) : this.#string(bytes, at, to, slot);
      if (at < 0) return -1;
    }
  }

  /** Counts the texts of the part that was matched last. */
  count(bytes: Buffer, answer: Answer): void {
    for (const slot of this.counted) {
      const [start, stop, how] = [this.#starts[slot]!, this.#stops[slot]!, this.#how[slot]!];
      if (how === 'plain') answer.moreAscii(bytes, start, stop);
      else if (how === 'escaped' && stop - start <= unescaped.length) answer.moreAscii(unescaped, 0, unescape(bytes, start, stop));
      else answer.more(how === 'wide' ? bytes.toString('utf8', start, stop) : (textOf(bytes, start, stop) ?? ''));
    }
    answer.outputPieces += this.pieces;
  }

  /** The end of the string whose inside begins at `start`, its quote not included; -1 where it is none, or an empty text. */
  #string(bytes: Buffer, start: number, to: number, slot: number): number {
    let at = start;
    let seen = ASCII;
    for (; at < to; at++) {
      const kind = IN_STRING[bytes[at]!]!;
      if (kind === STOP) {
        if (bytes[at] !== BACKSLASH || ESCAPES[bytes[at + 1] ?? 0] === 0) break;
        at++;
        seen |= ESCAPED;
      } else seen |= kind;
    }
    if (at < to && bytes[at] === BACKSLASH) {
      seen = OTHER;
      at = closingQuote(bytes, at, to);
      if (at < 0 || textOf(bytes, start, at) === null) return -1;
    }
    if (at >= to || bytes[at] !== QUOTE || (at === start && this.#kinds[slot] === 'text')) return -1;
    this.#starts[slot] = start;
    this.#stops[slot] = at;
    this.#how[slot] = HOW[seen]!;
    return at;
  }
}

/** Writes what ASCII with short escapes says into `unescaped`; returns its length. */
function unescape(bytes: Buffer, start: number, stop: number): number {
  let length = 0;
  for (let at = start; at < stop; at++) unescaped[length++] = bytes[at] === BACKSLASH ? ESCAPES[bytes[++at]!]! : bytes[at]!;
  return length;
}

function closingQuote(bytes: Buffer, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] !== QUOTE) {
    if (bytes[at]! < SMALL) return -1;
    at += bytes[at] === BACKSLASH ? 2 : 1;
  }
  return at < to ? at : -1;
}

/** What a string says; null where its escapes are wrong. */
function textOf(bytes: Buffer, start: number, end: number): string | null {
  const text = parseText(bytes.toString('utf8', start - 1, end + 1));
  return typeof text === 'string' ? text : null;
}

/** The end of the JSON number that begins at `start`; -1 where there is none. What follows it must be looked at by the caller. */
function numberEnd(bytes: Buffer, start: number, to: number): number {
  let at = start < to && bytes[start] === MINUS ? start + 1 : start;
  const whole = digitsEnd(bytes, at, to);
  if (whole === at || (bytes[at] === ZERO && whole > at + 1)) return -1;
  at = whole;
  if (at < to && bytes[at] === POINT) {
    const fraction = digitsEnd(bytes, at + 1, to);
    if (fraction === at + 1) return -1;
    at = fraction;
  }
  if (at >= to || (bytes[at]! | SMALL) !== SMALL_E) return at;
  const sign = bytes[at + 1];
  const power = at + (sign === PLUS || sign === MINUS ? 2 : 1);
  const powerEnd = digitsEnd(bytes, power, to);
  return powerEnd === power ? -1 : powerEnd;
}

function digitsEnd(bytes: Buffer, start: number, to: number): number {
  let at = start;
  while (at < to && bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
  return at;
}
