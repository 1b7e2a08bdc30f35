import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../src/admission/exchange.js';
import type { LedgerEvent, ReserveRequest } from '../../../src/domain/lease.js';
import { LEASE_MS } from '../../../src/domain/store.js';
import { bucketSpecsOf } from '../../../src/quota/charges.js';
import { createMemoryStore } from '../../../src/stores/memory.js';
import { harness, limit, policyOf, settled, tenant, type Harness } from '../../support/harness.js';

const CAPACITY = 100_000;
/** Limits that refill by one a minute: their levels tell what was charged. */
const LIMITS = [limit('tokens', 1, { capacity: CAPACITY }), limit('requests', 1, { capacity: CAPACITY }), limit('concurrency', 5)];
const SSE = { status: 200, headers: new Map([['content-type', 'text/event-stream']]), endOfStream: false, fromUpstream: true };
const HEAD = { method: 'POST', path: '/v1/chat/completions', endOfStream: false, stage: 'front' as const, externalId: null, metadata: () => undefined };
const BODY = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'a question of some length' }], stream: true, max_tokens: 500 }));
const word = Buffer.from('data: {"choices":[{"delta":{"content":" word"}}]}\n\n');
const usage = (input: number, output: number) => Buffer.from(`data: {"choices":[],"usage":{"prompt_tokens":${input},"completion_tokens":${output},"total_tokens":${input + output}}}\n\n`);

const world = (): Harness => harness(policyOf([tenant('a', LIMITS)]));

async function asked(h: Harness): Promise<Exchange> {
  const exchange = new Exchange(h.admission, { ...HEAD, headers: new Map([['authorization', 'Bearer key-a'], ['x-session-id', 's1']]) });
  exchange.begin();
  expect((await exchange.decide(BODY)).kind).toBe('forward');
  return exchange;
}

/** So many seconds pass, in which another processor reaps. @returns how many it settled for dead. */
async function pass(h: Harness, seconds: number): Promise<number> {
  let reaped = 0;
  for (let i = 0; i < seconds; i++) {
    h.clock.advance(1_000);
    await settled();
    reaped += await h.store.reap(h.clock.nowMs());
  }
  return reaped;
}

/** Tokens and requests charged, and places taken. */
async function charged(h: Harness): Promise<{ tokens: number; requests: number; places: number; leases: number }> {
  const { levels, leases } = await h.store.snapshot(bucketSpecsOf(h.policy.tenants.get('a')!), h.clock.nowMs());
  const of = (i: number) => levels[i]!.capacity - levels[i]!.remaining;
  return { tokens: of(0), requests: of(1), places: of(2), leases };
}

const sum = (events: readonly LedgerEvent[], of: 'inputTokens' | 'outputTokens') => events.reduce((total, event) => total + event[of], 0);

describe('leases that outlive trouble (issue point 3)', () => {
  it('live as long as their exchange, however long the first token takes', async () => {
    const h = world();
    const exchange = await asked(h);
    expect(await pass(h, 300)).toBe(0);
    exchange.respond(SSE, true);
    expect(await pass(h, 300)).toBe(0);
    exchange.push(usage(11, 22));
    exchange.finish();
    await settled();
    expect(h.witness.settlements).toEqual(['settled']);
    expect(await charged(h)).toMatchObject({ places: 0, leases: 0 });
  });

  it('of a processor that died are settled by others, at the prompt and what its last renewal told, as estimated', async () => {
    const h = world();
    const exchange = await asked(h);
    exchange.respond(SSE, true);
    for (let i = 0; i < 40; i++) exchange.push(word);
    await pass(h, 1);
    h.admission.renewals.close();
    expect(await pass(h, LEASE_MS / 1_000 - 2)).toBe(0);
    expect(await pass(h, 3)).toBe(1);
    const [event, ...more] = await h.store.recentEvents(10);
    expect(more).toEqual([]);
    expect(event).toMatchObject({ outcome: 'abandoned', estimated: true, corrects: false, decision: 'admitted', session: 's1', outputTokens: 40, reservedOutputTokens: 500 });
    expect(event!.inputTokens).toBe(event!.reservedInputTokens);
    expect(event!.inputTokens).toBeGreaterThan(0);
    expect(await charged(h)).toEqual({ tokens: event!.inputTokens + 40, requests: 1, places: 0, leases: 0 });
  });

  it('of a processor that was only paused are put right: the difference is charged, once', async () => {
    const h = world();
    const exchange = await asked(h);
    exchange.respond(SSE, true);
    exchange.push(word);
    await pass(h, 1);
    // Paused: the others' clock goes on, ours and its timers do not.
    for (let i = 1; i <= 20; i++) await h.store.reap(h.clock.nowMs() + i * 1_000);
    expect(await h.store.recentEvents(10)).toMatchObject([{ outcome: 'abandoned' }]);
    exchange.push(usage(30, 12));
    exchange.finish();
    exchange.close();
    await settled();
    expect(h.witness.settlements).toEqual(['corrected']);
    const events = await h.store.recentEvents(10);
    expect(events.map(({ corrects }) => corrects)).toEqual([false, true]);
    expect([sum(events, 'inputTokens'), sum(events, 'outputTokens')]).toEqual([30, 12]);
    expect(await charged(h)).toEqual({ tokens: 42, requests: 1, places: 0, leases: 0 });
    expect((await h.store.snapshot([], 0)).totals.get('a')).toMatchObject({ requests: 1, inputTokens: 30, outputTokens: 12 });
  });

  it('of a processor that was paused run on where their streams do', async () => {
    const h = world();
    const exchange = await asked(h);
    exchange.respond(SSE, true);
    exchange.push(word);
    await pass(h, 1);
    for (let i = 1; i <= 20; i++) await h.store.reap(h.clock.nowMs() + i * 1_000);
    expect(await charged(h)).toMatchObject({ places: 0, leases: 0 });
    h.clock.advance(1_000);
    await settled();
    expect(await charged(h)).toMatchObject({ places: 1, leases: 1 });
    exchange.push(usage(30, 12));
    exchange.finish();
    await settled();
    expect(await charged(h)).toEqual({ tokens: 42, requests: 1, places: 0, leases: 0 });
  });

  it('that nobody dispatched are refunded whole, and booked nowhere', async () => {
    const h = world();
    const store = h.admission.store;
    // Died between the reservation and its answer.
    void store.reserve({ leaseId: 'lost', tenantId: 'a', rootId: 'a', owner: 'dead', nowMs: h.clock.nowMs(), enforced: bucketSpecsOf(h.policy.tenants.get('a')!).map((spec) => ({ ...spec, amount: 1, inputAmount: 0 })), shadowed: [], draft: await draftOf(h) });
    await settled();
    expect(await charged(h)).toEqual({ tokens: 1, requests: 1, places: 1, leases: 1 });
    expect(await pass(h, 12)).toBe(1);
    expect(await charged(h)).toEqual({ tokens: 0, requests: 0, places: 0, leases: 0 });
    expect(await h.store.recentEvents(10)).toEqual([]);
  });

  it('are booked in whole numbers, times too, whatever fractions the clock tells and however they end', async () => {
    const h = world();
    h.clock.advance(0.375);
    const whole = await asked(h);
    whole.respond(SSE, true);
    whole.push(usage(30, 12));
    whole.finish();
    const cut = await asked(h);
    cut.respond(SSE, true);
    cut.push(word);
    h.clock.advance(0.375);
    cut.close();
    const failed = await asked(h);
    failed.respond({ ...SSE, status: 500 }, false);
    failed.finish();
    const paused = await asked(h);
    paused.respond(SSE, true);
    paused.push(word);
    await pass(h, 1);
    for (let i = 1; i <= 20; i++) await h.store.reap(h.clock.nowMs() + i * 1_000.3);
    paused.push(usage(7, 3));
    paused.finish();
    const left = await asked(h);
    await pass(h, 1);
    for (let i = 1; i <= 20; i++) await h.store.reap(h.clock.nowMs() + i * 1_000.3);
    await h.store.cancel(left.facts()['request_id'] as string, h.clock.nowMs() + 30_000.7);
    await settled();
    const events = await h.store.recentEvents(10);
    expect(events.map(({ outcome, corrects }) => `${outcome} ${corrects}`)).toEqual(['completed false', 'cut false', 'upstream_failed false', 'abandoned false', 'completed true', 'abandoned false', 'abandoned true']);
    const numbers = events.flatMap(({ lines, ...figures }) => [...lines.map(({ tokens }) => tokens), ...Object.values(figures).filter((value) => typeof value === 'number')]);
    expect(numbers.length).toBeGreaterThan(7 * 8);
    expect(numbers.filter((value) => !Number.isSafeInteger(value))).toEqual([]);
  });

  it('that the client left between reservation and dispatch are given back whole (vllm-project/vllm-ascend#10812)', async () => {
    const memory = createMemoryStore();
    const reserve = memory.reserve.bind(memory);
    let answer = (): void => undefined;
    memory.reserve = async (request) => {
      const result = await reserve(request);
      await new Promise<void>((resolve) => { answer = resolve; });
      return result;
    };
    const h = harness(policyOf([tenant('a', LIMITS)]), memory);
    const exchange = new Exchange(h.admission, { ...HEAD, headers: new Map([['authorization', 'Bearer key-a']]) });
    exchange.begin();
    const deciding = exchange.decide(BODY);
    await settled();
    exchange.close();
    answer();
    await deciding;
    await settled();
    expect(await charged(h)).toEqual({ tokens: 0, requests: 0, places: 0, leases: 0 });
    expect(await pass(h, 12)).toBe(0);
    expect(h.witness.leases).toBe(0);
    expect(h.clock.pending).toBe(0);
  });
});

/** What a reservation of this tenant carries. */
async function draftOf(h: Harness): Promise<LedgerEvent> {
  return (await requestOf(h)).draft;
}

async function requestOf(h: Harness, tenantId = 'a'): Promise<ReserveRequest> {
  const seen: ReserveRequest[] = [];
  const store = createMemoryStore();
  const reserve = store.reserve.bind(store);
  store.reserve = (request) => { seen.push(request); return reserve(request); };
  const other = harness(h.policy, store);
  other.clock.advance(0.75);
  const exchange = new Exchange(other.admission, { ...HEAD, headers: new Map([['authorization', `Bearer key-${tenantId}`]]) });
  exchange.begin();
  await exchange.decide(BODY);
  return seen[0]!;
}

describe('what a reservation carries', () => {
  it('the root of the hierarchy, and an event in whole numbers as it is booked should nobody settle', async () => {
    const h = harness(policyOf([tenant('org'), tenant('unit', [], { parentId: 'org' }), tenant('a', LIMITS, { parentId: 'unit' })]));
    const { rootId, draft, leaseId } = await requestOf(h);
    expect(rootId).toBe('org');
    expect(await requestOf(h, 'org')).toMatchObject({ rootId: 'org', draft: { parentId: null } });
    expect(draft).toMatchObject({
      leaseId, requestId: leaseId, tenantId: 'a', parentId: 'unit', api: 'openai-chat', model: 'm', outcome: 'abandoned', estimated: true, outputTokens: 0,
      cachedInputTokens: 0, reservedOutputTokens: 500, startedAtMs: 1_000_000,
    });
    expect(draft.keyId).toMatch(/^[0-9a-f]{16}$/);
    expect(draft.lines).toEqual([{ model: 'm', serviceTier: null, kind: 'input', tokens: draft.inputTokens }]);
    const numbers = Object.values(draft).filter((value) => typeof value === 'number');
    expect(numbers.every(Number.isSafeInteger)).toBe(true);
  });
});
