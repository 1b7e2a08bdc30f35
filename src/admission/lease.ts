import { withTokens, type Usage } from '../domain/usage.js';
import type { EndReason } from '../domain/pool.js';
import type { Framing, ResponseReader, ResponseReading } from '../domain/wire.js';
import { restOfEvent } from '../wire/stream/rest-of-event.js';
import type { Admission } from './admission.js';
import { chargeFor, type Charge } from './charge.js';
import type { Admitted, Subject } from './deciding.js';
import type { PoolShare } from './gates.js';
import { isStreamed } from './edits.js';
import type { ResponseHead } from './head.js';
import { ledgerEvent, type Answered } from './ledger-event.js';
import type { RunningShare } from './hold-queue.js';
import { trueWork, useOf } from './pool-place.js';
import { isRefusedInShadow, type RecordDraft } from './record.js';
import { endingOf } from './stream-ending.js';

const NOTHING = Buffer.alloc(0);

/** Why a pool ends a stream. */
export type StreamEnd = 'reclaimed' | 'pressure';

/** What an admitted request holds at the store, from its dispatch to its settlement, and what its answer tells meanwhile. */
export class Lease implements RunningShare {
  #response: ResponseHead | null = null;
  #reader: ResponseReader | null = null;
  #unseen = false;
  #streamed = false;
  #framing: Framing = 'json';
  #rewrites = false;
  #unreadable = false;
  #ended = false;
  #endWhy: StreamEnd | null = null;
  #onEndStream: ((why: StreamEnd) => void) | null = null;
  /** Output as it was counted last, and of how many pieces: a stream that is silent is not counted again. */
  #counted = { pieces: 0, tokens: 0 };

  constructor(
    private readonly admission: Admission,
    private readonly subject: Subject,
    readonly admitted: Admitted,
    /** We asked for usage on our own: it is hidden from the client again. */
    private readonly askedForUsage: boolean,
    private readonly record: RecordDraft,
  ) {
    admission.observer.leaseOpened();
    admission.renewals.begin(this);
    if (admitted.share !== null) admission.holds.run(this);
  }

  get id(): string {
    return this.subject.id;
  }

  get reservedOutputTokens(): number {
    return this.admitted.output.reservedTokens;
  }

  /** Some upstreams tell the input at the start and the output at the end: no output told yet is not none. */
  outputSoFar(): number {
    const reading = this.#reader?.reading;
    if (reading?.sawOutput !== true) return 0;
    const told = reading.usage?.outputTokens ?? 0;
    if (told > 0) return told;
    if (reading.outputPieces !== this.#counted.pieces) this.#counted = { pieces: reading.outputPieces, tokens: this.#count(reading) };
    return this.#counted.tokens;
  }

  poolUse(outputTokens: number): ReturnType<typeof useOf> {
    const { share } = this.admitted;
    return share === null ? { work: 0, kvBytes: 0 } : useOf(share.place.pool, this.admitted, outputTokens);
  }

  endStream(why: StreamEnd): void {
    this.#endWhy = why;
    this.#onEndStream?.(why);
  }

  /** Calls this when the pool needs the room of this request: its stream is to be ended. At once where that was told already. */
  onEndStream(listener: (why: StreamEnd) => void): void {
    this.#onEndStream = listener;
    if (this.#endWhy !== null) listener(this.#endWhy);
  }

  /** Whether the client gets other bytes than the upstream sent. */
  get rewrites(): boolean {
    return this.#rewrites;
  }

  /** The answer begins. `framing` null: its body is not shown to us. One of Envoy's own says nothing of tokens. */
  respond(response: ResponseHead, framing: Framing | null): void {
    this.#response = response;
    this.#unseen = framing === null && !response.endOfStream;
    const { api, stream } = this.admitted.facts;
    this.#framing = framing ?? 'json';
    this.#streamed = framing !== null && isStreamed(framing, api, stream);
    if (framing === null || response.endOfStream || !response.fromUpstream) return;
    this.#rewrites = this.askedForUsage && framing === 'sse';
    this.#reader = this.subject.api.responseReader({ framing, hideUsage: this.#rewrites });
  }

  /** Takes the next decoded bytes of the answer and returns what the client gets. */
  push(chunk: Buffer): Buffer {
    if (this.#reader === null) return chunk;
    const shown = this.#reader.push(chunk);
    if (this.#reader.reading.sawOutput) this.record.firstTokenAtMs ??= this.admission.clock.nowMs();
    return shown;
  }

  /** The answer is a stream that we read, no error of its upstream's, and has not told its own end: it can be ended. */
  get endable(): boolean {
    return this.#streamed && this.#response !== null && this.#response.status < 300 && this.#reader !== null && !this.#reader.reading.complete;
  }

  /** The client has the beginning of an event, and not its end. */
  get midEvent(): boolean {
    return this.#reader?.midEvent === true;
  }

  /** As `push`, but of the chunk only what ends the event that the client has the beginning of. */
  pushRest(chunk: Buffer): Buffer {
    return restOfEvent(this, this.#framing, chunk);
  }

  /** What ends the answer with an error; null where its bytes have no place for one. */
  lastEvent(why: EndReason): Buffer | null {
    if (this.#unreadable || this.#reader === null) return null;
    return this.#reader.endWith(this.subject.api.endEvent(endingOf(this.admitted, why, this.id)));
  }

  /** No more bytes come: returns what was held back. */
  end(): Buffer {
    return this.#reader?.end() ?? NOTHING;
  }

  /** From here on the answer's bytes can't be read. */
  unreadable(): void {
    this.#unreadable = true;
  }

  /** The request never left for the upstream: everything back. */
  cancel(): void {
    if (!this.#close()) return;
    const { store, settlements, clock, holds } = this.admission;
    settlements.run(() => store.cancel(this.subject.id, clock.nowMs()));
    if (this.#poolId !== null) holds.cancel(this.#poolId, this.id);
  }

  /** The exchange is over: charges what it truly cost, once. */
  settle(whole: boolean): void {
    if (!this.#close()) return;
    const { store, settlements, clock, observer, holds } = this.admission;
    const charge = this.#charge(whole);
    this.record.charge = charge;
    this.record.responseModel = this.#reader?.reading.model ?? null;
    const decision = isRefusedInShadow(this.admitted) ? 'would_refuse' : 'admitted';
    const { share, facts, prompt, output, labels } = this.admitted;
    const asked = { facts, prompt, output, labels, pool: this.#poolId, decision } as const;
    const event = ledgerEvent(this.subject, asked, charge, this.#answered(), clock.nowMs());
    settlements.run(async () => {
      observer.settled(await store.settle(this.id, charge.usage, event, clock.nowMs()), this.id);
    });
    if (share !== null) holds.settle(share.place.pool.settings.id, this.id, this.#workIn(share, charge));
    this.#teach(charge);
    // One that was cut is rarely readable, and nobody's fault.
    if (whole && this.#reader?.reading.unreadable === true) this.admission.observer.fault('response_unreadable', null);
  }

  /**
   * What it took of its pool. Whoever leaves before an answer that comes in one piece has used a server, nobody knows for how much, and got
   * nothing that could be counted: were that free, who asks and leaves without end would always be next.
   */
  #workIn({ place: { pool }, demand }: PoolShare, { outcome, usage }: Charge): number {
    const work = trueWork(pool, usage);
    const isUnknown = outcome === 'cut' && this.#response === null && !this.admitted.facts.stream;
    return isUnknown ? Math.max(work, demand.work) : work;
  }

  get #poolId(): string | null {
    return this.admitted.share?.place.pool.settings.id ?? null;
  }

  #count({ output, outputPieces }: ResponseReading): number {
    return this.admission.estimator.countOutput(this.admitted.facts.model, output, outputPieces);
  }

  #close(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.admission.renewals.forget(this.subject.id);
    this.admission.observer.leaseClosed();
    return true;
  }

  #charge(whole: boolean): Charge {
    const reading = this.#reader?.reading ?? null;
    const ending = {
      status: this.#response?.status ?? null,
      fromUpstream: this.#response?.fromUpstream ?? true,
      whole,
      ended: this.record.endReason !== null,
      unseen: this.#unseen,
      streamed: this.#streamed,
      usage: this.#usage(reading),
      reading,
      unreadable: this.#unreadable || reading?.unreadable === true,
    };
    const { prompt, output, facts } = this.admitted;
    const expected = { model: facts.model, prompt, expectedOutputTokens: output.expectedTokens, background: facts.background };
    return chargeFor(ending, expected, this.admission.estimator);
  }

  /** Each figure from the body, or where that tells none from the headers. */
  #usage(reading: ResponseReading | null): Usage | null {
    const inBody = reading?.usage ?? null;
    const inHeaders = this.#response === null ? null : (this.subject.api.usageFromHeaders?.(this.#response.headers) ?? null);
    if (inBody === null || inHeaders === null) return inBody ?? inHeaders;
    return withTokens(inBody, inBody.inputTokens || inHeaders.inputTokens, inBody.outputTokens || inHeaders.outputTokens);
  }

  #answered(): Answered {
    const reading = this.#reader?.reading;
    return { model: reading?.model ?? null, serviceTier: reading?.serviceTier ?? null, lines: reading?.lines ?? null };
  }

  #teach({ teaches, usage }: Charge): void {
    if (!teaches) return;
    const { prompt, facts } = this.admitted;
    const responseId = this.#reader?.reading.responseId ?? null;
    this.admission.estimator.learn({ tenantId: this.subject.tenant.id, facts, prompt, usage, responseId });
    this.admission.observer.estimateRatio(facts.model, usage.inputTokens / Math.max(1, prompt.tokens));
  }
}
