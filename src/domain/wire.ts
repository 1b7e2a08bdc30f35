import type { TextFeatures } from '../lib/text-features.js';
import type { EndReason } from './pool.js';
import type { LocalAnswer, Refusal } from './refusal.js';
import type { Api, ParsedRequest, PromptSink, Splice } from './request.js';
import type { Usage, UsageLine } from './usage.js';

/** What a response told up to now. */
export interface ResponseReading {
  /** The upstream's own figures, last value wins field by field; null while it told none. */
  readonly usage: Usage | null;
  /** Lines of the bill where it names several models (a model that asked another one); null: `usage` is all of one model. */
  readonly lines: readonly UsageLine[] | null;
  /** Id of the answer, by which later requests may refer to it; null while unknown. */
  readonly responseId: string | null;
  /** Model that answered, as the response names it; null while unknown. */
  readonly model: string | null;
  readonly serviceTier: string | null;
  /** Counts of all output text seen: content, reasoning, tool-call arguments. */
  readonly output: Readonly<TextFeatures>;
  /** Pieces in which the output came: chunks with some of it, for each choice. */
  readonly outputPieces: number;
  /** At least one piece of output came. */
  readonly sawOutput: boolean;
  /** The response carried an error object (also in a 200). */
  readonly sawError: boolean;
  /** The response reached its own end (`[DONE]`, or a whole JSON body). */
  readonly complete: boolean;
  /** Something in it could not be read (garbage, too long for the reader); the bytes were passed all the same. */
  readonly unreadable: boolean;
}

/** An answer that we end before its upstream does. */
export interface StreamEnding {
  readonly requestId: string;
  /** A sentence for the person who reads the client's log. */
  readonly message: string;
  readonly why: EndReason;
}

/** How an API tells in the middle of a stream that it failed. */
export interface EndEvent {
  /** `event` of a server-sent event; null where the API names none. */
  readonly name: string | null;
  /** `:exception-type` of a frame; null where the API's streams are no frames. */
  readonly exception: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads one response as it passes. */
export interface ResponseReader {
  /**
   * Takes the next decoded bytes, cut anywhere. Returns what the client gets of the bytes taken so far: the chunk itself
   * (same object) unless something is hidden or held back.
   */
  push(chunk: Buffer): Buffer;
  /** The response ended: returns what was still held back. */
  end(): Buffer;
  /** The client has the beginning of an event (a line, a frame, a part of a list) and not its end: another one put there would be taken for a part of it. */
  readonly midEvent: boolean;
  /**
   * What, put behind the bytes that the client got until now, ends the answer with an error that its parser understands. Null where nothing
   * can be put there: within a frame, or within a part of a list. Nothing is pushed any more after it.
   */
  endWith(event: EndEvent): Buffer | null;
  readonly reading: ResponseReading;
}

/** How an answer's body is framed: one JSON value (or a list of events), server-sent events, a JSON value a line, AWS event stream. */
export type Framing = 'json' | 'sse' | 'ndjson' | 'eventstream';

export interface ReaderOptions {
  /** By the body's content type. */
  readonly framing: Framing;
  /** Hide the usage event that our own splice caused. */
  readonly hideUsage: boolean;
}

/** One API's three parts: request facts, usage reader, refusal in its own shape. What the path tells (model, stream) is bound into it. */
export interface WireApi {
  readonly api: Api;
  /** Never throws, whatever the bytes. Linear in the body's length. `sink`: takes the prompt's text where placement wants it. */
  parseRequest(body: Buffer, sink?: PromptSink): ParsedRequest;
  /** Edits that make a streamed request ask for usage; empty where it does already, or where the API always tells. Only for a body that parsed. */
  askForUsage(body: Buffer): readonly Splice[];
  responseReader(options: ReaderOptions): ResponseReader;
  /** What the headers of an answer tell of its cost, where an API has such; its body, where it tells more, goes before. Names are lower-case. */
  readonly usageFromHeaders?: (headers: ReadonlyMap<string, string>) => Usage | null;
  refuse(refusal: Refusal): LocalAnswer;
  /** The last event of a stream that is ended: an error in the API's own words, which its official clients raise. */
  endEvent(ending: StreamEnding): EndEvent;
}
