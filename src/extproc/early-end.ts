import type { Exchange } from '../admission/exchange.js';
import type { AccessLogFacts } from '../admission/record.js';
import type { EndReason } from '../domain/pool.js';
import type { Clock } from '../lib/clock.js';
import type { Reply } from './protocol.js';
import { bodyReply, duplexChunk, immediateReply, withMetadata } from './replies.js';
import { toMetadata } from './struct.js';

const NOTHING = Buffer.alloc(0);

/**
 * How long an answer may take to come to a place where an error can be put. Tokens come faster than this; others wait for the room, and a
 * client whose answer stands still gets a broken transfer instead.
 */
export const PATIENCE_MS = 150;

/**
 * Ends an answer before its upstream does. In FULL_DUPLEX_STREAMED a last chunk is the clean end of it. Where each chunk is answered, the
 * error takes the next chunk's place, and an answer of our own behind it, which Envoy takes at any time, makes it reset both sides: the
 * client sees a broken transfer behind the error. The latter alone ends what has no place for an error.
 */
export class EarlyEnd {
  #why: EndReason | null = null;
  #over = false;
  #cancelPatience: () => void = () => undefined;

  constructor(
    private readonly exchange: Exchange,
    private readonly mode: 'chunks' | 'duplex',
    private readonly envoy: { readonly send: (reply: Reply) => void; readonly clock: Clock },
  ) {}

  /** The answer is to end, and has not yet. */
  get wanted(): boolean {
    return this.#why !== null && !this.#over;
  }

  /** Nothing may be sent any more. */
  get over(): boolean {
    return this.#over;
  }

  /** `run`: does a step when all that came before was read. `atOnce`: there will be no better place. */
  begin(why: EndReason, run: (step: () => void) => void, atOnce: boolean): void {
    if (this.#why !== null) return;
    this.#why = why;
    const place = (): boolean => atOnce || (this.mode === 'duplex' && !this.exchange.midEvent);
    const step = (isLast: boolean): void => {
      run(() => {
        if (this.wanted && (isLast || place())) this.#end(NOTHING, false, atOnce);
      });
    };
    this.#cancelPatience = this.envoy.clock.after(PATIENCE_MS, () => {
      step(true);
    });
    step(false);
  }

  /** The next chunk of an answer that is to end: of it only the rest of an event goes on that the client has the beginning of. */
  within(chunk: Buffer, decoded: Buffer): void {
    const rest = this.exchange.midEvent ? this.exchange.pushRest(decoded) : NOTHING;
    if (!this.exchange.midEvent) this.#end(rest, true, false);
    else if (this.mode === 'chunks') this.envoy.send(bodyReply('response', rest.equals(chunk) ? null : rest));
    else if (rest.length > 0) this.envoy.send(duplexChunk('response', rest, false));
  }

  /** The answer came to its own end. */
  cancel(): void {
    this.#cancelPatience();
    this.#why = null;
  }

  /** The stream is gone. What was begun, and waits for its turn, is still booked as an end of ours. */
  gone(): void {
    this.#cancelPatience();
  }

  /** `rest` goes before the error. `asked`: a chunk waits for its reply. */
  #end(rest: Buffer, asked: boolean, compressed: boolean): void {
    const why = this.#why!;
    this.#over = true;
    this.#cancelPatience();
    const { lastEvent, answer, facts } = this.exchange.endNow(why);
    const error = compressed ? null : lastEvent;
    const out = error === null ? rest : Buffer.concat([rest, error]);
    if (this.mode === 'duplex' && error !== null) {
      this.envoy.send(withFacts(duplexChunk('response', out, true), facts));
      return;
    }
    if (out.length > 0 && this.mode === 'duplex') this.envoy.send(duplexChunk('response', out, false));
    else if (out.length > 0 && asked) this.envoy.send(withFacts(bodyReply('response', out), facts));
    this.envoy.send(withFacts(immediateReply(answer), facts));
  }
}

/** Adds facts for the access log. */
export function withFacts(reply: Reply, facts: AccessLogFacts): Reply {
  return withMetadata(reply, toMetadata('tokenweir', facts));
}
