import { brotliCompressSync, deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { harness, limit, policyOf, settled, tenant, type Harness } from '../../support/harness.js';
import { bodyOf, BUFFERED, DUPLEX, editsOf, EnvoyDouble, type Modes } from '../../support/envoy-double.js';

const KEY = { authorization: 'Bearer key-acme' };
const chat = (more: Record<string, unknown> = {}) => JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello there' }], max_tokens: 50, ...more });
const answer = (input: number, output: number) =>
  JSON.stringify({ model: 'm', choices: [{ message: { content: 'hi' } }], usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } });
const acme = () => policyOf([tenant('acme', [limit('requests', 10), limit('tokens', 1000), limit('concurrency', 4)])]);

async function inFlight({ store, clock }: Harness): Promise<number> {
  return (await store.snapshot([], clock.nowMs())).leases;
}

async function remaining({ store, clock, policy }: Harness, id: 'requests' | 'tokens'): Promise<number> {
  const of = policy.tenants.get('acme')!.limits.find(({ dimension }) => dimension === id)!;
  const spec = { key: `acme/${of.id}`, tenantId: 'acme', dimension: of.dimension, limit: of.limit, capacity: of.capacity, countCachedInput: true };
  return (await store.snapshot([spec], clock.nowMs())).levels[0]!.remaining;
}

describe.each([['BUFFERED + STREAMED', BUFFERED], ['FULL_DUPLEX_STREAMED', DUPLEX]] as [string, Modes][])('session, %s', (_, modes) => {
  it('admits, forwards the body as it is, counts the answer and settles once', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders(KEY);
    const body = chat();
    await envoy.requestBody(body);
    expect(envoy.answered).toBeNull();
    if (modes === DUPLEX) expect(envoy.forwarded).toBe(body);
    else expect(envoy.replies[1]?.request_body?.response?.body_mutation).toBeUndefined();
    expect(await inFlight(h)).toBe(1);
    const [headers] = await envoy.responseHeaders();
    expect(editsOf(headers).set).toMatchObject({ 'x-tokenweir-decision': 'admitted', 'x-tokenweir-request-id': 'id-1', 'x-ratelimit-limit-tokens': '1000' });
    const replies = await envoy.responseBody(answer(12, 7), true);
    if (modes === DUPLEX) expect(bodyOf(replies, 'response_body')).toBe(answer(12, 7));
    await envoy.cancel();
    expect(await inFlight(h)).toBe(0);
    expect(await remaining(h, 'tokens')).toBe(1000 - 19);
    expect(h.witness.records).toHaveLength(1);
    expect(h.witness.records[0]).toMatchObject({ decision: 'admitted', outcome: 'completed', usage: { inputTokens: 12, outputTokens: 7 }, estimated: false });
    expect(replies[0]?.dynamic_metadata).toMatchObject({ fields: { tokenweir: { structValue: { fields: { output_tokens: { numberValue: 7 } } } } } });
  });

  it('refuses over the limit with 429 and the exact wait, and charges nothing', async () => {
    const h = harness(policyOf([tenant('acme', [limit('tokens', 1000)])]));
    const first = new EnvoyDouble(h, modes);
    await first.requestHeaders(KEY);
    await first.requestBody(chat({ max_tokens: 900 }));
    await first.responseHeaders();
    await first.responseBody(answer(50, 900), true);
    const before = await remaining(h, 'tokens');
    const second = new EnvoyDouble(h, modes);
    await second.requestHeaders(KEY);
    await second.requestBody(chat({ max_tokens: 900 }));
    expect(second.answered).toBe(429);
    expect(second.answer.headers['x-tokenweir-decision']).toBe('refused; reason=tokens_per_minute');
    expect(await remaining(h, 'tokens')).toBe(before);
    const waitMs = Number(second.answer.headers['retry-after-ms']);
    h.clock.advance(waitMs - 1);
    const early = new EnvoyDouble(h, modes);
    await early.requestHeaders(KEY);
    await early.requestBody(chat({ max_tokens: 900 }));
    expect(early.answered).toBe(429);
    h.clock.advance(1);
    const due = new EnvoyDouble(h, modes);
    await due.requestHeaders(KEY);
    await due.requestBody(chat({ max_tokens: 900 }));
    expect(due.answered).toBeNull();
  });

  it('asks for usage by splice, with the right length, and hides the usage event again wherever chunks are cut', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat({ stream: true }));
    const forwarded = JSON.parse(envoy.forwarded) as Record<string, unknown>;
    expect(forwarded['stream_options']).toEqual({ include_usage: true });
    if (modes === BUFFERED) expect(editsOf(envoy.replies.at(-1)).set['content-length']).toBe(String(envoy.forwarded.length));
    const text = 'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n';
    const usage = 'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}\n\n';
    await envoy.responseHeaders({ 'content-type': 'text/event-stream' });
    const stream = `${text}${usage}data: [DONE]\n\n`;
    let shown = '';
    for (const [i, byte] of [...stream].entries()) {
      const [reply] = await envoy.responseBody(byte, i === stream.length - 1);
      const mutation = reply?.response_body?.response?.body_mutation;
      if (modes === DUPLEX) shown += String(mutation?.streamed_response?.body ?? '');
      else shown += mutation === undefined ? byte : String(mutation?.body ?? '');
    }
    expect(shown).toBe(`${text}data: [DONE]\n\n`);
    expect(h.witness.records[0]).toMatchObject({ usage: { inputTokens: 9, outputTokens: 3 }, estimated: false });
  });

  it('a client that leaves in mid-stream is charged what passed, and the rest of the reservation comes back (BerriAI/litellm#14457)', async () => {
    const h = harness(policyOf([tenant('acme', [limit('tokens', 10_000), limit('concurrency', 1)])]));
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat({ stream: true, max_tokens: 1000, messages: [{ role: 'user', content: 'word '.repeat(200) }] }));
    await envoy.responseHeaders({ 'content-type': 'text/event-stream' });
    for (let i = 0; i < 25; i++) await envoy.responseBody(`data: {"choices":[{"delta":{"content":" word"}}]}\n\n`);
    await envoy.cancel();
    const record = h.witness.records[0]!;
    expect(record).toMatchObject({ outcome: 'cut', estimated: true });
    expect(record.usage!.inputTokens).toBeGreaterThan(150);
    expect(record.usage!.inputTokens).toBeLessThan(270);
    expect(record.usage!.outputTokens).toBeGreaterThanOrEqual(20);
    expect(record.usage!.outputTokens).toBeLessThanOrEqual(40);
    expect(await remaining(h, 'tokens')).toBe(10_000 - record.usage!.inputTokens - record.usage!.outputTokens);
    expect(await inFlight(h)).toBe(0);
  });

  it('a client that leaves while the decision is pending gets everything back (vllm-project/vllm-ascend#10812, before dispatch)', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders(KEY);
    void envoy.requestBody(chat());
    envoy.session.close();
    await settled();
    expect(await inFlight(h)).toBe(0);
    expect(await remaining(h, 'tokens')).toBe(1000);
    expect(await remaining(h, 'requests')).toBe(10);
    expect(h.witness.leases).toBe(0);
    expect(h.witness.records).toHaveLength(1);
  });

  it('a client that leaves before the answer begins frees its place (vllm-project/vllm-ascend#10812, after dispatch)', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat());
    await envoy.cancel();
    expect(await inFlight(h)).toBe(0);
    expect(h.witness.records[0]).toMatchObject({ outcome: 'cut', usage: { outputTokens: 0 } });
  });

  it('an answer by Envoy itself, or an upstream error without usage, gives the tokens back but not the request', async () => {
    for (const [status, details] of [['503', 'upstream_reset_before_response_started'], ['500', 'via_upstream'], ['504', 'response_timeout']] as const) {
      const h = harness(acme());
      const envoy = new EnvoyDouble(h, modes);
      await envoy.requestHeaders(KEY);
      await envoy.requestBody(chat());
      await envoy.responseHeaders({ ':status': status }, false, details);
      await envoy.responseBody('{"error":{"message":"no"}}', true);
      expect(await remaining(h, 'tokens')).toBe(1000);
      expect(await remaining(h, 'requests')).toBe(9);
      expect(await inFlight(h)).toBe(0);
      expect(h.witness.records[0]!.outcome).toBe(details === 'via_upstream' ? 'upstream_failed' : 'local_reply');
    }
  });

  it('a normal end followed by the reset that Envoy always sends is no abort (envoyproxy/envoy#38195)', async () => {
    const h = harness(acme());
    const normal = new EnvoyDouble(h, modes);
    await normal.requestHeaders(KEY);
    await normal.requestBody(chat());
    await normal.responseHeaders();
    await normal.responseBody(answer(10, 5), true);
    await normal.cancel();
    expect(h.witness.records[0]).toMatchObject({ outcome: 'completed', usage: { inputTokens: 10, outputTokens: 5 } });
    const variant = new EnvoyDouble(h, modes);
    await variant.requestHeaders(KEY);
    await variant.requestBody(chat());
    await variant.responseHeaders();
    await variant.cancel();
    expect(h.witness.records[1]).toMatchObject({ outcome: 'cut' });
  });

  it('headers-only requests and upgrades are answered at once (envoyproxy/envoy#47161)', async () => {
    const h = harness(acme());
    const get = new EnvoyDouble(h, modes);
    expect(await get.requestHeaders({ ':method': 'GET', ':path': '/v1/models' }, true)).toHaveLength(1);
    const upgrade = new EnvoyDouble(h, modes);
    expect(await upgrade.requestHeaders({ ':method': 'GET', ':path': '/v1/events', upgrade: 'websocket' })).toHaveLength(1);
    const realtime = new EnvoyDouble(h, modes);
    expect(await realtime.requestHeaders({ ...KEY, ':method': 'GET', ':path': '/v1/realtime', upgrade: 'websocket' })).toHaveLength(1);
    expect(realtime.answered).toBe(403);
    expect(h.witness.passed).toEqual(['method', 'upgrade']);
  });

  it('takes an answer that comes while nothing was decided: the lease is not kept, nothing is sent twice (trap 3)', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders(KEY);
    const pending = envoy.requestBody(chat());
    const replies = await envoy.responseHeaders({ ':status': '504' }, true, 'stream_idle_timeout');
    await pending;
    expect(replies.filter(({ response_headers }) => response_headers)).toHaveLength(1);
    expect(envoy.replies.filter(({ request_body, immediate_response }) => request_body ?? immediate_response)).toHaveLength(0);
    expect(await inFlight(h)).toBe(0);
  });

  it('a request signed with SigV4 goes on byte for byte: compressed, asking for no usage, with no signed header touched (point 1)', async () => {
    const h = harness(policyOf([tenant('acme', [limit('tokens', 1000)])], { identity: { anonymousTenantId: 'acme' } }));
    const envoy = new EnvoyDouble(h, modes);
    const authorization = 'AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=accept-encoding;content-encoding;host, Signature=ab';
    await envoy.requestHeaders({ authorization, 'content-encoding': 'gzip', 'accept-encoding': 'gzip', 'x-tokenweir-session': 's1' });
    const body = gzipSync(chat({ stream: true }));
    await envoy.requestBody(body);
    await vi.waitFor(async () => { expect(await inFlight(h)).toBe(1); });
    await settled();
    expect(envoy.answered).toBeNull();
    const bodies = envoy.replies.map((reply) => reply.request_body?.response?.body_mutation);
    const sent = Buffer.concat(bodies.map((mutation) => Buffer.from(mutation?.streamed_response?.body ?? mutation?.body ?? '')));
    expect(sent).toEqual(modes === DUPLEX ? body : Buffer.alloc(0));
    const edits = envoy.replies.map(editsOf);
    expect(edits.flatMap(({ removed }) => removed)).toEqual(['x-tokenweir-session']);
    expect(Object.assign({}, ...edits.map(({ set }) => set))).toEqual({ 'x-tokenweir-request-id': 'id-1' });
    await envoy.cancel();
    expect(h.witness.records[0]).toMatchObject({ tenantId: 'acme', labels: { session: 's1' } });
  });

  it('response headers without any request are passed (trap 5)', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, modes);
    expect(await envoy.responseHeaders({ ':status': '413' }, false, 'request_payload_too_large')).toHaveLength(1);
    expect(await envoy.responseBody('too large', true)).toHaveLength(1);
    await envoy.cancel();
    expect(h.witness.passed).toEqual(['local_reply']);
  });

  it('shadow: would refuse, and changes nothing', async () => {
    const h = harness(policyOf([tenant('acme', [limit('tokens', 100)])], { enforcement: 'shadow' }));
    for (const [key, body] of [[KEY, chat({ stream: true, max_tokens: 5000 })], [{ authorization: 'Bearer nobody' }, chat()], [KEY, '{broken'], [KEY, chat({ stream: true })]] as const) {
      const envoy = new EnvoyDouble(h, modes);
      await envoy.requestHeaders({ ...key, 'x-tokenweir-node': 'mine' });
      await envoy.requestBody(body);
      await envoy.responseHeaders({ 'content-type': 'text/event-stream' });
      const stream = 'data: {"choices":[{"delta":{"content":"hello my friend"}}]}\n\ndata: [DONE]\n\n';
      await envoy.responseBody(stream, true);
      expect(envoy.answered).toBeNull();
      for (const reply of envoy.replies) expect(editsOf(reply)).toEqual({ set: {}, removed: [] });
      if (modes === DUPLEX) {
        expect(envoy.forwarded).toBe(body);
        expect(bodyOf(envoy.replies, 'response_body')).toBe(stream);
      } else expect(envoy.replies.every(({ request_body, response_body }) => !(request_body ?? response_body)?.response?.body_mutation)).toBe(true);
      await envoy.cancel();
    }
    expect(h.witness.records.map(({ decision, reason }) => `${decision} ${reason}`)).toEqual([
      'would_refuse request_too_large', 'would_refuse unauthenticated', 'would_refuse bad_request', 'admitted none',
    ]);
    // Without a splice there is no usage: the stream is counted from its deltas.
    expect(h.witness.records[3]).toMatchObject({ estimated: true, usage: { outputTokens: expect.closeTo(3, -1) as number } });
    expect(await inFlight(h)).toBe(0);
  });

  it('shadow: an answer that overtakes the decision is counted all the same, and does not wait for it', async () => {
    const h = harness(policyOf([tenant('acme', [limit('tokens', 1000)])], { enforcement: 'shadow' }));
    const reserve = h.store.reserve.bind(h.store);
    let decide: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => { decide = resolve; });
    h.store.reserve = async (request) => { await gate; return reserve(request); };
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat());
    expect(await envoy.responseHeaders()).toHaveLength(1);
    expect(await envoy.responseBody(answer(12, 7), true)).toHaveLength(1);
    await envoy.cancel();
    expect(h.witness.records).toHaveLength(0);
    decide();
    await settled();
    expect(h.witness.records[0]).toMatchObject({ outcome: 'completed', usage: { inputTokens: 12, outputTokens: 7 } });
    expect(await inFlight(h)).toBe(0);
  });

  it('shadow: a body in pieces is looked at when it is whole, or at the latest when the answer begins', async () => {
    const h = harness(policyOf([tenant('acme', [limit('tokens', 1000)])], { enforcement: 'shadow' }));
    const body = chat();
    for (const last of [body.slice(10), null]) {
      const envoy = new EnvoyDouble(h, modes);
      await envoy.requestHeaders(KEY);
      expect(await envoy.requestBody(body.slice(0, 10), false)).toHaveLength(1);
      expect(h.witness.leases).toBe(0);
      if (last !== null) expect(await envoy.requestBody(last)).toHaveLength(1);
      expect(await envoy.responseHeaders()).toHaveLength(1);
      await envoy.responseBody(answer(12, 7), true);
      await envoy.cancel();
    }
    expect(h.witness.records.map(({ decision, reason }) => `${decision} ${reason}`)).toEqual(['admitted none', 'would_refuse bad_request']);
    expect(await inFlight(h)).toBe(0);
  });

  it('off: neither decides nor charges', async () => {
    const h = harness(policyOf([tenant('acme', [limit('tokens', 100)], { enforcement: 'off' })]));
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat({ max_tokens: 5000 }));
    expect(envoy.answered).toBeNull();
    expect(h.witness.passed).toEqual(['off']);
    expect(await remaining(h, 'tokens')).toBe(100);
  });

  it('bad bodies get a 400 that names the field, and leave no lease (BerriAI/litellm#1477)', async () => {
    const h = harness(policyOf([tenant('acme', [limit('concurrency', 1)], { allowsModel: (model) => model === 'm' })]));
    const statuses: (number | null)[] = [];
    for (const body of [chat({ model: 'other' }), '{"model":', chat({ max_tokens: -1 }), '[]', '{"messages":[]}', '\xff\xfe', chat()]) {
      const envoy = new EnvoyDouble(h, modes);
      await envoy.requestHeaders(KEY);
      await envoy.requestBody(Buffer.from(body, 'latin1'));
      statuses.push(envoy.answered);
      expect(await inFlight(h)).toBe(envoy.answered === null ? 1 : 0);
    }
    expect(statuses).toEqual([403, 400, 400, 400, 400, 400, null]);
  });

  it('a body above the bound is a 413', async () => {
    const h = harness(policyOf([tenant('acme')], { maxBodyBytes: 1000 }));
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat({ pad: 'x'.repeat(2000) }), modes === BUFFERED);
    expect(envoy.answered).toBe(413);
    await envoy.requestBody('more', true);
    await envoy.cancel();
    expect(h.witness.records).toHaveLength(1);
  });

  it('removes what only we may set, and keeps the key', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders({ ...KEY, 'x-tokenweir-ticket': 'forged', 'x-pass-x-tokenweir-lane': 'heavy', 'x-gateway-destination-endpoint': '10.0.0.1:1' });
    await envoy.requestBody(chat());
    const edits = editsOf(envoy.replies.find((reply) => editsOf(reply).removed.length > 0));
    expect(edits.removed).toEqual(expect.arrayContaining(['x-tokenweir-ticket', 'x-pass-x-tokenweir-lane', 'x-gateway-destination-endpoint', 'accept-encoding']));
    expect(edits.removed).not.toContain('authorization');
    expect(edits.set).not.toHaveProperty('authorization');
  });
});

describe('session, protocol', () => {
  it('answers a duplex body that ends in trailers, once it is whole, in order (envoyproxy/envoy#27133)', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, DUPLEX);
    await envoy.requestHeaders(KEY);
    const body = chat({ pad: 'x'.repeat(80_000) });
    for (let i = 0; i < 5; i++) expect(await envoy.requestBody(body.slice(i * 16_384, i === 4 ? undefined : (i + 1) * 16_384), false)).toEqual([]);
    const replies = await envoy.requestTrailers();
    expect(replies.map((reply) => Object.keys(reply)[0])).toEqual(['request_headers', ...Array<string>(5).fill('request_body'), 'request_trailers']);
    expect(envoy.forwarded).toBe(body);
    expect(replies.some(({ request_body }) => request_body?.response?.body_mutation?.streamed_response?.end_of_stream)).toBe(false);
  });

  it('admits once where the last chunk comes twice, and does not reply to the second (envoyproxy/envoy#46237)', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, DUPLEX);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat().slice(0, -1), false);
    await envoy.requestBody('}', true);
    expect(await envoy.requestBody('}', true)).toEqual([]);
    expect(envoy.failure).toBeNull();
    expect(await inFlight(h)).toBe(1);
    expect(await remaining(h, 'requests')).toBe(9);
  });

  it.each([
    [{ request: 'STREAMED', response: 'STREAMED' }, /request_body_mode STREAMED can't work/],
    [{ request: 'NONE', response: 'NONE' }, /request_body_mode NONE/],
    [{ request: 'BUFFERED_PARTIAL', response: 'STREAMED' }, /BUFFERED_PARTIAL/],
    [{ request: 'BUFFERED', response: 'GRPC' }, /response_body_mode GRPC can't work/],
  ] as [Modes, RegExp][])('refuses body modes %o with a clear error', async (modes, message) => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders(KEY);
    expect(envoy.failure).toMatchObject({ kind: 'unsupported_modes', message: expect.stringMatching(message) as string });
    expect(h.witness.faults).toEqual(['unsupported_modes']);
    expect(envoy.replies).toEqual([]);
  });

  it.each(['NONE', 'BUFFERED', 'STREAMED', 'FULL_DUPLEX_STREAMED'] as const)('works with response mode %s', async (response) => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, { request: 'BUFFERED', response });
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat());
    await envoy.responseHeaders();
    if (response !== 'NONE') await envoy.responseBody(answer(12, 7), true);
    await envoy.cancel();
    const record = h.witness.records[0]!;
    expect(record.estimated).toBe(response === 'NONE');
    expect(record.usage!.inputTokens).toBeGreaterThan(0);
    expect(await inFlight(h)).toBe(0);
  });

  it('answers that are not shown to us are charged what is usual, not nothing', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, { request: 'BUFFERED', response: 'NONE' });
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat());
    await envoy.responseHeaders();
    await envoy.cancel();
    expect(h.witness.records[0]).toMatchObject({ outcome: 'completed', estimated: true, usage: { outputTokens: 50 } });
  });

  it.each([['not streamed, cut before its last byte: what is usual', 'application/json', 50], ['streamed, cut within its first event: nothing', 'text/event-stream', 0]])(
    'an answer %s', async (_, type, outputTokens) => {
      const h = harness(acme());
      const envoy = new EnvoyDouble(h, BUFFERED);
      await envoy.requestHeaders(KEY);
      await envoy.requestBody(chat());
      await envoy.responseHeaders({ 'content-type': type });
      await envoy.responseBody(type === 'application/json' ? answer(12, 7).slice(0, -1) : 'data: {"choices":[{"del');
      await envoy.cancel();
      expect(h.witness.records[0]).toMatchObject({ outcome: 'cut', usage: { outputTokens } });
      expect(h.witness.faults).toEqual([]);
    },
  );

  it.each([['a redirect costs no tokens', { ':status': '307' }, 'upstream_failed', null], ['an empty answer has no output', { ':status': '204' }, 'completed', 0]])('%s', async (_, headers, outcome, output) => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, BUFFERED);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat());
    await envoy.responseHeaders(headers, true);
    expect(h.witness.records[0]).toMatchObject({ outcome, usage: { outputTokens: output ?? 0 } });
    if (output === null) expect(await remaining(h, 'tokens')).toBe(1000);
  });

  it.each([BUFFERED, DUPLEX])('a compressed body goes on as it was judged: two decoders could read two requests in it (%o)', async (modes) => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, modes);
    await envoy.requestHeaders({ ...KEY, 'content-encoding': 'deflate' });
    await envoy.requestBody(deflateRawSync(chat()));
    await vi.waitFor(() => { expect(envoy.forwarded).toBe(chat()); });
    const edits = editsOf(envoy.replies.find((reply) => editsOf(reply).set['content-length'] !== undefined));
    expect(edits.set['content-length']).toBe(String(chat().length));
    expect(edits.removed).toContain('content-encoding');
  });

  it('a few bytes that inflate to megabytes are a 413, before they are read', async () => {
    const h = harness(policyOf([tenant('acme')], { maxBodyBytes: 16_000_000 }));
    const envoy = new EnvoyDouble(h, BUFFERED);
    await envoy.requestHeaders({ ...KEY, 'content-encoding': 'br' });
    await envoy.requestBody(brotliCompressSync(chat({ pad: 'x'.repeat(4_000_000) })));
    await vi.waitFor(() => { expect(envoy.answered).toBe(413); });
  });

  it('a compressed answer that is cut is in the books when the session says so', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, BUFFERED);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat({ stream: true }));
    await envoy.responseHeaders({ 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
    const bytes = gzipSync(`data: {"choices":[{"delta":{"content":"${'word '.repeat(20)}"}}]}\n\ndata: [DONE]\n\n`);
    void envoy.responseBody(bytes, false);
    envoy.session.close();
    expect(h.witness.records).toHaveLength(0);
    await envoy.session.booked();
    expect(h.witness.records[0]?.usage?.outputTokens).toBeGreaterThan(10);
    expect(await inFlight(h)).toBe(0);
  });

  it('a body that is called a form goes on as the JSON that it was judged as', async () => {
    const h = harness(acme());
    for (const [type, expected] of [['application/x-www-form-urlencoded', 'application/json'], ['multipart/form-data; boundary=x', 'application/json'], ['application/json', undefined]] as const) {
      const envoy = new EnvoyDouble(h, BUFFERED);
      await envoy.requestHeaders({ ...KEY, 'content-type': type });
      await envoy.requestBody(chat({ pad: '&model=other&prompt=long&x=' }));
      expect(editsOf(envoy.replies[1]).set['content-type']).toBe(expected);
      await envoy.cancel();
    }
  });

  it('a reservation whose answer was lost is given back', async () => {
    const h = harness(acme());
    const reserve = h.store.reserve.bind(h.store);
    h.store.reserve = async (request) => { await reserve(request); throw new Error('answer lost'); };
    const envoy = new EnvoyDouble(h, BUFFERED);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat());
    expect(envoy.answered).toBeNull();
    await settled();
    expect(await inFlight(h)).toBe(0);
    expect(await remaining(h, 'tokens')).toBe(1000);
    expect(h.witness.faults).toEqual(['store']);
  });

  it('an exception while handling one stream ends that stream only, and leaves no lease', async () => {
    const h = harness(acme());
    const envoy = new EnvoyDouble(h, BUFFERED);
    await envoy.requestHeaders(KEY);
    await envoy.requestBody(chat());
    h.witness.unmetered = () => { throw new Error('boom'); };
    const other = new EnvoyDouble(h, BUFFERED);
    await other.requestHeaders({ ':method': 'GET' }, true);
    expect(other.failure).toMatchObject({ kind: 'session' });
    expect(h.witness.faults).toEqual(['session']);
    await envoy.responseHeaders();
    await envoy.responseBody(answer(1, 1), true);
    expect(await inFlight(h)).toBe(0);
  });
});
