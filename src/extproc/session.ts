import type { Admission } from '../admission/admission.js';
import { Exchange } from '../admission/exchange.js';
import { NO_EDITS, type Stage } from '../admission/head.js';
import type { EndReason } from '../domain/pool.js';
import { requestHeadOf, responseHeadOf } from './headers.js';
import { bodyModesOf, type BodyModes } from './modes.js';
import type { EnvoyMessage, Reply } from './protocol.js';
import { bodyReply, duplexChunk, headersReply, trailersReply } from './replies.js';
import { RequestSide } from './request-side.js';
import { ResponseSide } from './response-side.js';

/** What a session says to Envoy. */
export interface EnvoySide {
  send(reply: Reply): void;
  /** Ends the stream with an error: what becomes of the request is the filter's `failure_mode_allow`. */
  fail(kind: 'unsupported_modes' | 'protocol' | 'session', message: string): void;
  /** Whatever keeps the bytes of the last message may let go of them: none may come for long. */
  letGo?(): void;
}

/**
 * One HTTP request as Envoy shows it to us: takes the messages of one gRPC stream as they come (also while a decision is
 * pending) and answers each that wants an answer. Knows the protocol, and nothing of tokens.
 */
export class Session {
  #modes: BodyModes | null = null;
  #exchange: Exchange | null = null;
  #request: RequestSide | null = null;
  #response: ResponseSide | null = null;
  #closed = false;
  /** The pool took the request back before its answer began: what Envoy sent meanwhile wants no answer. */
  #takenBack = false;

  constructor(
    private readonly admission: Admission,
    private readonly stage: Stage,
    private readonly envoy: EnvoySide,
  ) {}

  /** Takes the next message. Never throws: what goes wrong ends this stream only. */
  receive(message: EnvoyMessage): void {
    if (this.#closed || this.#takenBack) return;
    try {
      const modes = (this.#modes ??= this.#announcedModes(message));
      if (modes !== null) this.#dispatch(message, modes);
    } catch (error) {
      this.#fault(error);
    }
  }

  /** The stream is over: by its end, by the client's leaving, by Envoy's. Calling it again does nothing. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#request?.abandon();
    try {
      if (this.#response !== null) this.#response.close();
      else this.#exchange?.close();
    } catch (error) {
      this.admission.observer.fault('session', error);
    }
  }

  /** Resolves when what came before `close` was read to its end, and is in the books. */
  async booked(): Promise<void> {
    await this.#response?.upToDate;
  }

  #announcedModes(first: EnvoyMessage): BodyModes | null {
    const modes = bodyModesOf(first);
    if (typeof modes !== 'string') return modes;
    this.#fail('unsupported_modes', modes);
    return null;
  }

  #dispatch(message: EnvoyMessage, modes: BodyModes): void {
    switch (message.request) {
      case 'request_headers':
        this.#requestHeaders(message, modes);
        return;
      case 'request_body':
        this.#requestBody(message);
        return;
      case 'request_trailers':
        this.#guard(this.#request?.trailers());
        return;
      case 'response_headers':
        this.#responseHeaders(message, modes);
        return;
      case 'response_body':
        this.#responseBody(message, modes);
        return;
      case 'response_trailers':
        if (this.#response === null) this.#send(trailersReply('response'));
        else this.#response.trailers();
        return;
      default:
        this.#fail('protocol', 'a message of a kind that is not known here');
    }
  }

  #requestHeaders(message: EnvoyMessage, modes: BodyModes): void {
    if (this.#exchange !== null) {
      this.#fail('protocol', 'request headers came twice');
      return;
    }
    const head = requestHeadOf(message, this.stage);
    this.#exchange = new Exchange(this.admission, head, modes.response !== 'none');
    this.#request = new RequestSide(this.#exchange, modes, head.headers.get('content-encoding'), {
      send: (reply) => this.#send(reply),
      letGo: () => this.envoy.letGo?.(),
    });
    this.#exchange.onEnd((why) => {
      this.#end(why);
    });
    this.#request.headers();
  }

  /** The pool needs the room of this request. Envoy takes an answer of ours at any time, also where no message waits for one. */
  #end(why: EndReason): void {
    if (this.#closed || this.#exchange === null) return;
    try {
      if (this.#response !== null) this.#response.end(why);
      else {
        this.#takenBack = true;
        this.#request?.takeBack(this.#exchange.endNow(why).answer);
      }
    } catch (error) {
      this.#fault(error);
    }
  }

  #requestBody({ request_body: body }: EnvoyMessage): void {
    if (this.#request === null || !body) {
      this.#fail('protocol', 'a request body came without headers: request_header_mode must be SEND');
      return;
    }
    this.#guard(this.#request.body(body.body, body.end_of_stream));
  }

  #responseHeaders(message: EnvoyMessage, modes: BodyModes): void {
    // Envoy answers for itself where a request never came whole (rejected upgrade, 413) or was held too long.
    if (this.#request?.undecided === true) {
      this.#request.abandon();
      this.#exchange?.close();
    }
    if (this.#exchange === null) {
      this.admission.observer.unmetered('local_reply');
      this.#send(headersReply('response', NO_EDITS));
      return;
    }
    this.#guard(this.#request?.responded());
    const envoy = { send: (reply: Reply) => this.#send(reply), fault: (error: unknown) => this.#fault(error), clock: this.admission.clock };
    const response = new ResponseSide(this.#exchange, modes, envoy, this.#request?.observed ?? null);
    this.#response = response;
    response.headers(responseHeadOf(message));
  }

  #responseBody({ response_body: body }: EnvoyMessage, modes: BodyModes): void {
    if (!body) return;
    if (this.#response !== null) this.#response.body(body.body, body.end_of_stream);
    else if (modes.response !== 'duplex') this.#send(bodyReply('response', null));
    else this.#send(duplexChunk('response', body.body, body.end_of_stream));
  }

  #send(reply: Reply): void {
    if (!this.#closed) this.envoy.send(reply);
  }

  #guard(work: Promise<void> | undefined): void {
    work?.catch((error: unknown) => {
      this.#fault(error);
    });
  }

  #fault(error: unknown): void {
    this.admission.observer.fault('session', error);
    this.#fail('session', 'internal error');
  }

  #fail(kind: Parameters<EnvoySide['fail']>[0], message: string): void {
    if (this.#closed) return;
    if (kind !== 'session') this.admission.observer.fault(kind, new Error(message));
    this.envoy.fail(kind, message);
    this.close();
  }
}
