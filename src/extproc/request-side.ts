import type { Exchange, BodyVerdict } from '../admission/exchange.js';
import type { HeaderEdits } from '../admission/head.js';
import { NO_EDITS } from '../admission/head.js';
import type { LocalAnswer } from '../domain/refusal.js';
import { applySplices } from '../wire/json/splice.js';
import { CollectedBody } from './collected-body.js';
import { decodeWhole } from './content-coding.js';
import type { BodyModes } from './modes.js';
import type { Reply } from './protocol.js';
import { bodyReply, duplexChunk, headersReply, immediateReply, moreTime, trailersReply, withMetadata } from './replies.js';
import { withBodiesBeside, withBodiesUnseen } from './request-modes.js';
import { toMetadata } from './struct.js';

const DUPLEX_PIECE_BYTES = 256 * 1024;
/** A compressed body may inflate to so many times its length, or to this many bytes: text does not, and 27 bytes of brotli may hold 16 MB. */
const MOST_INFLATED = 200;
const ALWAYS_INFLATED_BYTES = 1024 * 1024;
/** What a held request's message is given beyond its hold, in milliseconds: its end may be told late. */
const HOLD_MARGIN_MS = 15_000;
/** No filter allows more. */
const MOST_TIME_MS = 3_600_000;

/**
 * The request half of a session.
 * `reading`: everything waits for the decision. `observing` (shadow): everything passes at once and is looked at beside.
 * `passing`: forwarded, nothing is looked at any more. `answered`: the client got our answer, nothing may follow.
 */
type State = 'reading' | 'deciding' | 'observing' | 'passing' | 'answered';

interface Judged {
  readonly body: Buffer;
  readonly decoded: boolean;
}

export class RequestSide {
  #state: State = 'passing';
  #body = new CollectedBody(0);
  /** The body as it is judged, and whether that is another one than came; null where it is not needed any more. */
  #judged: Judged | null = null;
  #ended = false;
  #trailersPending = false;
  #observed: Promise<void> | null = null;

  constructor(
    private readonly exchange: Exchange,
    private readonly modes: BodyModes,
    /** `content-encoding` of the body. */
    private readonly encoding: string | undefined,
    private readonly envoy: { readonly send: (reply: Reply) => void; readonly letGo: () => void },
  ) {}

  /** Nothing has left for the upstream, and nothing was answered. */
  get undecided(): boolean {
    return this.#state === 'reading' || this.#state === 'deciding';
  }

  /** In shadow: the decision, while it is being made beside the traffic. */
  get observed(): Promise<void> | null {
    return this.#observed;
  }

  /** Envoy has answered the client on its own meanwhile: whatever is decided now, nothing is sent. */
  abandon(): void {
    this.#state = 'answered';
    this.#release();
  }

  /** The pool took it back, before its answer began: the client gets this, whatever was decided or is on its way. */
  takeBack(answer: LocalAnswer): void {
    if (this.#state !== 'answered') this.#answer(answer);
  }

  headers(): void {
    const verdict = this.exchange.begin();
    switch (verdict.kind) {
      case 'pass':
        this.#pass(verdict.edits);
        return;
      case 'answer':
        this.#answer(verdict.answer);
        return;
      case 'read_body':
        this.#body = new CollectedBody(verdict.maxBytes);
        this.#state = verdict.observeOnly ? 'observing' : 'reading';
        // Envoy buffers only once it has this reply, and keeps the headers back until the body is answered. In duplex
        // mode the reply itself lets the headers go, so it waits for the decision.
        if (verdict.observeOnly) this.envoy.send(this.#withModes(withBodiesBeside));
        else if (this.modes.request === 'whole') this.envoy.send(headersReply('request', NO_EDITS));
    }
  }

  /** The facts go with it: no later message may come. */
  #pass(edits: HeaderEdits): void {
    this.envoy.send(withMetadata(this.#withModes(withBodiesUnseen, edits), toMetadata('tokenweir', this.exchange.facts())));
  }

  /** A reply to the headers, with other modes where they can be chosen: not in FULL_DUPLEX. */
  #withModes(choose: (reply: Reply) => Reply, edits: HeaderEdits = NO_EDITS): Reply {
    const reply = headersReply('request', edits);
    return this.modes.request === 'whole' && this.modes.response !== 'duplex' ? choose(reply) : reply;
  }

  /** Not an async function: one that waits for the decision would keep the bytes for as long. */
  body(chunk: Buffer, endOfStream: boolean): Promise<void> | undefined {
    // Envoy may send the last chunk of a duplex stream twice (envoyproxy/envoy#46237); a second reply would be spurious.
    if (this.#state === 'answered' || this.#ended) return undefined;
    this.#ended = endOfStream;
    const whole = endOfStream || this.modes.request === 'whole';
    switch (this.#state) {
      case 'passing':
        this.#passOn(chunk, endOfStream);
        return undefined;
      case 'observing':
        this.#passOn(chunk, endOfStream);
        this.#body.add(chunk);
        return endOfStream ? this.#observe() : undefined;
      case 'reading':
        this.#body.add(chunk);
        return whole || this.#body.overflowed ? this.#decide() : undefined;
      case 'deciding':
        // Bytes after the size bound was hit: the answer is on its way.
        return undefined;
    }
  }

  async trailers(): Promise<void> {
    switch (this.#state) {
      case 'answered':
        return;
      case 'reading':
        this.#trailersPending = true;
        await this.#decide();
        return;
      case 'deciding':
        this.#trailersPending = true;
        return;
      case 'observing':
        this.envoy.send(trailersReply('request'));
        await this.#observe();
        return;
      case 'passing':
        this.envoy.send(trailersReply('request'));
    }
  }

  /** The answer begins: what is only observed is looked at now, even where the rest of its body was not shown. */
  async responded(): Promise<void> {
    if (this.#state === 'observing') await this.#observe();
  }

  #passOn(chunk: Buffer, endOfStream: boolean): void {
    if (this.modes.request === 'whole') this.envoy.send(bodyReply('request', null));
    else if (chunk.length > 0 || endOfStream) this.envoy.send(duplexChunk('request', chunk, endOfStream));
  }

  /** Shadow: the traffic has gone on; this only takes note. */
  #observe(): Promise<void> {
    this.#state = 'passing';
    this.#observed = this.#verdict().then(() => {
      this.#release();
      this.#observed = null;
    });
    return this.#observed;
  }

  async #decide(): Promise<void> {
    this.#state = 'deciding';
    const verdict = await this.#verdict();
    // The client, or Envoy, may have ended it meanwhile.
    if (this.#state !== 'deciding' || verdict === null) {
      this.#release();
      return;
    }
    if (verdict.kind === 'answer') {
      this.#answer(verdict.answer);
      return;
    }
    this.#state = 'passing';
    this.#goOn(verdict);
    this.#release();
  }

  /** What goes on is what was judged, unless a signature covers it: a server that ignores the encoding, or decodes it otherwise, could read another request in it. */
  #goOn({ asItCame, splices, edits }: Extract<BodyVerdict, { kind: 'forward' }>): void {
    const judged = this.#judged;
    if (judged !== null && !asItCame && (judged.decoded || splices.length > 0)) this.#forwardEdited(applySplices(judged.body, splices), edits);
    else this.#forward(null, edits);
  }

  /** Null where it was ended before it could be judged. */
  #verdict(): Promise<BodyVerdict | null> {
    return this.encoding === undefined || this.#body.overflowed ? this.#verdictAtOnce() : this.#verdictOfEncoded(this.encoding);
  }

  #verdictAtOnce(): Promise<BodyVerdict | null> {
    const { maxBytes, overflowed } = this.#body;
    if (overflowed) return Promise.resolve(this.#tooLarge(maxBytes));
    this.#judged = { body: this.#body.whole(), decoded: false };
    return this.#judge() ?? Promise.resolve(null);
  }

  async #verdictOfEncoded(encoding: string): Promise<BodyVerdict | null> {
    return (await this.#read(encoding)) ?? this.#judge();
  }

  /** Not an async function, as `body`. */
  #judge(): Promise<BodyVerdict> | null {
    if (this.#judged === null) return null;
    return this.exchange.decide(this.#judged.body, (maxWaitMs, bodyNeeded) => {
      this.#hold(maxWaitMs, bodyNeeded);
    });
  }

  /** The request waits. Where the body is buffered, Envoy has it: ours is let go unless it is to be edited. */
  #hold(maxWaitMs: number, bodyNeeded: boolean): void {
    if (this.#state !== 'deciding') return;
    const buffered = this.modes.request === 'whole';
    if (buffered) this.envoy.send(moreTime(Math.min(MOST_TIME_MS, maxWaitMs + HOLD_MARGIN_MS)));
    if (bodyNeeded || this.#judged?.decoded !== false) return;
    this.#judged = null;
    if (!buffered) return;
    this.#body.clear();
    this.envoy.letGo();
  }

  #release(): void {
    this.#body.clear();
    this.#judged = null;
  }

  /** Makes an encoded body ready to be judged. @returns what is to be done instead where it can't be. */
  async #read(encoding: string): Promise<BodyVerdict | null> {
    const body = this.#body.whole();
    const mostBytes = Math.min(this.#body.maxBytes, Math.max(ALWAYS_INFLATED_BYTES, body.length * MOST_INFLATED));
    const plain = await decodeWhole(body, encoding, mostBytes);
    if (plain.ok) {
      this.#judged = { body: plain.body, decoded: plain.body !== body };
      return null;
    }
    return plain.why === 'too_large' ? this.#tooLarge(mostBytes) : this.#badEncoding(plain.why);
  }

  #tooLarge(mostBytes: number): BodyVerdict {
    const message = `The request body is larger than the ${mostBytes} bytes that are read here.`;
    return this.exchange.rejectBody({ kind: 'body_too_large', field: null, message });
  }

  #badEncoding(why: 'unsupported' | 'corrupt'): BodyVerdict {
    const name = JSON.stringify((this.encoding ?? '').slice(0, 64));
    if (why === 'corrupt') {
      return this.exchange.rejectBody({ kind: 'bad_request', field: null, message: `The request body is not valid ${name}.` });
    }
    const message = `The content-encoding ${name} can't be read here: use gzip, deflate, br, zstd or none.`;
    return this.exchange.rejectBody({ kind: 'unsupported_encoding', field: null, message });
  }

  #answer(answer: LocalAnswer): void {
    this.#state = 'answered';
    this.#release();
    this.envoy.send(withMetadata(immediateReply(answer), toMetadata('tokenweir', this.exchange.facts())));
  }

  /** An edited body has another length, and goes on decoded. */
  #forwardEdited(edited: Buffer, { set, remove }: HeaderEdits): void {
    const withoutCoding = this.encoding === undefined ? remove : [...remove, 'content-encoding'];
    this.#forward(edited, { set: [...set, ['content-length', String(edited.length)]], remove: withoutCoding });
  }

  /** `edited` null: the body goes on as it came. */
  #forward(edited: Buffer | null, edits: HeaderEdits): void {
    if (this.modes.request === 'whole') this.#forwardWhole(edited, edits);
    else this.#forwardDuplex(edited, edits);
  }

  #forwardWhole(edited: Buffer | null, edits: HeaderEdits): void {
    // Trailers without any body: there is no body message to answer.
    if (this.#trailersPending) this.envoy.send(trailersReply('request'));
    else this.envoy.send(bodyReply('request', edited, edits));
  }

  #forwardDuplex(edited: Buffer | null, edits: HeaderEdits): void {
    this.envoy.send(headersReply('request', edits));
    const pieces = (edited === null ? this.#body.chunks : piecesOf(edited)).filter((piece) => piece.length > 0);
    const last = pieces.length - 1;
    pieces.forEach((piece, i) => this.envoy.send(duplexChunk('request', piece, i === last && !this.#trailersPending)));
    if (this.#trailersPending) this.envoy.send(trailersReply('request'));
    else if (pieces.length === 0) this.envoy.send(duplexChunk('request', Buffer.alloc(0), true));
  }
}

function piecesOf(body: Buffer): Buffer[] {
  const count = Math.ceil(body.length / DUPLEX_PIECE_BYTES);
  return Array.from({ length: count }, (_, i) => body.subarray(i * DUPLEX_PIECE_BYTES, (i + 1) * DUPLEX_PIECE_BYTES));
}
