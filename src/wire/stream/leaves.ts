import type { Json, JsonObject } from '../json/json.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;
const BLANK = 0x20;

/** Deeper parts have no leaves. */
const MAX_LEVELS = 40;

/** A string or a number in a JSON text. */
export interface Leaf {
  readonly value: string | number;
  /** Offsets in the bytes, those of a string without its quotes. */
  readonly start: number;
  readonly end: number;
  /** Somebody looked at it in a watched part. */
  read: boolean;
  /** What is told instead of its value to who looks at it in a watched part; null: the value. */
  mark: string | null;
}

/** The strings and numbers of a JSON object: where they stand in its text, and which of them somebody looks at. */
export class Leaves {
  readonly all: Leaf[] = [];
  readonly #members = new Map<object, Map<string, Leaf>>();

  /** `bytes`: holds the text from `start` on, valid JSON that `part` was parsed from. Null where a key comes twice, or it is deep. */
  static of(bytes: Buffer, start: number, part: JsonObject): Leaves | null {
    const leaves = new Leaves();
    return new Walk(bytes, start, leaves).value(part, null, '', 0) ? leaves : null;
  }

  /** Keeps a leaf, which is the member `key` of `parent`; false if there is one already. */
  add(parent: object, key: string, leaf: Leaf): boolean {
    let members = this.#members.get(parent);
    if (members === undefined) this.#members.set(parent, (members = new Map<string, Leaf>()));
    if (members.has(key)) return false;
    members.set(key, leaf);
    this.all.push(leaf);
    return true;
  }

  /** The part again, in a form that notes which leaves are looked at. */
  watched<T extends object>(part: T): T {
    const members = this.#members.get(part);
    return new Proxy(part, {
      get: (target, key): unknown => {
        const leaf = typeof key === 'string' ? members?.get(key) : undefined;
        if (leaf !== undefined) {
          leaf.read = true;
          return leaf.mark ?? leaf.value;
        }
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'object' && value !== null ? this.watched(value) : value;
      },
    });
  }
}

/** Walks over a JSON text and the value that was parsed from it at the same time. */
class Walk {
  constructor(
    readonly bytes: Buffer,
    public at: number,
    readonly leaves: Leaves,
  ) {}

  /** Walks over one value, which is a member of `parent`. False: give up. */
  value(value: Json, parent: object | null, key: string, level: number): boolean {
    if (level > MAX_LEVELS) return false;
    this.#blanks();
    const byte = this.bytes[this.at];
    if (byte === OPEN_OBJECT) return this.#object(value, level);
    if (byte === OPEN_LIST) return this.#list(value, level);
    const start = this.at;
    if (byte === QUOTE) this.#string();
    else this.#word();
    if (parent === null) return false;
    if (typeof value === 'string') return this.leaves.add(parent, key, { value, start: start + 1, end: this.at - 1, read: false, mark: null });
    return typeof value !== 'number' || this.leaves.add(parent, key, { value, start, end: this.at, read: false, mark: null });
  }

  #object(value: Json, level: number): boolean {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    const seen = new Set<string>();
    for (this.#step(); this.bytes[this.at] !== CLOSE_OBJECT; this.#comma()) {
      const key = this.#key();
      if (key === null || seen.has(key)) return false;
      seen.add(key);
      if (!this.value(value[key], value, key, level + 1)) return false;
    }
    this.at++;
    return true;
  }

  #list(value: Json, level: number): boolean {
    if (!Array.isArray(value)) return false;
    let index = 0;
    for (this.#step(); this.bytes[this.at] !== CLOSE_LIST; this.#comma()) {
      if (!this.value(value[index], value, String(index), level + 1)) return false;
      index++;
    }
    this.at++;
    return true;
  }

  /** Steps over the opening bracket. */
  #step(): void {
    this.at++;
    this.#blanks();
  }

  #comma(): void {
    this.#blanks();
    if (this.bytes[this.at] === COMMA) this.#step();
  }

  /** The key, with its colon behind; null for one with escapes, which no API writes. */
  #key(): string | null {
    const start = this.at + 1;
    this.#string();
    const key = this.bytes.toString('utf8', start, this.at - 1);
    this.#blanks();
    if (this.bytes[this.at] === COLON) this.at++;
    return key.includes('\\') ? null : key;
  }

  #string(): void {
    this.at++;
    while (this.at < this.bytes.length && this.bytes[this.at] !== QUOTE) this.at += this.bytes[this.at] === BACKSLASH ? 2 : 1;
    this.at++;
  }

  /** A number, or one of the three words. */
  #word(): void {
    for (let byte = this.bytes[this.at] ?? COMMA; byte > BLANK && byte !== COMMA && byte !== CLOSE_LIST && byte !== CLOSE_OBJECT; ) byte = this.bytes[++this.at] ?? COMMA;
  }

  #blanks(): void {
    while (this.at < this.bytes.length && this.bytes[this.at]! <= BLANK) this.at++;
  }
}
