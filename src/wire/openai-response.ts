import type { ReaderOptions, ResponseReader } from '../domain/wire.js';
import { Gathered } from './gathered.js';
import { parseObject } from './json.js';
import { OpenAiAnswer } from './openai-answer.js';
import { OpenAiStreamReader } from './openai-stream.js';

/** The longest JSON body that is read, in bytes; a longer one passes unread. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

const NOTHING = Buffer.alloc(0);

/** A reader for answers of chat completions and completions, streamed or not. */
export function openAiResponseReader(options: ReaderOptions): ResponseReader {
  return options.framing === 'sse' ? new OpenAiStreamReader(options.hideUsage) : new OpenAiBodyReader();
}

/** Reads an answer that is one JSON body; it can be read only once it is whole. */
class OpenAiBodyReader implements ResponseReader {
  readonly reading = new OpenAiAnswer();
  readonly #body = new Gathered(MAX_BODY_BYTES);

  push(chunk: Buffer): Buffer {
    this.#body.add(chunk);
    this.reading.unreadable ||= this.#body.overflowed;
    return chunk;
  }

  end(): Buffer {
    if (this.#body.size === 0 || this.#body.overflowed) return NOTHING;
    const parsed = parseObject(this.#body.with(NOTHING));
    this.#body.clear();
    if (parsed.ok) this.reading.take(parsed.value);
    this.reading.complete = parsed.ok;
    this.reading.unreadable = !parsed.ok;
    return NOTHING;
  }
}
