import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { ReserveRequest } from '../../src/domain/lease.js';
import type { Store } from '../../src/domain/store.js';
import type { Clock } from '../../src/lib/clock.js';
import { createMemoryStore } from '../../src/stores/memory.js';
import type { Modes } from '../support/envoy-double.js';

/** What one message of Envoy's says, or what happens between two. */
export type Step =
  | { readonly kind: 'request_headers'; readonly headers: Record<string, string>; readonly end: boolean }
  | { readonly kind: 'request_body'; readonly bytes: Buffer; readonly end: boolean }
  | { readonly kind: 'request_trailers' }
  | { readonly kind: 'response_headers'; readonly headers: Record<string, string>; readonly end: boolean; readonly details: string }
  | { readonly kind: 'response_body'; readonly bytes: Buffer; readonly end: boolean }
  | { readonly kind: 'response_trailers' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Our processor stands still, so long that others settle its leases for dead. */
  | { readonly kind: 'pause' }
  /** The pool needs the room of the latest request. */
  | { readonly kind: 'end' }
  | { readonly kind: 'close' };

/** How a store misbehaves: each call takes the next of its list, and behaves well when the list is through. */
export interface Troubles {
  readonly reserveDelaysMs: readonly number[];
  readonly reserveFaults: readonly Fault[];
  readonly endFaults: readonly Fault[];
  readonly renewFaults: readonly Fault[];
}
type Fault = 'none' | 'before' | 'after';

export const MODES: Modes[] = (['BUFFERED', 'FULL_DUPLEX_STREAMED'] as const).flatMap((request) =>
  (['NONE', 'BUFFERED', 'STREAMED', 'FULL_DUPLEX_STREAMED'] as const).map((response) => ({ request, response })),
);

const fault = fc.constantFrom<Fault>('none', 'none', 'before', 'after');
export const NO_TROUBLE: Troubles = { reserveDelaysMs: [], reserveFaults: [], endFaults: [], renewFaults: [] };
export const troubles: fc.Arbitrary<Troubles> = fc.record({
  reserveDelaysMs: fc.array(fc.constantFrom(0, 1, 300), { maxLength: 3 }),
  reserveFaults: fc.array(fault, { maxLength: 3 }),
  endFaults: fc.array(fault, { maxLength: 4 }),
  renewFaults: fc.array(fault, { maxLength: 4 }),
});

/** A store in memory that is slow, and that fails before or after it did what it was told. */
export function troubledStore(clock: () => Clock, { reserveDelaysMs, reserveFaults, endFaults, renewFaults }: Troubles): Store {
  const store = createMemoryStore();
  const delays = [...reserveDelaysMs];
  const faults = { reserve: [...reserveFaults], end: [...endFaults], renew: [...renewFaults] };
  /** Leases of which nobody was told: to cancel one is tried once only, so here it works. */
  const lost = new Set<string>();
  const faulty = async <T>(which: 'reserve' | 'end' | 'renew', call: () => Promise<T>): Promise<T> => {
    const now = faults[which].shift() ?? 'none';
    if (now === 'before') throw new Error('store away');
    const result = await call();
    if (now === 'after') throw new Error('answer lost');
    return result;
  };
  return {
    reserve: async (request: ReserveRequest) => {
      const ms = delays.shift() ?? 0;
      if (ms > 0) await new Promise<void>((resume) => clock().after(ms, resume));
      lost.add(request.leaseId);
      const result = await faulty('reserve', () => store.reserve(request));
      lost.delete(request.leaseId);
      return result;
    },
    renew: (renewals, nowMs) => faulty('renew', () => store.renew(renewals, nowMs)),
    settle: (...settlement) => faulty('end', () => store.settle(...settlement)),
    cancel: (leaseId, nowMs) => (lost.has(leaseId) ? store.cancel(leaseId, nowMs) : faulty('end', () => store.cancel(leaseId, nowMs))),
    snapshot: (...asked) => store.snapshot(...asked),
    isIdle: (...asked) => store.isIdle(...asked),
    recentEvents: (limit) => store.recentEvents(limit),
    reap: (nowMs) => store.reap(nowMs),
    heartbeat: (...told) => store.heartbeat(...told),
    totalsIn: (period) => store.totalsIn(period),
    pendingEvents: (limit) => store.pendingEvents(limit),
    acknowledgeEvents: (events) => store.acknowledgeEvents(events),
    saveLearned: (states) => store.saveLearned(states),
    loadLearned: () => store.loadLearned(),
    onCapacityFreed: (listener) => store.onCapacityFreed(listener),
    close: () => store.close(),
  };
}

/** Cuts bytes at the given places (taken modulo the length), empty pieces included. */
export function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end));
}

export const cuts = fc.array(fc.nat(100_000), { maxLength: 5 });

export interface RequestPlan {
  readonly stream: boolean;
  /** The client asks for usage itself. */
  readonly asks: boolean;
  readonly cap: number | null;
  readonly text: string;
}

export const requestPlan: fc.Arbitrary<RequestPlan> = fc.record({
  stream: fc.boolean(), asks: fc.boolean(), cap: fc.option(fc.integer({ min: 1, max: 40 })), text: fc.string({ unit: 'grapheme', maxLength: 60 }),
});

export function requestBody({ stream, asks, cap, text }: RequestPlan): Buffer {
  const options = stream && asks ? { stream_options: { include_usage: true } } : {};
  return Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }], stream, ...options, ...(cap === null ? {} : { max_tokens: cap }) }));
}

export interface AnswerPlan {
  readonly said: readonly string[];
  readonly usage: { readonly input: number; readonly output: number } | null;
  readonly coding: 'identity' | 'gzip' | 'br';
  readonly status: '200' | '429' | '500';
}

export const answerPlan: fc.Arbitrary<AnswerPlan> = fc.record({
  said: fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), { maxLength: 5 }),
  usage: fc.option(fc.record({ input: fc.integer({ min: 1, max: 60 }), output: fc.integer({ min: 1, max: 60 }) })),
  coding: fc.constantFrom('identity', 'identity', 'gzip', 'br'),
  status: fc.constantFrom('200', '200', '200', '429', '500'),
});

const CODERS = { identity: (bytes: Buffer) => bytes, gzip: (bytes: Buffer) => gzipSync(bytes), br: (bytes: Buffer) => brotliCompressSync(bytes) };

/** An answer's headers and bytes; `withoutUsage` is what a client sees that did not ask for usage. */
export function answer({ said, usage, coding, status }: AnswerPlan, stream: boolean): { headers: Record<string, string>; bytes: Buffer; plain: Buffer; withoutUsage: Buffer } {
  const figures = usage && { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: usage.input + usage.output };
  const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
  const deltas = said.map((content) => event({ choices: [{ delta: { content } }] })).join('');
  const last = figures === null ? '' : event({ choices: [], usage: figures });
  const whole = JSON.stringify({ choices: [{ message: { content: said.join('') } }], ...(figures === null ? {} : { usage: figures }) });
  const plain = Buffer.from(stream ? `${deltas}${last}data: [DONE]\n\n` : whole);
  const headers = { ':status': status, 'content-type': stream ? 'text/event-stream' : 'application/json', ...(coding === 'identity' ? {} : { 'content-encoding': coding }) };
  return { headers, bytes: CODERS[coding](plain), plain, withoutUsage: stream ? Buffer.from(`${deltas}data: [DONE]\n\n`) : plain };
}

const REQUEST_HEADERS: Record<string, string>[] = [
  { authorization: 'Bearer key-acme' },
  { authorization: 'Bearer key-acme', 'content-encoding': 'gzip' },
  { authorization: 'Bearer nobody' },
  { authorization: 'Bearer key-acme', ':method': 'GET' },
  { authorization: 'Bearer key-acme', ':path': '/v1/unknown' },
  { authorization: 'Bearer key-acme', upgrade: 'websocket' },
  { authorization: 'Bearer key-acme', ':path': '/v1/batches' },
  ...['/v1/messages', '/v1/responses', '/api/chat', '/model/m/converse-stream', '/model/m/invoke', '/v1beta/models/m:streamGenerateContent', '/v1/embeddings', '/rerank'].map(
    (path) => ({ authorization: 'Bearer key-acme', ':path': path }),
  ),
];

const anyBody = fc.oneof(
  requestPlan.map(requestBody),
  requestPlan.map((plan) => gzipSync(requestBody(plan))),
  requestPlan.map((plan) => requestBody(plan).subarray(0, 20)),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
);
const anyAnswer = fc.tuple(answerPlan, fc.boolean(), fc.nat(400)).map(([plan, stream, end]) => answer(plan, stream).bytes.subarray(0, end));

/** One message or event of any kind, in no order that Envoy would keep. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('request_headers' as const), headers: fc.constantFrom(REQUEST_HEADERS[0]!, ...REQUEST_HEADERS), end: fc.constantFrom(false, false, true) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('request_body' as const), bytes: anyBody, end: fc.constantFrom(true, true, false) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'request_trailers' }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('response_headers' as const), headers: fc.tuple(answerPlan, fc.boolean()).map(([plan, stream]) => answer(plan, stream).headers),
      end: fc.constantFrom(false, false, true), details: fc.constantFrom('via_upstream', 'via_upstream', 'response_timeout'),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('response_body' as const), bytes: anyAnswer, end: fc.constantFrom(false, false, true) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'response_trailers' }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 250, 1000) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'pause' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'end' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'close' }) },
);

/** An exchange as it should be, with messages dropped, doubled or pushed in between. */
export const disturbed: fc.Arbitrary<Step[]> = fc
  .tuple(requestPlan, answerPlan, cuts, fc.boolean(), fc.option(fc.nat(12)), fc.array(fc.tuple(fc.nat(12), fc.oneof(anyStep, fc.constantFrom('drop' as const, 'double' as const, 'swap' as const))), { maxLength: 3 }))
  .map(([request, plan, answerCuts, packed, pauseAt, changes]) => {
    const { headers, bytes } = answer(plan, request.stream);
    const body = requestBody(request);
    const parts = pieces(bytes, answerCuts);
    const steps: Step[] = [
      { kind: 'request_headers', headers: REQUEST_HEADERS[packed ? 1 : 0]!, end: false },
      { kind: 'request_body', bytes: packed ? gzipSync(body) : body, end: true },
      { kind: 'wait', ms: 300 },
      { kind: 'response_headers', headers, end: false, details: 'via_upstream' },
      ...parts.map((part, i): Step => ({ kind: 'response_body', bytes: part, end: i === parts.length - 1 })),
    ];
    if (pauseAt !== null) disturb(steps, 3 + (pauseAt % (steps.length - 2)), { kind: 'pause' });
    for (const [place, change] of changes) disturb(steps, place % steps.length, change);
    return steps;
  });

function disturb(steps: Step[], at: number, change: Step | 'drop' | 'double' | 'swap'): void {
  const here = steps[at];
  if (here === undefined) return;
  if (change === 'drop') steps.splice(at, 1);
  else if (change === 'double') steps.splice(at, 0, here);
  else if (change === 'swap') steps.splice(at, 2, ...steps.slice(at, at + 2).reverse());
  else steps.splice(at, 0, change);
}
