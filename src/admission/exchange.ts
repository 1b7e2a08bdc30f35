import type { PassReason } from '../domain/decision.js';
import type { Policy } from '../domain/policy.js';
import type { EndReason } from '../domain/pool.js';
import type { LocalAnswer, PlainRefusal, Refusal } from '../domain/refusal.js';
import type { RequestFacts, Splice } from '../domain/request.js';
import { NO_SPAN, type RequestSpan } from '../domain/tracing.js';
import { routeOf, type Route } from '../wire/routes.js';
import type { Admission } from './admission.js';
import { decide, type Admitted, type Known, type Subject } from './deciding.js';
import { answerEdits, framingOf, isShort, passEdits, refusalAnswer, upstreamEdits } from './edits.js';
import type { Hold } from './gates.js';
import { isUpgrade, NO_EDITS, queryOf, type HeaderEdits, type RequestHead, type ResponseHead } from './head.js';
import { identify } from './identify.js';
import { headerLabels } from './labels.js';
import { Lease } from './lease.js';
import { Presence } from './presence.js';
import { RequestBody } from './request-body.js';
import { openingOf, requestMode, type Opening } from './opening.js';
import { signedHeadersOf, unsignedEdits, type SignedHeaders } from './signed.js';
import { endedRefusal } from './stream-ending.js';
import { accessLogFacts, decidedPassed, decidedRefused, RecordDraft, type AccessLogFacts } from './record.js';

/** What to do after the headers of a request. */
export type HeadVerdict =
  | { readonly kind: 'pass'; readonly edits: HeaderEdits }
  | { readonly kind: 'answer'; readonly answer: LocalAnswer }
  /** The body is needed. `observeOnly` (shadow): let everything pass as it comes, and show it to `decide` all the same. */
  | { readonly kind: 'read_body'; readonly observeOnly: boolean; readonly maxBytes: number };

/** What to do after the body of a request. */
export type BodyVerdict =
  /** `asItCame`: the body goes on byte for byte, also where it was decoded to be read. */
  | { readonly kind: 'forward'; readonly edits: HeaderEdits; readonly splices: readonly Splice[]; readonly asItCame: boolean }
  | { readonly kind: 'answer'; readonly answer: LocalAnswer };

/** The request waits, at most so long. `bodyNeeded`: its verdict will edit the body, which must be kept until then. */
export type OnHold = (maxWaitMs: number, bodyNeeded: boolean) => void;

/** What to do with an answer. */
export interface ResponseVerdict {
  readonly edits: HeaderEdits;
  /** The decoded body is wanted by `push`. */
  readonly read: boolean;
  /** What `push` returns differs from the upstream's bytes: send that, and no length or encoding of the upstream's. */
  readonly rewrites: boolean;
  /** The body is short and of no use before its end: it may be shown to us in one piece. */
  readonly atOnce: boolean;
}

/** How a request is ended. */
export interface EndedAnswer {
  /** What, put behind all that the client got, tells its parser of an error; null where there is no place for that. */
  readonly lastEvent: Buffer | null;
  /** For a client that got nothing yet. */
  readonly answer: LocalAnswer;
  readonly facts: AccessLogFacts;
}

/** Nobody is there any more to do it. */
const UNHEARD: BodyVerdict = { kind: 'forward', edits: NO_EDITS, splices: [], asItCame: true };

const UNREAD: ResponseVerdict = { edits: NO_EDITS, read: false, rewrites: false, atOnce: false };

/**
 * The story of one request, from its headers to its settlement. It is driven by whoever sees the traffic, in the order of
 * the methods here; `close` may come at any time, and whatever was taken is given back or settled exactly once.
 */
export class Exchange {
  readonly #admission: Admission;
  /** One request sees one policy, however often the file is reloaded meanwhile. */
  readonly #policy: Policy;
  readonly #head: RequestHead;
  readonly #route: Route;
  /** Null: not signed, and may be edited. */
  readonly #signed: SignedHeaders | null;
  readonly #opening: Opening;
  readonly #shadow: boolean;
  readonly #id: string;
  readonly #span: RequestSpan;
  readonly #record: RecordDraft;
  readonly #presence = new Presence();
  #lease: Lease | null = null;
  #onEnd: ((why: EndReason) => void) | null = null;
  #finished = false;

  constructor(
    admission: Admission,
    head: RequestHead,
    /** False where the bodies of answers are not shown to us: then no usage is asked for that could not be hidden again. */
    private readonly answersShown = true,
  ) {
    const { policy, templates, clock, tracing } = admission;
    this.#policy = policy();
    this.#admission = admission;
    this.#head = head;
    this.#route = routeOf(isUpgrade(head) ? 'POST' : head.method, head.path);
    this.#signed = signedHeadersOf(head);
    const identity = identify(head, this.#policy, templates, this.#route.family === 'gemini');
    this.#opening = openingOf(head, this.#route, identity, this.#policy);
    this.#shadow = requestMode(identity, this.#policy) === 'shadow';
    this.#id = admission.newId();
    this.#span = this.#opening.kind === 'meter' ? tracing.start(head.headers, this.#opening.api.api) : NO_SPAN;
    const api = this.#route.kind === 'metered' ? this.#route.api.api : null;
    this.#record = new RecordDraft(this.#id, clock.nowMs(), this.#span.traceParent, api, head.externalId);
    this.#record.keyId = identity.keyId;
  }

  /** Decides by the headers. */
  begin(): HeadVerdict {
    const opening = this.#opening;
    switch (opening.kind) {
      case 'pass':
        return this.#pass(opening.why, null);
      case 'refuse':
        return this.#shadow ? this.#pass(opening.shadowWhy, this.#named(opening.refusal)) : this.#refuse(this.#named(opening.refusal), []);
      case 'meter':
        this.#record.tenant = opening.tenant;
        return { kind: 'read_body', observeOnly: this.#shadow, maxBytes: this.#policy.maxBodyBytes };
    }
  }

  /** Decides by the whole, decoded body, and holds the request where its pool has no room. Never rejects. */
  decide(body: Buffer, onHold: OnHold = () => undefined): Promise<BodyVerdict> {
    return this.#decide(new RequestBody(body), onHold);
  }

  async #decide(body: RequestBody, onHold: OnHold): Promise<BodyVerdict> {
    const subject = this.#subject();
    const { clock, observer } = this.#admission;
    const startMs = clock.nowMs();
    const held = (hold: Hold): void => {
      this.#held(hold, body, onHold);
    };
    const knows = (known: Known): void => {
      this.#record.known = known;
    };
    const decision = await decide(this.#admission, subject, body, { presence: this.#presence, held, knows });
    const heldMs = this.#record.heldSinceMs === null ? 0 : clock.nowMs() - this.#record.heldSinceMs;
    this.#record.heldSinceMs = null;
    this.#record.decisionMs = clock.nowMs() - startMs - heldMs;
    observer.decided(this.#record.decisionMs);
    switch (decision.kind) {
      case 'admitted':
        return this.#admit(subject, decision, body);
      case 'refused':
        this.#record.pool = decision.pool;
        return this.#shadow ? this.#forwardUnread(decision.refusal) : this.#refuse(decision.refusal, decision.levels);
      case 'left':
        return UNHEARD;
      case 'store_failed':
        observer.fault('store', decision.error);
        return this.#forwardUnread(null);
    }
  }

  /** The body can't be shown to `decide`: too large, in an unknown encoding, or broken in its encoding. */
  rejectBody(refusal: Omit<PlainRefusal, 'requestId'>): BodyVerdict {
    return this.#shadow ? this.#forwardUnread(this.#named(refusal)) : this.#refuse(this.#named(refusal), []);
  }

  /** An answer begins. `bodyShown`: its body will come to `push`. */
  respond(response: ResponseHead, bodyShown: boolean): ResponseVerdict {
    this.#record.status = response.status;
    const lease = this.#lease;
    if (lease === null) return UNREAD;
    const { api, stream } = lease.admitted.facts;
    const framing = framingOf(response, api, stream);
    lease.respond(response, bodyShown ? framing : null);
    if (this.#shadow) return { ...UNREAD, read: bodyShown };
    const edits = answerEdits(response, this.#id, lease.admitted.levels, lease.admitted.pool?.waitedMs ?? 0);
    return { edits, read: bodyShown, rewrites: lease.rewrites, atOnce: framing === 'json' && isShort(response) };
  }

  /** Takes the next decoded bytes of the answer and returns what the client gets of them. */
  push(chunk: Buffer): Buffer {
    return this.#lease?.push(chunk) ?? chunk;
  }

  /** The answer's body could not be decoded. */
  unreadable(error: unknown): void {
    this.#lease?.unreadable();
    this.#admission.observer.fault('response_unreadable', error);
  }

  /** The answer is whole. Returns what was held back, and facts for the access log. */
  finish(): { readonly rest: Buffer; readonly facts: AccessLogFacts } {
    const rest = this.#lease?.end() ?? Buffer.alloc(0);
    return { rest, facts: this.#end(true) };
  }

  /** Calls this when the pool needs the room of this request, at once where it was told before. In shadow never. */
  onEnd(listener: (why: EndReason) => void): void {
    this.#onEnd = listener;
    this.#listenForEnd();
  }

  /** The pool needs the room of this request. */
  endStream(why: EndReason): void {
    this.#lease?.endStream(why);
  }

  /** The answer that began is a stream, and an error can still be put at its end; any other is let run to its end. */
  get endable(): boolean {
    return this.#lease?.endable === true && !this.#finished;
  }

  /** The client has the beginning of an event, and not its end. */
  get midEvent(): boolean {
    return this.#lease?.midEvent === true;
  }

  /** As `push`, but of the chunk only what ends the event that the client has the beginning of. */
  pushRest(chunk: Buffer): Buffer {
    return this.#lease?.pushRest(chunk) ?? chunk;
  }

  /** Ends the request, whose answer has begun or not: charges what was passed on. */
  endNow(why: EndReason): EndedAnswer {
    const lease = this.#lease;
    if (lease === null) throw new Error('only what was admitted is ended');
    const lastEvent = lease.lastEvent(why);
    const refusal = endedRefusal(lease.admitted, why, this.#id);
    const answer = refusalAnswer(this.#route, refusal, lease.admitted.levels, lease.admitted.pool?.waitedMs ?? 0);
    this.#record.endReason = why;
    this.#record.status ??= answer.status;
    return { lastEvent, answer, facts: this.#end(false) };
  }

  /** Facts for the access log as far as they are known. */
  facts(): AccessLogFacts {
    return accessLogFacts(this.#record.build(this.#admission.clock.nowMs()));
  }

  /** The traffic is over, whole or not. Calling it again does nothing. */
  close(): void {
    this.#presence.leave();
    if (this.#finished) return;
    // What was held back of a cut answer is still read: the usage may be in it.
    this.#lease?.end();
    this.#end(false);
  }

  #subject(): Subject {
    if (this.#opening.kind !== 'meter') throw new Error('only a metered request is decided');
    const { api, tenant } = this.#opening;
    const mode = this.#shadow ? 'shadow' : 'enforce';
    const { keyId, startedAtMs } = this.#record;
    const { headers, path } = this.#head;
    return { api, tenant, headers, query: queryOf(path), mode, policy: this.#policy, id: this.#id, keyId, startedAtMs, span: this.#span };
  }

  /** What is made in the background is made whole, whoever leaves. */
  #listenForEnd(): void {
    const { facts } = this.#lease?.admitted ?? {};
    if (this.#onEnd !== null && !this.#shadow && facts?.background === false) this.#lease?.onEndStream(this.#onEnd);
  }

  #named(refusal: Omit<PlainRefusal, 'requestId'>): PlainRefusal {
    return { ...refusal, requestId: this.#id };
  }

  #pass(why: PassReason, wouldRefuse: Refusal | null): { kind: 'pass'; edits: HeaderEdits } {
    this.#record.decided = decidedPassed(why, wouldRefuse);
    if (wouldRefuse !== null) this.#readHeaders();
    this.#admission.observer.unmetered(why);
    return { kind: 'pass', edits: this.#shadow || why === 'off' ? NO_EDITS : this.#allowed(passEdits(this.#head)) };
  }

  #forwardUnread(wouldRefuse: Refusal | null): BodyVerdict {
    const why = wouldRefuse === null || wouldRefuse.kind === 'store_unavailable' ? 'store_failed' : 'unreadable';
    return { kind: 'forward', edits: this.#pass(why, wouldRefuse).edits, splices: [], asItCame: this.#signed !== null };
  }

  #refuse(refusal: Refusal, levels: Admitted['levels']): { kind: 'answer'; answer: LocalAnswer } {
    this.#record.decided = decidedRefused(refusal);
    this.#readHeaders();
    const answer = refusalAnswer(this.#route, refusal, levels, this.#record.pool?.waitedMs ?? 0);
    this.#record.status = answer.status;
    this.#end(true);
    return { kind: 'answer', answer };
  }

  /** Of a request that is refused before its body is read, or as it can't be: its line tells what its headers do. */
  #readHeaders(): void {
    if (this.#record.known === null) this.#record.headerLabels = headerLabels(this.#head.headers);
  }

  #held({ facts, maxWaitMs, pool }: Hold, body: RequestBody, onHold: OnHold): void {
    this.#record.pool = pool;
    this.#record.heldSinceMs = this.#admission.clock.nowMs();
    const bodyNeeded = this.#asksForUsage(facts);
    if (!bodyNeeded) body.release();
    onHold(maxWaitMs, bodyNeeded);
  }

  #admit(subject: Subject, admitted: Admitted, body: RequestBody): BodyVerdict {
    this.#record.admitted(admitted);
    const splices = this.#asksForUsage(admitted.facts) ? subject.api.askForUsage(body.bytes) : [];
    const lease = new Lease(this.#admission, subject, admitted, splices.length > 0, this.#record);
    if (this.#presence.gone) {
      lease.cancel();
      return UNHEARD;
    }
    this.#lease = lease;
    this.#listenForEnd();
    const edits = this.#shadow ? NO_EDITS : this.#allowed(upstreamEdits(this.#head, this.#id, this.#span.traceParent));
    return { kind: 'forward', edits, splices, asItCame: this.#signed !== null };
  }

  #asksForUsage({ stream, usageRequested, model }: RequestFacts): boolean {
    const editable = !this.#shadow && this.#signed === null;
    return editable && this.answersShown && stream && !usageRequested && this.#policy.asksForUsage(model);
  }

  #allowed(edits: HeaderEdits): HeaderEdits {
    return this.#signed === null ? edits : unsignedEdits(edits, this.#signed);
  }

  #end(whole: boolean): AccessLogFacts {
    if (this.#finished) return this.facts();
    this.#finished = true;
    this.#lease?.settle(whole);
    const record = this.#record.build(this.#admission.clock.nowMs());
    this.#span.end(record);
    this.#admission.observer.finished(record);
    return accessLogFacts(record);
  }
}
