import type { ReaderOptions, ResponseReader } from '../../domain/wire.js';
import { Gathered } from './gathered.js';
import { parseObject, parseText, type Json, type JsonObject } from '../json/json.js';
import { bomLength, findMember, skipBlank } from '../json/scan.js';
import type { Answer } from './answer.js';
import { SseReader } from './sse-reader.js';

/** The longest JSON body that is read, in bytes; a longer one passes unread. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

const NOTHING = Buffer.alloc(0);

/** A reader for answers of an API, however they are framed. `answer`: takes the parts. */
export function responseReader(answer: Answer, { framing, hideUsage }: ReaderOptions): ResponseReader {
  return framing === 'sse' ? new SseReader(answer, hideUsage) : new BodyReader(answer);
}

/** Reads an answer that is one JSON body; it can be read only once it is whole. */
class BodyReader implements ResponseReader {
  readonly #body = new Gathered(MAX_BODY_BYTES);

  constructor(readonly reading: Answer) {}

  push(chunk: Buffer): Buffer {
    this.#body.add(chunk);
    this.reading.unreadable ||= this.#body.overflowed;
    return chunk;
  }

  end(): Buffer {
    if (this.#body.size === 0 || this.#body.overflowed) return NOTHING;
    const body = this.#body.with(NOTHING);
    this.#body.clear();
    const parsed = parseObject(body);
    const told = parsed.ok ? parsed.value : parsed.fault.kind === 'too_many' ? outlineOf(body) : null;
    if (told !== null) this.reading.take(told, null);
    this.reading.complete = told !== null;
    this.reading.unreadable = told === null || (!parsed.ok && this.reading.usage === null);
    return NOTHING;
  }
}

/** Members that tell what an answer cost, all of them short. */
const OUTLINE = ['model', 'service_tier', 'usage', 'timings', 'error'];
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
