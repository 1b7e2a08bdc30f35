import { describe, expect, it } from 'vitest';
import { PATIENCE_MS } from '../../../src/extproc/early-end.js';
import type { Reply } from '../../../src/extproc/protocol.js';
import { createMemoryStore } from '../../../src/stores/memory.js';
import { endingPools, OPEN_POOL } from '../../support/ending-pool.js';
import { BUFFERED, DUPLEX, EnvoyDouble, type Modes } from '../../support/envoy-double.js';
import { harness, limit, policyOf, settled, tenant } from '../../support/harness.js';

const SSE = { 'content-type': 'text/event-stream' };
const event = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const chunkOf = (reply: Reply | undefined) => {
  const mutation = reply?.response_body?.response?.body_mutation;
  return { text: String(mutation?.streamed_response?.body ?? mutation?.body ?? ''), end: mutation?.streamed_response?.end_of_stream ?? null };
};
const statusOf = (reply: Reply | undefined) => reply?.immediate_response?.status?.code ?? null;

function world(modes: Modes, more: { enforcement?: 'shadow' } = {}) {
  const ending = endingPools();
  const policy = policyOf([tenant('acme', [limit('tokens', 1, { capacity: 100_000 })])], { pools: [OPEN_POOL], ...more });
  const h = harness(policy, createMemoryStore(), undefined, ending.pools);
  const envoy = new EnvoyDouble(h, modes);
  const end = async (why?: 'pressure'): Promise<Reply[]> => {
    const before = envoy.replies.length;
    ending.endLatest(why);
    await settled();
    return envoy.replies.slice(before);
  };
  return { h, envoy, end };
}

async function asked(modes: Modes, body: object = {}, more: { enforcement?: 'shadow' } = {}) {
  const made = world(modes, more);
  await made.envoy.requestHeaders({ authorization: 'Bearer key-acme' });
  await made.envoy.requestBody(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true, stream_options: { include_usage: true }, ...body }));
  return made;
}

async function streaming(modes: Modes, body: object = {}) {
  const made = await asked(modes, body);
  await made.envoy.responseHeaders(SSE);
  await made.envoy.responseBody(event('one'));
  return made;
}

describe('the pool ends a request (point 4)', () => {
  it('FULL_DUPLEX: the error at once, as the clean end; what comes later is neither counted nor answered', async () => {
    const { h, envoy, end } = await streaming(DUPLEX);
    const [reply, ...others] = await end();
    expect(chunkOf(reply)).toMatchObject({ end: true });
    expect(chunkOf(reply).text).toContain('"code":"stream_ended"');
    expect(others).toEqual([]);
    expect(await envoy.responseBody(event('two'))).toEqual([]);
    expect(await envoy.responseBody(event('three'), true)).toEqual([]);
    expect(await envoy.responseTrailers()).toEqual([]);
    await envoy.cancel();
    expect(h.witness.records).toHaveLength(1);
    expect(h.witness.records[0]).toMatchObject({ outcome: 'ended', endReason: 'reclaimed', decision: 'admitted', status: 200, usage: { outputTokens: 1 } });
    expect(h.witness.leases).toBe(0);
    expect(h.witness.faults).toEqual([]);
  });

  it('STREAMED: the error takes the next chunk, and an answer behind it makes Envoy reset both sides', async () => {
    const { h, envoy, end } = await streaming(BUFFERED);
    expect(await end()).toEqual([]);
    const [chunk, reset, ...others] = await envoy.responseBody(event('two'));
    expect(chunkOf(chunk).text).toContain('stream_ended');
    expect(chunkOf(chunk).text).not.toContain('two');
    expect(statusOf(reset)).toBe(429);
    expect(others).toEqual([]);
    expect(await envoy.responseBody('', true)).toEqual([]);
    expect(await envoy.responseTrailers()).toEqual([]);
    h.clock.advance(PATIENCE_MS);
    await envoy.cancel();
    expect(envoy.replies.filter(({ immediate_response }) => immediate_response)).toHaveLength(1);
    expect(h.witness.records[0]).toMatchObject({ outcome: 'ended', usage: { outputTokens: 1 } });
  });

  it.each([['BUFFERED', BUFFERED], ['DUPLEX', DUPLEX]])('%s: the access log gets the facts', async (_name, modes) => {
    const { envoy, end } = await streaming(modes);
    const replies = [...(await end('pressure')), ...(await envoy.responseBody(event('two')))];
    const fields = replies[0]?.dynamic_metadata?.fields?.['tokenweir']?.structValue?.fields;
    expect([fields?.['outcome']?.stringValue, fields?.['end_reason']?.stringValue]).toEqual(['ended', 'pressure']);
  });

  it('STREAMED, silent: after a moment the reset alone', async () => {
    const { h, envoy, end } = await streaming(BUFFERED);
    await end();
    h.clock.advance(PATIENCE_MS - 1);
    expect(envoy.answered).toBeNull();
    h.clock.advance(1);
    expect(envoy.answered).toBe(429);
  });

  it.each([['BUFFERED', BUFFERED], ['DUPLEX', DUPLEX]])('%s, within an event: its rest first, and nothing of the one behind it', async (_name, modes) => {
    const { envoy, end } = await streaming(modes);
    const two = event('two');
    await envoy.responseBody(two.slice(0, 20));
    expect(await end()).toEqual([]);
    const first = await envoy.responseBody(two.slice(20, 30));
    expect(first).toHaveLength(1);
    const [chunk] = await envoy.responseBody(`${two.slice(30)}${event('three')}`);
    const { text } = chunkOf(chunk);
    expect(text.startsWith(two.slice(30))).toBe(true);
    expect(text.slice(two.length - 30)).toMatch(/^data: \{"error":.*\n\n$/);
  });

  it('FULL_DUPLEX, within an event whose rest never comes: that event is closed, and the error follows', async () => {
    const { h, envoy, end } = await streaming(DUPLEX);
    await envoy.responseBody('data: {"cho');
    await end();
    h.clock.advance(PATIENCE_MS);
    expect(chunkOf(envoy.replies.at(-1)).text).toMatch(/^\n\ndata: \{"error"/);
    expect(chunkOf(envoy.replies.at(-1)).end).toBe(true);
  });

  it('what is held back to hide our own usage is dropped: the client has nothing of it', async () => {
    const { envoy, end } = await streaming(DUPLEX, { stream_options: undefined });
    await envoy.responseBody('data: {"cho');
    const [reply] = await end();
    expect(chunkOf(reply).text).toMatch(/^data: \{"error"/);
  });

  it.each([['BUFFERED', BUFFERED], ['DUPLEX', DUPLEX]])('%s, before the answer: a refusal at once, nothing is charged, and the headers that crossed it want no answer', async (_name, modes) => {
    const { h, envoy, end } = await asked(modes);
    expect((await end()).map(statusOf)).toEqual([429]);
    expect(envoy.answer.body).toMatchObject({ tokenweir: { limit: 'pool_busy', scope: { kind: 'pool', id: 'open' }, retryAfterKind: 'estimate' } });
    expect(await envoy.responseHeaders(SSE)).toEqual([]);
    await envoy.cancel();
    expect(h.witness.records).toHaveLength(1);
    expect(h.witness.records[0]).toMatchObject({ outcome: 'ended', status: 429, usage: { inputTokens: 0, outputTokens: 0 } });
    expect((await h.pools.snapshot('open', h.clock.nowMs()))?.inFlight).toBe(0);
  });

  it('an answer that is no stream, and one that told its end, are let run to their ends', async () => {
    const json = await asked(BUFFERED, { stream: false, stream_options: undefined });
    await json.envoy.responseHeaders();
    expect(await json.end()).toEqual([]);
    json.h.clock.advance(PATIENCE_MS);
    await json.envoy.responseBody('{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}', true);
    expect(json.h.witness.records[0]).toMatchObject({ outcome: 'completed', endReason: null, usage: { outputTokens: 1 } });
    const done = await streaming(DUPLEX);
    await done.envoy.responseBody('data: [DONE]\n\n');
    expect(await done.end()).toEqual([]);
    await done.envoy.responseBody('', true);
    expect(done.h.witness.records[0]!.outcome).toBe('completed');
  });

  it('a stream that ends by itself meanwhile is whole', async () => {
    const { h, envoy, end } = await streaming(BUFFERED);
    await end();
    await envoy.responseBody(`${event('two')}data: [DONE]\n\n`, true);
    h.clock.advance(PATIENCE_MS);
    expect(envoy.answered).toBeNull();
    expect(h.witness.records[0]!.outcome).toBe('completed');
  });

  it('told twice, or after the end, it does nothing more', async () => {
    const { h, envoy, end } = await streaming(DUPLEX);
    await end();
    expect(await end()).toEqual([]);
    await envoy.cancel();
    expect(await end()).toEqual([]);
    expect(h.witness.records).toHaveLength(1);
  });

  it('shadow changes nothing', async () => {
    const { h, envoy, end } = await asked(BUFFERED, {}, { enforcement: 'shadow' });
    expect(await end()).toEqual([]);
    await envoy.responseHeaders(SSE);
    await envoy.responseBody(event('one'));
    expect(await end()).toEqual([]);
    h.clock.advance(PATIENCE_MS);
    expect(envoy.answered).toBeNull();
  });
});
