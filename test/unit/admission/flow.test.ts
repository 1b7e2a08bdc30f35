import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../src/admission/exchange.js';
import type { RequestHead, Stage } from '../../../src/admission/head.js';
import type { Store } from '../../../src/domain/store.js';
import { createMemoryStore } from '../../../src/stores/memory.js';
import { harness, limit, policyOf, settled, tenant, type Harness } from '../../support/harness.js';

const body = (more: Record<string, unknown> = {}) => Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }], max_tokens: 50, ...more }));
const usage = (input: number, output: number, cached = 0) =>
  Buffer.from(JSON.stringify({ choices: [{ message: { content: 'x' } }], usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, prompt_tokens_details: { cached_tokens: cached } } }));

function head(more: Partial<Omit<RequestHead, 'headers'>> & { headers?: Record<string, string> } = {}): RequestHead {
  return {
    method: 'POST', path: '/v1/chat/completions', endOfStream: false, stage: 'front' as Stage, externalId: null, metadata: () => undefined, ...more,
    headers: new Map(Object.entries(more.headers ?? { authorization: 'Bearer key-a' })),
  };
}
const response = (status = 200, more = {}) => ({ status, headers: new Map([['content-type', 'application/json']]), endOfStream: false, fromUpstream: true, ...more });

/** A whole exchange; @returns its status. */
async function ask(h: Harness, request: Buffer, answer: Buffer | number = usage(10, 10), key = 'key-a'): Promise<number> {
  const exchange = new Exchange(h.admission, head({ headers: { authorization: `Bearer ${key}` } }));
  if (exchange.begin().kind !== 'read_body') return 401;
  const verdict = await exchange.decide(request);
  if (verdict.kind === 'answer') return verdict.answer.status;
  const status = typeof answer === 'number' ? answer : 200;
  exchange.respond(response(status), true);
  if (typeof answer !== 'number') exchange.push(answer);
  exchange.finish();
  await settled();
  return status;
}

describe('flow of a request', () => {
  it('failed requests count against requests/min, but cost no tokens (BerriAI/litellm#21312)', async () => {
    const h = harness(policyOf([tenant('a', [limit('requests', 20), limit('tokens', 10_000)])]));
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) statuses.push(await ask(h, body(), 400));
    expect(statuses.filter((status) => status === 400)).toHaveLength(20);
    expect(statuses.slice(20)).toEqual([429, 429, 429, 429, 429]);
    expect((await h.store.snapshot([], 0)).totals.get('a')).toMatchObject({ inputTokens: 0, outputTokens: 0 });
  });

  it('a tenant’s parents bound it too, and are charged', async () => {
    const h = harness(policyOf([tenant('org', [limit('tokens', 150)]), tenant('a', [limit('tokens', 1000)], { parentId: 'org' }), tenant('b', [], { parentId: 'org' })]));
    expect(await ask(h, body(), usage(50, 50))).toBe(200);
    expect(await ask(h, body(), usage(1, 1), 'key-b')).toBe(429);
    const refusal = h.witness.records.at(-1)!.refusal;
    expect(refusal).toMatchObject({ kind: 'limited', scope: { kind: 'parent', id: 'org' } });
  });

  it('settles although the store refuses the call at first: counted, tried again, never silent (agentgateway/agentgateway#3282)', async () => {
    const memory = createMemoryStore();
    let refusals = 2;
    const settle = memory.settle.bind(memory);
    const flaky: Store = memory;
    flaky.settle = (...args) => (refusals-- > 0 ? Promise.reject(new Error('refused')) : settle(...args));
    const h = harness(policyOf([tenant('a', [limit('tokens', 1000)])]), flaky);
    await ask(h, body(), usage(40, 60));
    for (let i = 0; i < 5; i++) {
      h.clock.advance(10_000);
      await settled();
    }
    expect((await memory.snapshot([], h.clock.nowMs())).totals.get('a')).toMatchObject({ inputTokens: 40, outputTokens: 60 });
    expect(h.witness.faults).toEqual(['settle', 'settle']);
    expect(h.witness.storeCalls.filter(({ op, failed }) => op === 'settle' && failed)).toHaveLength(2);
  });

  it('a store that fails at the decision lets the request pass, with a metric and a fault', async () => {
    const failing = createMemoryStore();
    failing.reserve = () => Promise.reject(new Error('away'));
    const h = harness(policyOf([tenant('a', [limit('tokens', 1000)])]), failing);
    const exchange = new Exchange(h.admission, head());
    exchange.begin();
    expect((await exchange.decide(body())).kind).toBe('forward');
    exchange.close();
    expect(h.witness.passed).toEqual(['store_failed']);
    expect(h.witness.faults).toEqual(['store']);
  });

  it('output beyond the reservation is charged while it runs', async () => {
    const h = harness(policyOf([tenant('a', [limit('outputTokens', 1000)])], { unknownOutputTokens: 10 }));
    const exchange = new Exchange(h.admission, head());
    exchange.begin();
    await exchange.decide(body({ max_tokens: undefined, stream: true }));
    exchange.respond(response(200, { headers: new Map([['content-type', 'text/event-stream']]) }), true);
    const spec = { key: 'a/*:outputTokens', tenantId: 'a', dimension: 'outputTokens' as const, limit: 1000, capacity: 1000, countCachedInput: true };
    const left = async () => (await h.store.snapshot([spec], 1_000_000)).levels[0]!.remaining;
    expect(await left()).toBe(990);
    for (let i = 0; i < 100; i++) exchange.push(Buffer.from(`data: {"choices":[{"delta":{"content":" another word"}}]}\n\n`));
    h.clock.advance(250);
    await settled();
    expect(await left()).toBeLessThan(900);
    exchange.close();
    await settled();
    expect(h.witness.leases).toBe(0);
  });

  it('more than a limit can ever hold is a 400 of its own kind, judged by the lower bound and the explicit cap only', async () => {
    const h = harness(policyOf([tenant('a', [limit('tokens', 100)])]));
    expect(await ask(h, body({ max_tokens: 500 }))).toBe(400);
    expect(h.witness.records.at(-1)).toMatchObject({ decision: 'refused', reason: 'request_too_large' });
    // No cap: what is only guessed is cut to what the bucket holds.
    expect(await ask(h, body({ max_tokens: undefined }))).toBe(200);
  });

  it('learns from true usage: the next request without a cap reserves what answers usually need', async () => {
    const h = harness(policyOf([tenant('a', [limit('tokens', 1_000_000)])], { unknownOutputTokens: 5000 }));
    for (let i = 0; i < 50; i++) await ask(h, body({ max_tokens: undefined }), usage(9, 20));
    const { reservedOutputTokens } = h.witness.records.at(-1)!;
    expect(reservedOutputTokens).toBeGreaterThanOrEqual(20);
    expect(reservedOutputTokens).toBeLessThan(100);
  });

  it('an error inside a 200 before any output costs nothing; after output it costs what passed', async () => {
    const sse = { headers: new Map([['content-type', 'text/event-stream']]) };
    const error = Buffer.from('data: {"error":{"message":"overloaded","code":503}}\n\n');
    for (const [first, outcome] of [[null, 'upstream_failed'], [Buffer.from('data: {"choices":[{"delta":{"content":"some text"}}]}\n\n'), 'completed']] as const) {
      const h = harness(policyOf([tenant('a', [limit('tokens', 1000)])]));
      const exchange = new Exchange(h.admission, head());
      exchange.begin();
      await exchange.decide(body({ stream: true }));
      exchange.respond(response(200, sse), true);
      if (first !== null) exchange.push(first);
      exchange.push(error);
      exchange.finish();
      expect(h.witness.records[0]).toMatchObject({ outcome });
      expect(h.witness.records[0]!.usage!.outputTokens > 0).toBe(first !== null);
    }
  });

  it('alone in front of model servers an unknown key gets nowhere that can do work; in front of a gateway only metered paths are refused', () => {
    const h = harness(policyOf([tenant('a')]));
    const kinds = (stage: Stage) =>
      [['POST', '/v1/chat/completions'], ['POST', '/v1/things'], ['GET', '/health'], ['OPTIONS', '/v1/chat/completions']].map(
        ([method, path]) => new Exchange(h.admission, head({ stage, method, path, headers: {} })).begin().kind,
      );
    expect(kinds('front')).toEqual(['answer', 'pass', 'pass', 'pass']);
    expect(kinds('both')).toEqual(['answer', 'answer', 'pass', 'pass']);
    expect(kinds('back')).toEqual(['pass', 'pass', 'pass', 'pass']);
  });

  it('APIs without output reserve none, and are charged their input', async () => {
    const h = harness(policyOf([tenant('a', [limit('tokens', 1000), limit('outputTokens', 100)])]));
    const exchange = new Exchange(h.admission, head({ path: '/v1/embeddings' }));
    exchange.begin();
    expect((await exchange.decide(Buffer.from(JSON.stringify({ model: 'e', input: 'some text' })))).kind).toBe('forward');
    exchange.respond(response(), true);
    exchange.push(Buffer.from(JSON.stringify({ data: [{ embedding: [1] }], usage: { prompt_tokens: 3, total_tokens: 3 } })));
    exchange.finish();
    expect(h.witness.records).toMatchObject([{ api: 'openai-embeddings', reservedOutputTokens: 0, usage: { inputTokens: 3, outputTokens: 0 }, estimated: false }]);
  });

  it('usage that only the headers of an answer tell is taken (InvokeModel of Mistral), also where its body is not shown', async () => {
    const headers = new Map([['content-type', 'application/json'], ['x-amzn-bedrock-input-token-count', '8'], ['x-amzn-bedrock-output-token-count', '5'], ['x-amzn-bedrock-cache-read-input-token-count', '2']]);
    for (const shown of [true, false]) {
      const h = harness(policyOf([tenant('a', [limit('tokens', 1000)])]));
      const exchange = new Exchange(h.admission, head({ path: '/model/mistral.mistral-large-2402-v1:0/invoke' }));
      exchange.begin();
      await exchange.decide(Buffer.from(JSON.stringify({ prompt: '<s>[INST] Hi [/INST]', max_tokens: 20 })));
      exchange.respond(response(200, { headers }), shown);
      if (shown) exchange.push(Buffer.from(JSON.stringify({ outputs: [{ text: 'Hello.', stop_reason: 'stop' }] })));
      exchange.finish();
      expect(h.witness.records).toMatchObject([{ usage: { inputTokens: 10, cachedInputTokens: 2, outputTokens: 5 }, estimated: false }]);
    }
  });

  it('background: metered by its estimate, or refused with the field named', async () => {
    const request = Buffer.from(JSON.stringify({ model: 'm', input: 'Write a report.', background: true, max_output_tokens: 80 }));
    const start = async (background: 'meter' | 'reject') => {
      const h = harness(policyOf([tenant('a', [limit('tokens', 1000)])], { background }));
      const exchange = new Exchange(h.admission, head({ path: '/v1/responses' }));
      exchange.begin();
      return { h, exchange, verdict: await exchange.decide(request) };
    };
    const { h, exchange } = await start('meter');
    exchange.respond(response(), true);
    exchange.push(Buffer.from(JSON.stringify({ id: 'r', object: 'response', status: 'queued', output: [], usage: null })));
    exchange.finish();
    const [record] = h.witness.records;
    expect(record).toMatchObject({ estimated: true, outcome: 'completed', usage: { inputTokens: record!.estimatedInputTokens } });
    expect(record!.usage!.outputTokens).toBeGreaterThan(0);
    expect(record!.usage!.outputTokens).toBeLessThanOrEqual(80);
    const { verdict } = await start('reject');
    expect(verdict).toMatchObject({ kind: 'answer', answer: { status: 400 } });
    expect(verdict.kind === 'answer' && JSON.parse(verdict.answer.body)).toMatchObject({ error: { param: 'background' } });
  });

  it('unknownPaths: reject', () => {
    const h = harness(policyOf([tenant('a')], { unknownPaths: 'reject' }));
    const verdict = new Exchange(h.admission, head({ path: '/v1/some/thing' })).begin();
    expect(verdict.kind === 'answer' && verdict.answer.status).toBe(404);
  });

  it('session, merge key, retry and kind of work are in the books', async () => {
    const h = harness(policyOf([tenant('a')]));
    const headers = { authorization: 'Bearer key-a', 'x-session-id': 's1', 'idempotency-key': 'k1', 'x-stainless-retry-count': '1' };
    const exchange = new Exchange(h.admission, head({ headers }));
    exchange.begin();
    await exchange.decide(body({ service_tier: 'flex' }));
    exchange.respond(response(), true);
    exchange.push(usage(1, 1));
    const { facts } = exchange.finish();
    await settled();
    expect(h.witness.records).toMatchObject([{ labels: { session: 's1', mergeKey: 'k1', retry: 1, work: 'background' } }]);
    expect(facts).toMatchObject({ session: 's1', work: 'background' });
    expect(await h.store.recentEvents(1)).toMatchObject([{ session: 's1' }]);
  });

  it('one limit in shadow records what it would refuse, while the others are enforced', async () => {
    const h = harness(policyOf([tenant('a', [limit('tokens', 60, { enforcement: 'shadow' }), limit('requests', 2)])]));
    const statuses = [await ask(h, body(), usage(30, 30)), await ask(h, body(), usage(30, 30)), await ask(h, body())];
    expect(statuses).toEqual([200, 200, 429]);
    expect(h.witness.records.map(({ decision, reason }) => `${decision} ${reason}`)).toEqual([
      'admitted none', 'would_refuse tokens_per_minute', 'refused requests_per_minute',
    ]);
  });

  it('enforcement is switched at run time: the next request sees it', async () => {
    const h = harness(policyOf([tenant('a', [limit('requests', 1)])]));
    expect([await ask(h, body()), await ask(h, body())]).toEqual([200, 429]);
    h.policy = { ...h.policy, enforcement: 'shadow' };
    expect(await ask(h, body())).toBe(200);
    h.policy = { ...h.policy, enforcement: 'enforce' };
    expect(await ask(h, body())).toBe(429);
  });

  it('cached input is left out where the limit says so, after the first answer taught the share (BerriAI/litellm#18728)', async () => {
    const h = harness(policyOf([tenant('a', [limit('tokens', 10_000, { countCachedInput: false })])]));
    await ask(h, body({ max_tokens: 1 }), usage(9_900, 100, 8_000));
    const spec = { key: 'a/*:tokens', tenantId: 'a', dimension: 'tokens' as const, limit: 10_000, capacity: 10_000, countCachedInput: false };
    expect((await h.store.snapshot([spec], h.clock.nowMs())).levels[0]!.remaining).toBe(8_000);
  });
});
