import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Enforcement } from '../../src/domain/enforcement.js';
import type { Reply } from '../../src/extproc/protocol.js';
import { bucketSpecsOf } from '../../src/quota/charges.js';
import { EnvoyDouble, editsOf, type Modes } from '../support/envoy-double.js';
import { endingPools, OPEN_POOL, type EndingPools } from '../support/ending-pool.js';
import { harness, limit, policyOf, tenant, type Harness } from '../support/harness.js';
import { answer, answerPlan, anyStep, cuts, disturbed, MODES, NO_TROUBLE, pieces, requestBody, requestPlan, troubledStore, troubles, type Step, type Troubles } from './session-script.js';

const CAPACITY = 1_000_000;
const ENFORCEMENTS: Enforcement[] = ['enforce', 'shadow', 'off'];
/** `PROPERTY_RUNS=5000` for a long run. */
const RUNS = { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 200) };
const TIMEOUT_MS = 600_000;

/** How the pool of a world ends what runs in it. */
const enders = new WeakMap<Harness, EndingPools>();

/** Limits that refill by one a minute, so that levels tell what was charged. */
function world(enforcement: Enforcement, small: boolean, trouble: Troubles): Harness {
  const limits = [limit('tokens', 1, { capacity: small ? 60 : CAPACITY }), limit('requests', 1, { capacity: CAPACITY }), limit('concurrency', 3)];
  const ending = endingPools();
  const policy = policyOf([tenant('acme', limits)], { enforcement, pools: [OPEN_POOL] });
  const made: Harness = harness(policy, troubledStore(() => made.clock, trouble), undefined, ending.pools);
  enders.set(made, ending);
  return made;
}

/** The same clock runs on, and decoders get their turn, until nothing is left to do; real time bounds it. */
async function quiet(h: Harness, done: () => boolean | Promise<boolean>): Promise<void> {
  const until = performance.now() + 500;
  for (let i = 0; i < 6 || (performance.now() < until && !(await done())); i++) {
    h.clock.advance(i < 3 ? 500 : 5_000);
    await turn();
    await turn();
  }
}

async function play(envoy: EnvoyDouble, h: Harness, step: Step): Promise<Reply[]> {
  switch (step.kind) {
    case 'request_headers': return envoy.requestHeaders(step.headers, step.end);
    case 'request_body': return envoy.requestBody(step.bytes, step.end);
    case 'request_trailers': return envoy.requestTrailers();
    case 'response_headers': return envoy.responseHeaders(step.headers, step.end, step.details);
    case 'response_body': return envoy.responseBody(step.bytes, step.end);
    case 'response_trailers': return envoy.responseTrailers();
    case 'wait':
      h.clock.advance(step.ms);
      await turn();
      return [];
    case 'pause':
      await standStill(h);
      return [];
    case 'end':
      return endedBy(envoy, h);
    case 'close':
      await envoy.cancel();
      return [];
  }
}

async function endedBy(envoy: EnvoyDouble, h: Harness): Promise<Reply[]> {
  const before = envoy.replies.length;
  enders.get(h)!.endLatest();
  await turn();
  return envoy.replies.slice(before);
}

const PAUSE_MS = 15_000;
/** How far other processors have lived on while ours stood still. */
const stoodStillMs = new WeakMap<Harness, number>();

/** Another processor lives on, and takes all that runs for dead. */
async function standStill(h: Harness): Promise<void> {
  const before = stoodStillMs.get(h) ?? 0;
  for (let ms = 1_000; ms <= PAUSE_MS; ms += 1_000) await h.store.reap(h.clock.nowMs() + before + ms);
  stoodStillMs.set(h, before + PAUSE_MS);
}

/** Nothing is held any more, and the books say what the records say. */
async function expectSettled(h: Harness, startMs: number): Promise<void> {
  const { records } = h.witness;
  expect(h.witness.leases).toBe(0);
  const acme = h.policy.tenants.get('acme')!;
  const { leases, levels, totals } = await h.store.snapshot(bucketSpecsOf(acme), h.clock.nowMs());
  expect(leases).toBe(0);
  const charged = records.flatMap(({ usage }) => usage ?? []);
  const sum = (of: (usage: (typeof charged)[number]) => number) => charged.reduce((total, usage) => total + of(usage), 0);
  expect(totals.get('acme') ?? { requests: 0, inputTokens: 0, outputTokens: 0 }).toMatchObject({
    requests: charged.length, inputTokens: sum(({ inputTokens }) => inputTokens), outputTokens: sum(({ outputTokens }) => outputTokens),
  });
  // What was settled for dead and put right later adds up to the truth.
  const events = (await h.store.recentEvents(1_000)).filter(({ tenantId }) => tenantId === 'acme');
  const eventSum = (of: (event: (typeof events)[number]) => number) => events.reduce((total, event) => total + of(event), 0);
  expect([eventSum(({ inputTokens }) => inputTokens), eventSum(({ outputTokens }) => outputTokens)]).toEqual([sum(({ inputTokens }) => inputTokens), sum(({ outputTokens }) => outputTokens)]);
  expect(events.filter(({ corrects }) => !corrects)).toHaveLength(charged.length);
  for (const record of records) if (record.decision === 'refused' || record.decision === 'passed') expect(record.usage).toBeNull();
  // What shadow would have refused is charged to no limit.
  const booked = records.filter(({ decision, usage }) => decision === 'admitted' && usage !== null);
  const refilled = (h.clock.nowMs() - startMs + (stoodStillMs.get(h) ?? 0)) / 60_000;
  const expected = { tokens: booked.reduce((total, { usage }) => total + usage!.inputTokens + usage!.outputTokens, 0), requests: booked.length, inputTokens: 0, outputTokens: 0, concurrency: 0 };
  for (const { dimension, capacity, remaining } of levels) {
    const used = expected[dimension];
    expect(remaining).toBeGreaterThanOrEqual(capacity - used);
    expect(remaining).toBeLessThanOrEqual(Math.min(capacity, Math.ceil(capacity - used + refilled)));
  }
}

function bytesOf(replies: readonly Reply[], phase: 'request_body' | 'response_body', sent: readonly Buffer[]): Buffer {
  let message = 0;
  return Buffer.concat(replies.flatMap((reply) => {
    const part = reply[phase];
    if (!part) return [];
    const mutation = part.response?.body_mutation;
    const original = sent[message++] ?? Buffer.alloc(0);
    if (mutation?.streamed_response) return [mutation.streamed_response.body as Buffer];
    if (mutation?.clear_body === true) return [];
    return [(mutation?.body as Buffer | undefined) ?? original];
  }));
}

describe('session, whatever Envoy sends', () => {
  it('leaks nothing, throws nothing and books what it records, in any order of any messages', async () => {
    const scenario = fc.record({
      modes: fc.constantFrom<Modes>(...MODES), enforcement: fc.constantFrom(...ENFORCEMENTS), small: fc.boolean(), trouble: troubles,
      sessions: fc.array(fc.oneof(fc.array(anyStep, { maxLength: 14 }), { weight: 2, arbitrary: disturbed }), { minLength: 1, maxLength: 2 }),
    });
    await fc.assert(fc.asyncProperty(scenario, async ({ modes, enforcement, small, trouble, sessions }) => {
      const h = world(enforcement, small, trouble);
      const startMs = h.clock.nowMs();
      let begun = 0;
      for (const steps of sessions) {
        const envoy = new EnvoyDouble(h, modes);
        let began = false;
        for (const step of steps) {
          const open = envoy.failure === null;
          if (step.kind === 'close') break;
          if (step.kind === 'request_headers' && open) began = true;
          await play(envoy, h, step);
        }
        await envoy.cancel();
        if (began) begun++;
        if (enforcement !== 'enforce') for (const reply of envoy.replies) expect(editsOf(reply)).toEqual({ set: {}, removed: [] });
        expect(envoy.replies.filter(({ immediate_response }) => immediate_response).length).toBeLessThanOrEqual(enforcement === 'enforce' ? 1 : 0);
      }
      const counted = async () => h.witness.records.length >= begun && h.witness.leases === 0 && (await h.store.snapshot([], 0)).leases === 0;
      await quiet(h, counted);
      expect(h.witness.records).toHaveLength(begun);
      expect(h.witness.faults.filter((kind) => kind === 'session')).toEqual([]);
      await expectSettled(h, startMs);
    }), RUNS);
  }, TIMEOUT_MS);
});

describe('session, in the order that Envoy keeps', () => {
  const scenario = fc.record({
    modes: fc.constantFrom<Modes>(...MODES), enforcement: fc.constantFrom(...ENFORCEMENTS), request: requestPlan, answered: answerPlan,
    requestCuts: cuts, answerCuts: cuts, requestTrailers: fc.boolean(), answerTrailers: fc.boolean(),
    delayMs: fc.constantFrom(0, 300), closeAfter: fc.option(fc.nat(16)),
  });

  it('answers each message once, forwards the right bytes, and charges what the answer tells', async () => {
    await fc.assert(fc.asyncProperty(scenario, async (plan) => {
      const { modes, enforcement, request, answered, delayMs } = plan;
      const h = world(enforcement, false, { ...NO_TROUBLE, reserveDelaysMs: [delayMs] });
      const startMs = h.clock.nowMs();
      const envoy = new EnvoyDouble(h, modes);
      const duplex = { request: modes.request === 'FULL_DUPLEX_STREAMED', response: modes.response === 'FULL_DUPLEX_STREAMED' };
      const body = requestBody(request);
      const reply = answer(answered, request.stream);
      const requestPieces = duplex.request ? pieces(body, plan.requestCuts) : [body];
      const answerPieces = modes.response === 'NONE' ? [] : modes.response === 'BUFFERED' ? [reply.bytes] : pieces(reply.bytes, plan.answerCuts);
      const requestTrailers = plan.requestTrailers && duplex.request;
      const answerTrailers = plan.answerTrailers && modes.response !== 'NONE';
      const steps: Step[] = [
        { kind: 'request_headers', headers: { authorization: 'Bearer key-acme' }, end: false },
        ...requestPieces.map((bytes, i): Step => ({ kind: 'request_body', bytes, end: !requestTrailers && i === requestPieces.length - 1 })),
        ...(requestTrailers ? [{ kind: 'request_trailers' } as Step] : []),
        { kind: 'response_headers', headers: reply.headers, end: false, details: 'via_upstream' },
        ...answerPieces.map((bytes, i): Step => ({ kind: 'response_body', bytes, end: !answerTrailers && i === answerPieces.length - 1 })),
        ...(answerTrailers ? [{ kind: 'response_trailers' } as Step] : []),
      ];
      const played = steps.slice(0, plan.closeAfter ?? steps.length);
      for (const step of played) await playLegally(envoy, h, step, duplex);
      await envoy.cancel();
      await quiet(h, () => h.witness.leases === 0 && h.witness.records.length === 1);
      expect(h.witness.records).toHaveLength(played.length === 0 ? 0 : 1);
      expect(h.witness.errors).toEqual([]);
      expect(envoy.failure).toBeNull();
      await expectSettled(h, startMs);
      if (played.length < steps.length) return;
      const spliced = enforcement === 'enforce' && request.stream && !request.asks && modes.response !== 'NONE';
      const inserted = '"stream_options":{"include_usage":true},';
      const forwarded = bytesOf(envoy.replies, 'request_body', requestPieces).toString();
      expect(forwarded).toBe(spliced ? `{${inserted}${body.toString().slice(1)}` : body.toString());
      if (modes.response !== 'NONE') {
        const client = bytesOf(envoy.replies, 'response_body', answerPieces);
        expect(client.equals(spliced ? reply.withoutUsage : reply.bytes)).toBe(true);
      }
      const told = answered.usage;
      if (enforcement !== 'off' && told !== null && modes.response !== 'NONE') {
        expect(h.witness.records[0]!.usage).toMatchObject({ inputTokens: told.input, outputTokens: told.output });
      }
    }), RUNS);
  }, TIMEOUT_MS);
});

describe('session, ended by its pool at any moment', () => {
  const scenario = fc.record({
    modes: fc.constantFrom<Modes>(...MODES), enforcement: fc.constantFrom(...ENFORCEMENTS), request: requestPlan, answered: answerPlan,
    answerCuts: cuts, answerTrailers: fc.boolean(), endAt: fc.nat(10), silentMs: fc.constantFrom(0, 0, 50, 1_000),
  });

  it('gives the client whole events and one end, answers nothing after it, and books what it records', async () => {
    await fc.assert(fc.asyncProperty(scenario, async ({ modes, enforcement, request, answered, answerCuts, answerTrailers, endAt, silentMs }) => {
      const h = world(enforcement, false, NO_TROUBLE);
      const startMs = h.clock.nowMs();
      const envoy = new EnvoyDouble(h, modes);
      const reply = answer(answered, request.stream);
      const parts = modes.response === 'NONE' ? [] : modes.response === 'BUFFERED' ? [reply.bytes] : pieces(reply.bytes, answerCuts);
      const steps: Step[] = [
        { kind: 'request_headers', headers: { authorization: 'Bearer key-acme' }, end: false },
        { kind: 'request_body', bytes: requestBody(request), end: true },
        { kind: 'response_headers', headers: reply.headers, end: false, details: 'via_upstream' },
        ...parts.map((bytes, i): Step => ({ kind: 'response_body', bytes, end: !answerTrailers && i === parts.length - 1 })),
        ...(answerTrailers && modes.response !== 'NONE' ? [{ kind: 'response_trailers' } as Step] : []),
      ];
      steps.splice(Math.min(steps.length, endAt + 2), 0, { kind: 'end' }, { kind: 'wait', ms: silentMs });
      let over = false;
      const sent: Buffer[] = [];
      for (const step of steps) {
        const replies = [...(await play(envoy, h, step))];
        // Decoders take their turns.
        for (let i = 0; i < 4; i++) await turn();
        if (over) expect(replies).toEqual([]);
        if (!over && step.kind === 'response_body') sent.push(step.bytes);
        over ||= envoy.replies.some((each) => each.immediate_response || (step.kind === 'end' && each.response_body?.response?.body_mutation?.streamed_response?.end_of_stream));
      }
      await envoy.cancel();
      await quiet(h, () => h.witness.leases === 0 && h.witness.records.length === 1);
      expect(h.witness.errors).toEqual([]);
      expect(envoy.failure).toBeNull();
      const [record] = h.witness.records;
      expect(record!.outcome === 'ended').toBe(record!.endReason !== null);
      if (enforcement !== 'enforce') expect(record!.endReason).toBeNull();
      await expectSettled(h, startMs);
      const client = bytesOf(envoy.replies, 'response_body', sent).toString();
      if (record!.outcome !== 'ended' || answered.coding !== 'identity' || client === '') return;
      for (const event of wholeEvents(client)) if (event !== 'data: [DONE]') JSON.parse(event.replace(/^data: /, ''));
      if (modes.response === 'FULL_DUPLEX_STREAMED') expect(client).toContain('"stream_ended"');
    }), RUNS);
  }, TIMEOUT_MS);
});

/** All events of a stream but one that is not closed, and one that was closed before its end since its rest did not come. */
function wholeEvents(stream: string): string[] {
  const events = stream.split('\n\n').slice(0, -1);
  return events.filter((event, i) => event !== '' && !events[i + 1]?.includes('"stream_ended"'));
}

/** Plays a step and waits for its answer, where Envoy would. */
async function playLegally(envoy: EnvoyDouble, h: Harness, step: Step, duplex: { request: boolean; response: boolean }): Promise<void> {
  const before = envoy.replies.length;
  await play(envoy, h, step);
  const pieceOnly = (step.kind.startsWith('request') ? duplex.request : duplex.response) && !endsItsHalf(step);
  if (!pieceOnly) {
    for (const until = performance.now() + 2_000; performance.now() < until && !isAnswered(step, envoy.replies.slice(before)); ) {
      h.clock.advance(1);
      await turn();
    }
  }
  await turn();
  await turn();
  const phases = envoy.replies.slice(before).map((reply) => Object.keys(reply).find((key) => PHASES.has(key)));
  if (!pieceOnly) expect(isAnswered(step, envoy.replies.slice(before))).toBe(true);
  if (!duplex.request && !duplex.response) expect(phases).toEqual([step.kind]);
}

const PHASES = new Set<string | undefined>(['request_headers', 'request_body', 'request_trailers', 'response_headers', 'response_body', 'response_trailers', 'immediate_response']);

/** The last message of a request or of an answer: in duplex mode too, it is answered. */
function endsItsHalf(step: Step): boolean {
  return step.kind.endsWith('trailers') || ('end' in step && step.end) || step.kind === 'response_headers';
}

/** Pieces of before may come late; the end of a body in duplex mode says that it is one. */
function isAnswered(step: Step, replies: readonly Reply[]): boolean {
  return replies.some((reply) => {
    if (!(step.kind in reply)) return false;
    if (step.kind !== 'request_body' && step.kind !== 'response_body') return true;
    const piece = reply[step.kind]?.response?.body_mutation?.streamed_response;
    return !piece || !step.end || piece.end_of_stream === true;
  });
}
