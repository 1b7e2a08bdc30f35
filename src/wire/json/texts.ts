const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const UNICODE_ESCAPE_BYTES = 6;

/** Backslashes in a row that are counted to tell whether one is escaped: a longer row is taken for an even one, which costs a character. */
const MAX_ROW = 64;

/**
 * Stands at the start of a string that replaces a long one while a body is parsed: a character that JSON allows as it is. A client's
 * own string that begins with it is replaced as well, so that nothing can be forged.
 */
export const MARK = 0x7f;
/** A marker is the mark and a number. This is one within a JSON text; a key is never one. */
const MARKER_IN_JSON = /"\x7f([0-9]+)"(?!:)/;

/** What a marker stands for, where it lies in the body. */
export type Long = LongText | NumberList;

/** A long string, still as it lies in the body: in UTF-8 and with JSON's escapes. */
export class LongText {
  /** `start` and `end`: between the quotes. `asJson`: it is shown as a JSON text, with escapes where JSON needs them. */
  constructor(
    readonly bytes: Buffer,
    readonly start: number,
    readonly end: number,
    readonly asJson = false,
  ) {}

  /** In bytes, as it is written. */
  get length(): number {
    return this.end - this.start;
  }

  /**
   * The text that is written from byte `from` (inclusive) to `to` (exclusive) of its `length`, both moved on to where a character
   * begins. A string with a wrong escape or a control character, which no upstream takes, stays as it is written.
   */
  text(from = 0, to = this.length): string {
    return this.#between(this.#boundary(from), this.#boundary(to));
  }

  /** All of the text, about so many bytes of what is written at once. */
  *inChunks(bytes: number): Generator<string> {
    for (let start = this.start; start < this.end; ) {
      // A chunk begins at a character, so a row of backslashes need not be followed farther back.
      const end = start + bytes < this.end ? Math.min(this.end, characterFrom(this.bytes, start, start + bytes, bytes)) : this.end;
      yield this.#between(start, end);
      start = end;
    }
  }

  #between(start: number, end: number): string {
    const decoded = decode(this.bytes, start, end);
    return this.asJson ? JSON.stringify(decoded).slice(1, -1) : decoded;
  }

  /** Whether any of it is written with escapes. */
  get hasEscapes(): boolean {
    return this.bytes.subarray(this.start, this.end).includes(BACKSLASH);
  }

  #boundary(offset: number): number {
    if (offset <= 0) return this.start;
    return offset >= this.length ? this.end : Math.min(this.end, characterFrom(this.bytes, this.start, this.start + offset, MAX_ROW));
  }
}

/** A list of many numbers, still as it lies in the body. */
export class NumberList {
  constructor(
    readonly bytes: Buffer,
    readonly start: number,
    readonly end: number,
    /** How many numbers. */
    readonly count: number,
  ) {}

  /** In bytes, as it is written. */
  get length(): number {
    return this.end - this.start;
  }

  /** All of it, so many bytes at once. */
  *inChunks(bytes: number): Generator<string> {
    for (let from = 0; from < this.length; from += bytes) yield this.text(from, Math.min(this.length, from + bytes));
  }

  /** What is written there, without blanks; numbers are in the client's own form. */
  text(from = 0, to = this.length): string {
    return this.bytes.toString('latin1', this.start + from, this.start + to).replace(/[ \t\r\n]+/g, '');
  }
}

/** The long strings and lists of one body. */
export class Texts {
  /** In the order of their numbers. */
  constructor(private readonly entries: readonly Long[]) {}

  /** What a string of the parsed body stands for; null where it stands for itself. */
  find(value: string): Long | null {
    if (value.charCodeAt(0) !== MARK || this.entries.length === 0) return null;
    return this.entries[Number(value.slice(1))] ?? null;
  }

  /** Cuts a JSON text (of parsed values) into pieces: what stands in it, and what its markers stand for. */
  inJson(json: string): (string | Long)[] {
    if (this.entries.length === 0) return [json];
    const pieces: (string | Long)[] = [];
    const parts = json.split(MARKER_IN_JSON);
    for (let i = 0; i < parts.length; i += 2) {
      pieces.push(parts[i]!);
      const entry = this.entries[Number(parts[i + 1] ?? NaN)];
      if (entry instanceof LongText) pieces.push('"', new LongText(entry.bytes, entry.start, entry.end, true), '"');
      else if (entry !== undefined) pieces.push(entry);
    }
    return pieces;
  }
}

/** Of a body that was parsed as it is. */
export const NO_TEXTS = new Texts([]);

/** A string whose real content is not known to the parsers of requests: longer than any name that they keep. */
export function isMarker(value: string): boolean {
  return value.charCodeAt(0) === MARK;
}

function decode(bytes: Buffer, start: number, end: number): string {
  const raw = bytes.toString('utf8', start, end);
  if (!raw.includes('\\')) return raw;
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return raw;
  }
}

/** The first place from `at` on where a character begins: not inside one of UTF-8, nor inside an escape. */
function characterFrom(bytes: Buffer, start: number, at: number, maxRow: number): number {
  let i = at;
  while ((bytes[i]! & 0xc0) === 0x80) i++;
  for (let back = i - 1; back >= start && back > i - UNICODE_ESCAPE_BYTES; back--) {
    if (bytes[back] !== BACKSLASH) continue;
    let first = back;
    while (first > start && back - first < maxRow && bytes[first - 1] === BACKSLASH) first--;
    if ((back - first) % 2 === 0) i = Math.max(i, back + (bytes[back + 1] === LETTER_U ? UNICODE_ESCAPE_BYTES : 2));
    break;
  }
  return isSecondHalf(bytes, i) ? i + UNICODE_ESCAPE_BYTES : i;
}

/** Whether the escape that begins here is the second of the two that a character beyond the first 65,536 is written with. */
function isSecondHalf(bytes: Buffer, at: number): boolean {
  return bytes[at] === BACKSLASH && /^\\u[dD][c-fC-F]/.test(bytes.toString('latin1', at, at + 4));
}
