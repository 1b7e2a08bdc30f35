import type { EndEvent, ResponseReader } from '../../domain/wire.js';
import { parseObject, parseText, type Json, type JsonObject } from '../json/json.js';
import { bomLength, findMember, skipBlank } from '../json/scan.js';
import type { Answer } from './answer.js';
import { partEnd } from './ending.js';
import { Gathered } from './gathered.js';
import { ListSplitter } from './list-splitter.js';

/** The longest JSON body, or part of a list that is one, that is read, in bytes; a longer one passes unread. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

const NOTHING = Buffer.alloc(0);
const OPEN_LIST = 0x5b;
const COMMA = 0x2c;
const BLANK = 0x20;
/** Bytes of a byte order mark. */
const MARK: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf]);

/**
 * Reads an answer that is one JSON body. An object can be read only once it is whole; a list, which Gemini sends while it generates,
 * part by part: what a cut one told counts.
 */
export class BodyReader implements ResponseReader {
  /** The body, or the part of the list that is not whole yet. */
  readonly #body = new Gathered(MAX_BODY_BYTES);
  /** Undefined while nothing but blanks came; null: the body is no list. */
  #list: ListSplitter | null | undefined = undefined;
  /** The last byte that is no blank. */
  #last = BLANK;

  constructor(readonly reading: Answer) {}

  push(chunk: Buffer): Buffer {
    let at = 0;
    if (this.#list === undefined) at = this.#open(chunk);
    if (this.#list instanceof ListSplitter) this.#parts(this.#list, chunk, at);
    else this.#gather(chunk, 0, chunk.length);
    let last = chunk.length - 1;
    while (last >= 0 && chunk[last]! <= BLANK) last--;
    if (last >= 0) this.#last = chunk[last]!;
    return chunk;
  }

  get midEvent(): boolean {
    return this.#body.size > 0;
  }

  /** Only a list has a place for an error; one that is closed is whole. */
  endWith(event: EndEvent): Buffer | null {
    if (this.#list === undefined) return partEnd(event, '[');
    if (this.#list === null || this.#list.closed || this.midEvent) return null;
    return partEnd(event, this.#last === OPEN_LIST || this.#last === COMMA ? '' : ',');
  }

  end(): Buffer {
    if (this.#list instanceof ListSplitter) {
      if (this.#body.size > 0) this.reading.unreadable = true;
      this.reading.complete = (this.#list.closed && !this.reading.unreadable) || this.reading.endsWhole();
    } else if (this.#body.size > 0 && !this.#body.overflowed) {
      const told = this.#take(this.#body.whole);
      this.reading.complete = told;
    }
    this.#body.clear();
    return NOTHING;
  }

  /** Looks what the body is; returns where the first part of a list may begin. */
  #open(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length && (chunk[at]! <= BLANK || MARK.has(chunk[at]!))) at++;
    if (at === chunk.length) return at;
    const isList = chunk[at] === OPEN_LIST;
    this.#list = isList ? new ListSplitter() : null;
    if (isList) this.#body.clear();
    return at + 1;
  }

  #parts(list: ListSplitter, chunk: Buffer, from: number): void {
    let at = from;
    while (at < chunk.length) {
      const start = list.begin(chunk, at);
      if (start < 0) return;
      const end = list.end(chunk, start);
      this.#gather(chunk, start, end < 0 ? chunk.length : end);
      if (end < 0) return;
      if (!this.#body.overflowed) this.#take(this.#body.whole);
      this.#body.clear();
      at = end;
    }
  }

  #gather(chunk: Buffer, start: number, end: number): void {
    this.#body.add(chunk, start, end);
    this.reading.unreadable ||= this.#body.overflowed;
  }

  /** Reads a body, or one part of a list; true if it told something. */
  #take(body: Buffer): boolean {
    const parsed = parseObject(body);
    const told = parsed.ok ? parsed.value : parsed.fault.kind === 'too_many' ? outlineOf(body) : null;
    if (told !== null) this.reading.take(told, null);
    if (told === null || (!parsed.ok && this.reading.usage === null)) this.reading.unreadable = true;
    return told !== null;
  }
}

/** Members that tell what an answer cost, all of them short. */
const OUTLINE = ['model', 'service_tier', 'usage', 'usageMetadata', 'timings', 'error'];
const MAX_MEMBER_BYTES = 64 * 1024;

/** What a body with very many parts tells beside its choices: log probabilities, which a client may ask for, are hundreds a token. */
function outlineOf(body: Buffer): JsonObject {
  const start = skipBlank(body, bomLength(body));
  const members = OUTLINE.map((name): [string, Json] => {
    const span = findMember(body, start, name);
    const short = span !== null && span.end - span.start <= MAX_MEMBER_BYTES;
    return [name, short ? parseText(body.toString('utf8', span.start, span.end)) : undefined];
  });
  return Object.fromEntries(members);
}
