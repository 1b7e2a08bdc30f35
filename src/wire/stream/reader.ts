import type { ReaderOptions, ResponseReader } from '../../domain/wire.js';
import type { Answer } from './answer.js';
import { BodyReader } from './body-reader.js';
import { EventStreamReader } from './eventstream-reader.js';
import { LinesReader } from './lines-reader.js';
import { SseReader } from './sse-reader.js';

/** A reader for answers of an API, however they are framed. `answer`: takes the parts. */
export function responseReader(answer: Answer, { framing, hideUsage }: ReaderOptions): ResponseReader {
  switch (framing) {
    case 'sse':
      return new SseReader(answer, hideUsage);
    case 'ndjson':
      return new LinesReader(answer);
    case 'eventstream':
      return new EventStreamReader(answer);
    case 'json':
      return new BodyReader(answer);
  }
}
