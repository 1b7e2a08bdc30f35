import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import type { Store } from '../../src/domain/store.js';
import { freePort } from '../../src/services/ports.js';
import type { Script } from '../../src/upstream/script.js';
import { sse } from '../../src/upstream/script.js';
import { chat, http2Post, JSON_HEADERS, LoadClient, readAnswer } from '../support/clients.js';
import { all, at, set, without } from '../support/envoy-edits.js';
import { rawExchange, rawMessage } from '../support/raw.js';
import { startRig as startRigWith, type Rig, type RigOptions } from '../support/rig.js';
import { until } from '../support/serving.js';
import { slowStore } from '../support/slow-store.js';
import type { Stack } from '../support/stack.js';

const YAML = `
tenants:
  - { id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: 900000000 } }
`;
const HEADERS = JSON_HEADERS('key-acme');
const CONFIGS = ['envoy.yaml', 'envoy.duplex.yaml'] as const;
const FILTER = 'http.clients.ext_proc.tokenweir';

const startRig = (options: RigOptions, store?: Store): Promise<Rig> => startRigWith(YAML, options, store);

async function withRig(options: RigOptions, test: (rig: Rig) => Promise<void>, store?: Store): Promise<void> {
  const rig = await startRig(options, store);
  try {
    await test(rig);
  } finally {
    await rig.stop();
  }
}

/** Requests that Envoy did not show to the processor to their end. */
async function unseen({ envoy }: Stack): Promise<number> {
  return (await envoy.stats(`${FILTER}.failure_mode_allowed`)) + (await envoy.stats(`${FILTER}.streams_failed`));
}

describe.each(CONFIGS)('traps of a busy filter, %s', (envoyConfig) => {
  it('trap 1, reset rate: 3,000 quick requests, all of them served and metered', async () => {
    await withRig({ envoyConfig }, async ({ stack, settled }) => {
      const client = new LoadClient(stack.url, 16);
      // Streams: Envoy ends short answers that come in one message without a reset.
      expect(await client.run(3000, chat({ stream: true, max_tokens: 1 }), HEADERS)).toEqual({ 200: 3000 });
      client.close();
      expect(await unseen(stack)).toBe(0);
      expect((await settled()).length).toBeGreaterThan(0);
      expect(stack.upstream.requests).toHaveLength(3000);
    });
  });

  it('trap 2, circuit breaker: 1,500 streams open at one time, all of them served and metered', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const script: Script = () => ({ kind: 'answer', pieces: heldStream(released) });
    await withRig({ envoyConfig, upstream: { script }, upstreamMaxRequests: 5000 }, async ({ processor, stack, settled }) => {
      const client = new LoadClient(stack.url, Infinity);
      const open = await openMany(client, 1500);
      expect(new Set(open.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
      expect((await processor.app.status()).leases).toBe(1500);
      release();
      const answers = await Promise.all(open.map(readAnswer));
      client.close();
      expect(answers.every(({ body }) => body.includes('[DONE]'))).toBe(true);
      expect(await unseen(stack)).toBe(0);
      expect((await settled()).every(({ outcome }) => outcome === 'completed')).toBe(true);
    });
  });
});

/** Opens streams a few at a time, since client, processor and upstream share one thread here. */
async function openMany(client: LoadClient, count: number): Promise<IncomingMessage[]> {
  const open: IncomingMessage[] = [];
  while (open.length < count) {
    open.push(...(await Promise.all(Array.from({ length: 50 }, () => client.open(chat({ stream: true }), HEADERS)))));
  }
  return open;
}

async function* heldStream(released: Promise<void>) {
  yield sse({ choices: [{ index: 0, delta: { content: 'one' } }] });
  await released;
  yield sse({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } });
  yield sse('[DONE]');
}

describe('the settings against the traps are what helps', () => {
  it('without those of trap 1, requests pass unmetered', async () => {
    const edit = all(without(['layered_runtime']), without(at.http('tokenweir', 'common_http_protocol_options')));
    await withRig({ envoyConfig: 'envoy.yaml', edit }, async ({ stack }) => {
      const client = new LoadClient(stack.url, 16);
      for (let sent = 0; sent < 6000 && (await unseen(stack)) === 0; sent += 600) await client.run(600, chat({ stream: true, max_tokens: 1 }), HEADERS);
      client.close();
      expect(await unseen(stack)).toBeGreaterThan(0);
    });
  });

  it('without those of trap 2, streams above 1,024 pass unmetered', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const edit = without(at.cluster('tokenweir', 'circuit_breakers'));
    await withRig({ envoyConfig: 'envoy.yaml', edit, upstream: { script: () => ({ kind: 'answer', pieces: heldStream(released) }) }, upstreamMaxRequests: 5000 }, async ({ processor, stack }) => {
      const client = new LoadClient(stack.url, Infinity);
      const open = await openMany(client, 1200);
      expect((await processor.app.status()).leases).toBeLessThan(1200);
      release();
      await Promise.all(open.map(readAnswer));
      client.close();
    });
  });
});

describe.each(CONFIGS)('trap 3, what takes long, %s', (envoyConfig) => {
  it('a decision of a second is waited for', async () => {
    await withRig({ envoyConfig }, async ({ stack, post }) => {
      const response = await post(chat());
      expect(response.headers.get('x-tokenweir-decision')).toBe('admitted');
      expect(await unseen(stack)).toBe(0);
    }, slowStore(1000));
  });

  it('an idle timeout while a decision is pending ends the request, and nothing is left', async () => {
    const edit = all(set(at.manager('stream_idle_timeout'), '0.5s'), set(at.extProc('message_timeout'), '10s'));
    await withRig({ envoyConfig, edit }, async ({ processor, stack, post, settled }) => {
      expect((await post(chat())).status).toBe(504);
      await delay(800);
      await processor.idle();
      expect(stack.upstream.requests).toHaveLength(0);
      expect(await settled()).toEqual([]);
      expect(await stack.envoy.stats(`${FILTER}.spurious_msgs_received`)).toBe(0);
      const { tokens } = (await processor.app.status()).tenants['acme']!;
      expect(tokens!.remaining).toBe(tokens!.limit);
    }, slowStore(1000));
  });

  it('a client that leaves while the decision is pending leaves no lease', async () => {
    await withRig({ envoyConfig }, async ({ processor, stack, post, settled }) => {
      await expect(post(chat(), {}, { signal: AbortSignal.timeout(200) })).rejects.toThrow();
      await delay(700);
      await processor.idle();
      expect(await settled()).toEqual([]);
      expect(stack.upstream.requests).toHaveLength(0);
      expect(processor.log.filter(({ msg }) => msg === 'fault')).toEqual([]);
    }, slowStore(600));
  });

  it('the timeout of a route ends the request with 504, and its tokens come back', async () => {
    const script: Script = () => ({ kind: 'answer', firstByteMs: 3000, pieces: [] });
    await withRig({ envoyConfig, edit: set(at.route('timeout'), '0.4s'), upstream: { script } }, async ({ post, settled }) => {
      expect((await post(chat())).status).toBe(504);
      expect((await settled()).at(-1)).toMatchObject({ outcome: 'local_reply', inputTokens: 0, outputTokens: 0 });
    });
  });

  it('a stream that goes silent longer than the idle timeout is a cut stream', async () => {
    const script: Script = () => ({ kind: 'answer', pieces: [sse({ choices: [{ index: 0, delta: { content: 'some words' } }] })], end: 'never' });
    await withRig({ envoyConfig, edit: set(at.manager('stream_idle_timeout'), '0.5s'), upstream: { script } }, async ({ post, settled }) => {
      await expect(post(chat({ stream: true })).then((response) => response.text())).rejects.toThrow();
      expect((await settled()).at(-1)).toMatchObject({ outcome: 'cut', estimated: true });
    });
  });
});

describe.each(CONFIGS)('traps of single requests, %s', (envoyConfig) => {
  let rig: Rig;
  let script: Script = () => null;
  beforeAll(async () => {
    rig = await startRig({ envoyConfig, upstream: { contextTokens: 10_000_000, script: (request) => script(request) } });
  });
  afterAll(() => rig.stop());
  const raw = async (...pieces: (string | { pauseMs: number })[]) => rawMessage(await rawExchange(rig.stack.url, pieces))!;

  it('trap 4: an end that comes as an empty chunk of its own is an end', async () => {
    script = () => ({
      kind: 'answer',
      pieces: [sse({ choices: [{ index: 0, delta: { content: 'a' } }] }), sse({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 } }), sse('[DONE]'), { pauseMs: 100 }],
    });
    expect(await (await rig.post(chat({ stream: true }))).text()).toContain('[DONE]');
    expect((await rig.settled()).at(-1)).toMatchObject({ outcome: 'completed', inputTokens: 7, outputTokens: 5, estimated: false });
  });

  it('trap 4: a chunked request body in many pieces, whose end comes alone, is read whole', async () => {
    script = () => null;
    const body = chat();
    const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-acme\r\ntransfer-encoding: chunked\r\n\r\n`;
    const { start, lines } = await raw(head, chunk(body.slice(0, 20)), { pauseMs: 30 }, chunk(body.slice(20)), { pauseMs: 30 }, '0\r\n\r\n');
    expect(start).toContain('200');
    expect(lines).toContain('x-tokenweir-decision: admitted');
    expect(rig.stack.upstream.requests.at(-1)!.body.toString()).toBe(body);
  });

  it.each(['GET', 'HEAD', 'OPTIONS', 'DELETE'])('trap 5: %s without a body passes', async (method) => {
    script = () => ({ kind: 'answer', status: 204, pieces: [] });
    expect((await fetch(`${rig.stack.url}/v1/chat/completions`, { method, headers: HEADERS })).status).toBe(204);
  });

  it('trap 5: a POST without a body passes to the upstream, which answers it', async () => {
    script = () => null;
    expect((await fetch(`${rig.stack.url}/v1/chat/completions`, { method: 'POST', headers: HEADERS })).status).toBe(400);
    const metrics = await (await fetch(`${rig.processor.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/tokenweir_unmetered_requests_total\{why="bodyless"\} [1-9]/);
  });

  it('trap 5: a rejected upgrade is answered by Envoy, and harms nobody', async () => {
    const { start } = await raw('GET /v1/realtime HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-acme\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
    expect(start).toContain('403');
  });

  it('trap 5: an upgrade header without a connection header is no way past the meter', async () => {
    const body = chat();
    const { lines } = await raw(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-acme\r\nupgrade: h2c\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    expect(lines).toContain('x-tokenweir-decision: admitted');
  });

  it('trap 6 and 8: an upstream that closes at once is asked once, and the tokens come back', async () => {
    script = () => ({ kind: 'raw', bytes: '' });
    const before = rig.stack.upstream.requests.length;
    const response = await rig.post(chat(), { 'x-envoy-retry-on': '5xx,reset', 'x-envoy-max-retries': '3' });
    expect(response.status).toBe(503);
    expect(rig.stack.upstream.requests).toHaveLength(before + 1);
    expect((await rig.settled()).at(-1)).toMatchObject({ outcome: 'local_reply', inputTokens: 0, outputTokens: 0 });
  });

  it('trap 7: a client that leaves before the answer begins ends the request everywhere', async () => {
    script = () => ({ kind: 'answer', firstByteMs: 2000, pieces: [] });
    await expect(rig.post(chat(), {}, { signal: AbortSignal.timeout(250) })).rejects.toThrow();
    expect((await rig.settled()).at(-1)).toMatchObject({ outcome: 'cut', outputTokens: 0, estimated: true });
    await rig.stack.upstream.requests.at(-1)!.ended;
    expect(rig.stack.upstream.requests.at(-1)!.disconnected).toBe(true);
  });

  it('trap 7: a client that leaves in mid-stream pays for what passed', async () => {
    script = () => ({ kind: 'answer', pieces: endlessStream() });
    const abort = new AbortController();
    const response = await rig.post(chat({ stream: true }), {}, { signal: abort.signal });
    await response.body!.getReader().read();
    abort.abort();
    const event = (await rig.settled()).at(-1)!;
    expect(event).toMatchObject({ outcome: 'cut', estimated: true });
    expect(event.outputTokens).toBeGreaterThan(0);
    await rig.stack.upstream.requests.at(-1)!.ended;
  });

  it('trap 7: two hundred clients that leave at any moment leave no lease and no fault', async () => {
    script = ({ json }) => ((json as { stream?: boolean }).stream === true ? { kind: 'answer', firstByteMs: 20, pieces: endlessStream() } : { kind: 'answer', firstByteMs: 60, pieces: ['{}'] });
    const leave = async (i: number): Promise<void> => {
      await rig.post(chat({ stream: i % 2 === 0 }), {}, { signal: AbortSignal.timeout((i * 7) % 120) }).then((response) => response.text()).catch(() => undefined);
    };
    await Promise.all(Array.from({ length: 200 }, (_, i) => leave(i)));
    await rig.processor.idle();
    await until(async () => /tokenweir_streams 0/.test(await rig.metrics()), 'no stream open');
    expect(await rig.metrics()).toContain('tokenweir_leases 0');
    expect(rig.processor.log.filter(({ msg, kind }) => msg === 'fault' && kind !== 'response_unreadable')).toEqual([]);
  });

  it.each(['gzip', 'deflate', 'br'] as const)('trap 9: an upstream that compresses all the same, %s', async (encoding) => {
    script = () => ({ kind: 'generate', encoding });
    for (const more of [{ stream: true }, { stream: true, stream_options: { include_usage: true } }, {}]) {
      const response = await rig.post(chat(more), { 'accept-encoding': encoding });
      const text = await response.text();
      const sent = rig.stack.upstream.requests.at(-1)!;
      expect(sent.headers['accept-encoding']).toBeUndefined();
      expect(text).toContain('sim-small');
      expect(text.includes('prompt_tokens')).toBe(!('stream' in more) || 'stream_options' in more);
      expect((await rig.settled()).at(-1)).toMatchObject({ inputTokens: sent.promptTokens, outputTokens: sent.completionTokens, estimated: false });
    }
  });

  it('trap 10: what a client says in x-envoy-* steers nothing, and does not go on', async () => {
    script = () => ({ kind: 'generate', firstByteMs: 300 });
    const response = await rig.post(chat(), { 'x-envoy-upstream-rq-timeout-ms': '1', 'x-envoy-decorator-operation': 'x', 'x-gateway-destination-endpoint': '10.0.0.1:80', 'x-tokenweir-ticket': 'x' });
    expect(response.status).toBe(200);
    const names = Object.keys(rig.stack.upstream.requests.at(-1)!.headers);
    expect(names.filter((name) => /^x-envoy-|^x-gateway-|^x-tokenweir-(?!request-id)/.test(name))).toEqual([]);
  });

  it.each([400_000, 5_000_000])('trap 12 to 14: a body of %d bytes is metered and arrives as it was', async (bytes) => {
    script = () => null;
    const body = chat({ messages: [{ role: 'user', content: 'word '.repeat(bytes / 5) }], max_tokens: 1 });
    const response = await rig.post(body);
    const sent = rig.stack.upstream.requests.at(-1)!;
    expect(response.headers.get('x-tokenweir-decision')).toBe('admitted');
    expect(sent.body.equals(Buffer.from(body))).toBe(true);
    const streamed = await http2Post(rig.stack.url, body.replace('{', '{"stream":true,'), HEADERS);
    expect(streamed.status).toBe(200);
    expect(JSON.parse(rig.stack.upstream.requests.at(-1)!.body.toString())).toMatchObject({ stream_options: { include_usage: true } });
  }, 60_000);

  it('trap 16: a body above 16 MiB is a 413, and nothing is left of it', async () => {
    const before = rig.stack.upstream.requests.length;
    const response = await rig.post(chat({ messages: [{ role: 'user', content: 'x'.repeat(17_000_000) }] }));
    expect(response.status).toBe(413);
    expect(rig.stack.upstream.requests).toHaveLength(before);
  });

  it('trap 16: a large upload to a path that is not metered passes', async () => {
    script = () => ({ kind: 'answer', status: 201, pieces: ['{"id":"file-1"}'], headers: { 'content-type': 'application/json' } });
    const body = Buffer.alloc(20_000_000, 'x');
    const head = `POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-acme\r\ncontent-length: ${body.length}\r\n\r\n`;
    const answer = await raw(head, { pauseMs: 100 }, body.toString());
    expect([answer.start, answer.body.toString()]).toEqual(['HTTP/1.1 201 Created', '{"id":"file-1"}']);
    expect(rig.stack.upstream.requests.at(-1)!.body.equals(body)).toBe(true);
    await until(() => rig.stack.envoy.accessLog().some(({ path }) => path === '/v1/files'), 'the access log');
    expect(rig.stack.envoy.accessLog().find(({ path }) => path === '/v1/files')).toMatchObject({ status: 201, tokenweir: { decision: 'passed', reason: 'files' } });
  });

  it('an HTTP/2 client is served, with trailers too', async () => {
    script = () => null;
    const answer = await http2Post(rig.stack.url, chat({ stream: true }), HEADERS, { 'x-checksum': 'abc' });
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toContain('[DONE]');
    expect(rig.stack.upstream.requests.at(-1)!.body.toString()).toContain('include_usage');
    expect((await rig.settled()).at(-1)).toMatchObject({ outcome: 'completed', estimated: false });
  });

  it('trap 11: after all of this Envoy has seen no spurious message, and the processor no fault', async () => {
    await rig.processor.idle();
    expect(await rig.stack.envoy.stats(`${FILTER}.spurious_msgs_received`)).toBe(0);
    expect(await unseen(rig.stack)).toBe(0);
    expect(rig.processor.log.filter(({ msg }) => msg === 'fault')).toEqual([]);
  });
});

function* endlessStream() {
  for (;;) {
    yield sse({ choices: [{ index: 0, delta: { content: 'some more words' } }] });
    yield { pauseMs: 20 };
  }
}

describe('trap 6, an upstream that nobody serves', () => {
  it.each(CONFIGS)('is a 503 whose tokens come back, %s', async (envoyConfig) => {
    await withRig({ envoyConfig, upstreamPort: await freePort() }, async ({ processor, post, settled }) => {
      expect((await post(chat())).status).toBe(503);
      expect((await settled()).at(-1)).toMatchObject({ outcome: 'local_reply', inputTokens: 0, outputTokens: 0 });
      const { tokens } = (await processor.app.status()).tenants['acme']!;
      expect(tokens!.remaining).toBe(tokens!.limit);
    });
  });
});
