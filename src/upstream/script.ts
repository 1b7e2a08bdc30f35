import type { IncomingHttpHeaders } from 'node:http';

/** What a script gets to see. */
export interface ScriptRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body as JSON; undefined where it is none. */
  readonly json: unknown;
  /** 0 for the first request, and so on. */
  readonly index: number;
}

export type Encoding = 'gzip' | 'deflate' | 'br';

/** A piece of a body: bytes written in one go, or a pause (not scaled). */
export type Piece = string | Buffer | { readonly pauseMs: number };

/** An answer given piece by piece. */
export interface ScriptedAnswer {
  readonly kind: 'answer';
  /** Default 200. */
  readonly status?: number;
  /** Default: `content-type: text/event-stream`. A wrong `content-length` may be among them. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Compresses the pieces, each flushed, and says so in `content-encoding`. */
  readonly encoding?: Encoding;
  /** Before the headers are sent. */
  readonly firstByteMs?: number;
  /** May be endless. */
  readonly pieces: Iterable<Piece> | AsyncIterable<Piece>;
  /** What comes after the last piece: the proper end (default), silence, a closed or a reset connection. */
  readonly end?: 'end' | 'never' | 'close' | 'reset';
}

/** Bytes written to the socket instead of an HTTP answer; then the connection is closed. */
export interface RawAnswer {
  readonly kind: 'raw';
  readonly bytes: string | Buffer;
}

/** The simulated engine answers, but a little differently. */
export interface Tweaks {
  readonly kind: 'generate';
  /** Instead of the answer's own length; still bounded by the request's cap. */
  readonly outputTokens?: number;
  /** Told as `cached_tokens`; part of the prompt. */
  readonly cachedTokens?: number;
  /** The first so many tokens of an answer are reasoning. */
  readonly reasoningTokens?: number;
  /** How usage is told in a stream: as the request asked (default), never, in the finish chunk, or running in every chunk. */
  readonly usage?: 'as_asked' | 'none' | 'finish_chunk' | 'continuous';
  readonly encoding?: Encoding;
  /** Before the headers are sent, not scaled. */
  readonly firstByteMs?: number;
  /** After so many tokens of a stream: an error event inside the 200, or a reset connection. */
  readonly breakAfterTokens?: number;
  readonly breakWith?: 'error_event' | 'reset';
  readonly headers?: Readonly<Record<string, string>>;
}

/** Decides what happens to a request; null leaves it to the engine. */
export type Script = (request: ScriptRequest) => ScriptedAnswer | RawAnswer | Tweaks | null;

/** One server-sent event with this JSON, as bytes. */
export function sse(data: unknown): Buffer {
  return Buffer.from(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
}

/** Cuts bytes at these offsets (ascending): for events that arrive in awkward pieces. */
export function cutAt(bytes: Buffer, ...offsets: readonly number[]): Buffer[] {
  const bounds = [0, ...offsets, bytes.length];
  return bounds.slice(1).map((end, i) => bytes.subarray(bounds[i], end));
}
