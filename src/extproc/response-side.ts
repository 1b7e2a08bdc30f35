import type { Exchange, ResponseVerdict } from '../admission/exchange.js';
import type { HeaderEdits, ResponseHead } from '../admission/head.js';
import type { AccessLogFacts } from '../admission/record.js';
import type { EndReason } from '../domain/pool.js';
import type { Clock } from '../lib/clock.js';
import { codingsOf, createDecoder, type Decoder } from './content-coding.js';
import type { BodyModes } from './modes.js';
import type { Reply } from './protocol.js';
import { EarlyEnd, withFacts } from './early-end.js';
import { bodyReply, duplexChunk, headersReply, trailersReply, withWholeAnswer } from './replies.js';

const NOTHING = Buffer.alloc(0);

/** Answers are decoded only to be read: more than this in one answer is no LLM's text. */
const MAX_DECODED_BYTES = 256 * 1024 * 1024;

/** What an answer is surrounded by. */
export interface ResponseSurroundings {
  readonly send: (reply: Reply) => void;
  readonly fault: (error: unknown) => void;
  readonly clock: Clock;
}

/** The response half of a session: shows the exchange every byte, and sends on what the client gets. */
export class ResponseSide {
  #verdict: ResponseVerdict = { edits: { set: [], remove: [] }, read: false, rewrites: false, atOnce: false };
  #decoder: Decoder | null = null;
  #ended = false;
  /** Ends the answer before its upstream does, where the pool wants that. */
  readonly #early: EarlyEnd;
  /** Decoding is asynchronous: everything behind a decoder happens in this order. */
  #tail: Promise<void> = Promise.resolve();

  constructor(
    private readonly exchange: Exchange,
    private readonly modes: BodyModes,
    private readonly envoy: ResponseSurroundings,
    /** In shadow: the decision, while it is not made yet. The traffic does not wait for it, the reading does. */
    private readonly undecided: Promise<void> | null,
  ) {
    this.#early = new EarlyEnd(exchange, modes.response === 'duplex' ? 'duplex' : 'chunks', envoy);
  }

  headers(response: ResponseHead): void {
    if (this.undecided !== null) {
      this.#headersBeside(response, this.undecided);
      return;
    }
    this.#open(response);
    const reply = headersReply('response', this.#headerEdits(response));
    if (response.endOfStream) this.envoy.send(withFacts(reply, this.#finish().facts));
    else this.envoy.send(this.#verdict.atOnce && this.modes.response === 'chunks' ? withWholeAnswer(reply) : reply);
  }

  /**
   * The pool needs the room: a stream is ended, with an error as its last event where the client's bytes have a place for one. What is no
   * stream is let run to its end: it was made before it came.
   */
  end(why: EndReason): void {
    if (this.#ended || this.modes.response === 'none' || this.undecided !== null || !this.exchange.endable) return;
    // Behind the upstream's own compressed bytes nothing can be put; what passed until now is still read.
    const compressed = this.#decoder !== null && !this.#verdict.rewrites;
    if (compressed) this.#ended = true;
    this.#early.begin(why, (step) => {
      if (this.#inOrderOnly) this.#inOrder(step);
      else step();
    }, compressed);
  }

  body(chunk: Buffer, endOfStream: boolean): void {
    if (this.#ended || this.#early.over) return;
    this.#ended = endOfStream;
    if (this.#inOrderOnly) this.#bodyInOrder(chunk, endOfStream);
    else if (this.#early.wanted && !endOfStream) this.#early.within(chunk, chunk);
    else this.#sendOn(chunk, this.#read(chunk), endOfStream);
  }

  trailers(): void {
    if (this.#early.over) return;
    this.#ended = true;
    this.#inOrder(async () => {
      if (this.#early.over) return;
      const decodedRest = this.#read(await this.#decodedEnd());
      const { rest, facts } = this.#finish();
      const out = this.#verdict.rewrites ? Buffer.concat([decodedRest, rest]) : NOTHING;
      if (out.length > 0 && this.modes.response === 'duplex') this.envoy.send(duplexChunk('response', out, false));
      this.envoy.send(withFacts(trailersReply('response'), facts));
    });
  }

  /** The stream is gone: what is still being decoded is read to its end, then the exchange is closed. */
  close(): void {
    this.#early.gone();
    if (!this.#inOrderOnly) {
      this.exchange.close();
      return;
    }
    this.#inOrder(async () => {
      if (!this.#ended) this.#read(await this.#decodedEnd());
      this.#decoder?.close();
    });
    this.#inOrder(() => {
      this.exchange.close();
    });
  }

  /** Resolves when all that came until now was read. */
  get upToDate(): Promise<void> {
    return this.#tail;
  }

  /** Reading lags behind the traffic. */
  get #inOrderOnly(): boolean {
    return this.#decoder !== null || this.undecided !== null;
  }

  #headersBeside(response: ResponseHead, undecided: Promise<void>): void {
    this.envoy.send(headersReply('response', this.#verdict.edits));
    this.#inOrder(async () => {
      await undecided;
      this.#open(response);
      if (response.endOfStream) this.#finish();
    });
  }

  #open(response: ResponseHead): void {
    this.#verdict = this.exchange.respond(response, this.modes.response !== 'none');
    if (!this.#verdict.read) return;
    const codings = codingsOf(response.headers.get('content-encoding'));
    if (codings === null) {
      this.exchange.unreadable(new Error('unknown content-encoding of an answer'));
      this.#verdict = { ...this.#verdict, read: false, rewrites: false };
    } else if (codings.length > 0) {
      this.#decoder = createDecoder(codings, MAX_DECODED_BYTES);
    }
  }

  #headerEdits({ headers }: ResponseHead): HeaderEdits {
    const { edits, rewrites } = this.#verdict;
    if (!rewrites) return edits;
    const changed = this.#decoder === null ? ['content-length'] : ['content-length', 'content-encoding'];
    return { set: edits.set, remove: [...edits.remove, ...changed.filter((name) => headers.has(name))] };
  }

  #read(decoded: Buffer): Buffer {
    return this.#verdict.read && decoded.length > 0 ? this.exchange.push(decoded) : decoded;
  }

  #finish(): { rest: Buffer; facts: AccessLogFacts } {
    this.#early.cancel();
    return this.exchange.finish();
  }

  /** `shown` is what the client gets of this chunk, before the end adds what was held back. */
  #sendOn(chunk: Buffer, shown: Buffer, endOfStream: boolean): void {
    const end = endOfStream ? this.#finish() : null;
    const out = end !== null && end.rest.length > 0 ? Buffer.concat([shown, end.rest]) : shown;
    const reply = this.#chunkReply(chunk, out, endOfStream);
    if (reply !== null) this.envoy.send(end === null ? reply : withFacts(reply, end.facts));
  }

  #chunkReply(chunk: Buffer, out: Buffer, endOfStream: boolean): Reply | null {
    if (this.modes.response !== 'duplex') return bodyReply('response', out === chunk ? null : out);
    return out.length > 0 || endOfStream ? duplexChunk('response', out, endOfStream) : null;
  }

  /**
   * Where the client gets the upstream's own bytes they go on at once, and are read beside; else reading comes first. The
   * last chunk waits for its decoding, since the facts for the access log go with it, but never for a decision.
   */
  #bodyInOrder(chunk: Buffer, endOfStream: boolean): void {
    const { rewrites } = this.#verdict;
    const atOnce = !rewrites && !(endOfStream && this.undecided === null);
    if (atOnce) {
      const reply = this.#chunkReply(chunk, chunk, endOfStream);
      if (reply !== null) this.envoy.send(endOfStream ? withFacts(reply, this.exchange.facts()) : reply);
    }
    this.#inOrder(async () => {
      if (this.#early.over) return;
      const decoder = this.#decoder;
      const decoded = decoder === null ? chunk : await this.#decoded(() => decoder.push(chunk), chunk);
      if (this.#early.wanted && rewrites && !endOfStream) {
        this.#early.within(chunk, decoded);
        return;
      }
      const last = endOfStream ? await this.#decodedEnd() : NOTHING;
      const shown = this.#read(last.length > 0 ? Buffer.concat([decoded, last]) : decoded);
      if (rewrites) this.#sendOn(chunk, shown, endOfStream);
      else if (!atOnce) this.#sendOn(chunk, chunk, endOfStream);
      else if (endOfStream) this.#finish();
    });
  }

  #decodedEnd(): Promise<Buffer> {
    return this.#decoded(() => this.#decoder?.end() ?? Promise.resolve(NOTHING));
  }

  /** Bytes that are not of the coding they claim are the upstream's fault: they pass as they came. */
  async #decoded(decode: () => Promise<Buffer>, asItCame: Buffer = NOTHING): Promise<Buffer> {
    try {
      return await decode();
    } catch (error) {
      this.exchange.unreadable(error);
      return asItCame;
    }
  }

  #inOrder(step: () => Promise<void> | void): void {
    this.#tail = this.#tail.then(step).catch(this.envoy.fault);
  }
}
