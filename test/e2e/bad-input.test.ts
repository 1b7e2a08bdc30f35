import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { createMemoryStore } from '../../src/stores/memory.js';
import { sse, type Piece, type Script } from '../../src/upstream/script.js';
import { chat, JSON_HEADERS, LoadClient } from '../support/clients.js';
import { rawExchange, rawMessage } from '../support/raw.js';
import { startRig, type Rig } from '../support/rig.js';
import { startServing } from '../support/serving.js';
import { startStack } from '../support/stack.js';

const YAML = `
tenants:
  - { id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: 100000000 } }
`;
const nested = (depth: number): string => chat().replace(/}$/, `,"metadata":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`);

/** Bodies that no server could make sense of: the client is told. */
const FAULTY: [string, string | Buffer, string | null][] = [
  ['nothing that is JSON', '{"model": "m", ', null],
  ['an empty object', '{}', 'model'],
  ['a list', '[]', null],
  ['a number', '7', null],
  ['no model', '{"messages":[]}', 'model'],
  ['a model that is a number', chat({ model: 5 }), 'model'],
  ['a model that is empty', chat({ model: '' }), 'model'],
  ['messages that are text', chat({ messages: 'hi' }), 'messages'],
  ['a message that is a number', chat({ messages: [7] }), 'messages[0]'],
  ['a stream flag that is text', chat({ stream: 'yes' }), 'stream'],
  ['max_tokens below zero', chat({ max_tokens: -1 }), 'max_tokens'],
  ['max_tokens that are text', chat({ max_tokens: 'ten' }), 'max_tokens'],
  ['max_tokens with a fraction', chat({ max_tokens: 1.5 }), 'max_tokens'],
  ['max_tokens beyond any number', chat().replace('"max_tokens":8', '"max_tokens":1e999'), 'max_tokens'],
  ['max_tokens beyond what any limit holds', chat({ max_tokens: 2_000_000_000 }), null],
  ['more choices than anybody serves', chat({ n: 1e9 }), 'n'],
  ['bytes that are no UTF-8', Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xfe, 0xc3]), Buffer.from('","messages":[]}')]), null],
  ['nesting of 101 levels', nested(102), null],
  ['nesting of 100,000 levels', nested(100_000), null],
  ['nesting of 100,000 levels that never ends', '['.repeat(100_000), null],
];

/** Bodies that are odd, but that servers take: they pass and are metered. */
const ODD: [string, string][] = [
  ['a key twice, where the last counts', chat().replace('{', '{"max_tokens":5,"model":"other",')],
  ['nesting of 90 levels', nested(90)],
  ['numbers in odd forms', chat().replace('"max_tokens":8', '"max_tokens":0.8e1')],
  ['unknown members of every kind', chat({ x: [null, { y: [] }, 'z', 1e308, -0] })],
  ['a body with a byte order mark', `\ufeff${chat()}`],
];

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('bad input, %s', (envoyConfig) => {
  let rig: Rig;
  let script: Script = () => null;
  beforeAll(async () => {
    rig = await startRig(YAML, { envoyConfig, upstream: { script: (request) => script(request) } });
  });
  afterAll(() => rig.stop());
  afterEach(async () => {
    script = () => null;
    // Whatever came, the next one is served, and nothing is left.
    expect((await rig.post(chat())).headers.get('x-tokenweir-decision')).toBe('admitted');
    await rig.processor.idle();
    expect((await rig.processor.app.status()).leases).toBe(0);
  });

  it.each(FAULTY)('of the client: %s is a 400 that says so', async (_, body, field) => {
    const before = rig.stack.upstream.requests.length;
    const response = await rig.post(body);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; param: string | null } };
    expect(error.message).toMatch(/^\w.{15,}/);
    expect(error.param).toBe(field);
    expect(rig.stack.upstream.requests).toHaveLength(before);
  });

  it.each(ODD)('of the client, taken by servers: %s is metered and goes on as it came', async (_, body) => {
    const response = await rig.post(body);
    expect(response.headers.get('x-tokenweir-decision')).toBe('admitted');
    expect(rig.stack.upstream.requests.at(-1)!.body.equals(Buffer.from(body))).toBe(true);
  });

  it('a body of 20 MB is a 413', async () => {
    expect((await rig.post(chat({ messages: [{ role: 'user', content: 'x'.repeat(20_000_000) }] }))).status).toBe(413);
  });

  it.each(['zstd, zstd', 'lzma', 'gzip'])('a body that is not of the coding it claims, %s', async (coding) => {
    expect([400, 415]).toContain((await rig.post(chat(), { 'content-encoding': coding })).status);
  });

  it.each([
    ['a long query', `/v1/chat/completions?x=${'y'.repeat(3000)}`],
    ['many slashes', '////v1/chat/completions'],
    ['a slash at the end', '/v1/chat/completions/'],
    ['an escape', '/v1/%63hat/completions'],
    ['dots', '/v1//chat/./completions?a=b'],
  ])(
    'no spelling of the path is a way past the meter: %s',
    async (_, path) => {
      const body = chat();
      const bytes = await rawExchange(rig.stack.url, [`POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-acme\r\ncontent-length: ${body.length}\r\n\r\n${body}`]);
      expect(rawMessage(bytes)!.lines).toContain('x-tokenweir-decision: admitted');
    },
  );

  const head = (more: string): string => `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-acme\r\n${more}\r\n\r\n`;

  it('a length that promises more than comes: nothing reaches the upstream', async () => {
    const before = rig.stack.upstream.requests.length;
    await rawExchange(rig.stack.url, [`${head('content-length: 5000')}${chat()}`], { withinMs: 400 });
    expect(rig.stack.upstream.requests).toHaveLength(before);
  });

  it.each([
    ['a length that promises less than comes', `${head('content-length: 20')}${chat()}`],
    ['two lengths', `${head('content-length: 20\r\ncontent-length: 30')}${chat()}`],
    ['a length and chunks', `${head('content-length: 20\r\ntransfer-encoding: chunked')}0\r\n\r\n`],
    ['a chunk of no known size', `${head('transfer-encoding: chunked')}zz\r\n${chat()}\r\n0\r\n\r\n`],
  ])('%s: a 400, or the connection ends, and nothing reaches the upstream', async (_, bytes) => {
    const before = rig.stack.upstream.requests.length;
    // Envoy may close before its own 400 is through the filters.
    const answer = rawMessage(await rawExchange(rig.stack.url, [bytes], { withinMs: 5000 }));
    if (answer !== null) expect(answer.start).toContain('400');
    expect(rig.stack.upstream.requests).toHaveLength(before);
  });

  const content = sse({ choices: [{ index: 0, delta: { content: 'some words' } }] });
  const usage = sse({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });
  const text = async (body: string): Promise<string> => {
    const response = await rig.post(body);
    return response.text().catch(() => 'broken');
  };
  const answer = (pieces: Iterable<Piece> | AsyncIterable<Piece>, more: Record<string, unknown> = {}) => {
    script = () => ({ kind: 'answer', pieces, ...more });
  };

  it('an upstream that speaks no HTTP is a 503, nothing is charged', async () => {
    script = () => ({ kind: 'raw', bytes: 'SSH-2.0-nonsense\r\n\r\n' });
    const response = await rig.post(chat());
    expect([502, 503]).toContain(response.status);
    expect((await rig.settled()).at(-1)).toMatchObject({ outcome: 'local_reply', inputTokens: 0, outputTokens: 0 });
  });

  it('an answer that is garbage passes as it came, and a metric counts it', async () => {
    const count = async (): Promise<number> => Number(/tokenweir_faults_total\{kind="response_unreadable"\} (\d+)/.exec(await rig.metrics())?.[1]);
    const before = await count();
    const garbage = Buffer.from([0, 1, 2, 255, 254, 123, 10, 10]);
    answer([garbage], { headers: { 'content-type': 'application/json' } });
    const response = await rig.post(chat());
    expect(Buffer.from(await response.arrayBuffer()).equals(garbage)).toBe(true);
    await rig.processor.idle();
    answer(['data: {"choices": nope}\n\n', content, 'rubbish\n\n', usage, 'data: [DONE]\n\n']);
    expect(await text(chat({ stream: true }))).toBe(`data: {"choices": nope}\n\n${content.toString()}rubbish\n\ndata: [DONE]\n\n`);
    await rig.processor.idle();
    expect((await count()) - before).toBe(2);
    expect((await rig.settled()).at(-1)).toMatchObject({ inputTokens: 3, outputTokens: 2, estimated: false });
  });

  it('half an event at the end reaches the client, and what was told counts', async () => {
    answer([content, usage, 'data: {"choi']);
    expect(await text(chat({ stream: true }))).toBe(`${content.toString()}data: {"choi`);
    expect((await rig.settled()).at(-1)).toMatchObject({ inputTokens: 3, outputTokens: 2 });
  });

  it.each(['close', 'reset'] as const)('a stream without its end (%s) is cut: the prompt and what passed count', async (end) => {
    answer([content, content, 'data: {"ch', { pauseMs: 50 }], { end });
    expect(await text(chat({ stream: true }))).toBe('broken');
    const event = (await rig.settled()).at(-1)!;
    expect(event).toMatchObject({ outcome: 'cut', estimated: true });
    expect(event.outputTokens).toBeGreaterThan(1);
  });

  it('an endless stream ends when its client leaves', async () => {
    answer(endless(content));
    const abort = new AbortController();
    const response = await rig.post(chat({ stream: true }), {}, { signal: abort.signal });
    const reader = response.body!.getReader();
    for (let i = 0; i < 20; i++) await reader.read();
    abort.abort();
    expect((await rig.settled()).at(-1)).toMatchObject({ outcome: 'cut' });
    await rig.stack.upstream.requests.at(-1)!.ended;
  });

  it('an error event inside a 200, before any output, costs nothing; after output, what passed', async () => {
    const error = sse({ error: { message: 'the engine is overloaded', code: 503 } });
    answer([error]);
    expect(await text(chat({ stream: true }))).toBe(error.toString());
    expect((await rig.settled()).at(-1)).toMatchObject({ outcome: 'upstream_failed', inputTokens: 0, outputTokens: 0 });
    answer([content, error]);
    await text(chat({ stream: true }));
    const event = (await rig.settled()).at(-1)!;
    expect(event.outputTokens).toBeGreaterThan(0);
    expect(event.inputTokens).toBeGreaterThan(0);
  });

  it.each([
    ['text/plain', true],
    ['application/octet-stream', true],
    ['text/event-stream', false],
  ])('an answer of the wrong content type, %s, passes', async (type, stream) => {
    answer([content, usage, sse('[DONE]')], { headers: { 'content-type': type } });
    expect(await text(chat(stream ? { stream } : {}))).toContain('some words');
    expect((await rig.settled()).at(-1)).toMatchObject({ inputTokens: 3, outputTokens: 2 });
  });

  it.each([204, 304, 500, 302])('a %d without a body passes', async (status) => {
    answer([], { status });
    expect((await rig.post(chat(), {}, { redirect: 'manual' })).status).toBe(status);
    await rig.settled();
  });

  it('a HEAD passes, whose answer has a length and no body', async () => {
    answer([], { headers: { 'content-length': '500' } });
    const response = await fetch(`${rig.stack.url}/v1/chat/completions`, { method: 'HEAD', headers: JSON_HEADERS('key-acme') });
    expect(response.headers.get('content-length')).toBe('500');
  });

  it('after all of this Envoy has seen no spurious message, and no stream failed', async () => {
    expect(await rig.stack.envoy.stats('http.clients.ext_proc.tokenweir.spurious_msgs_received')).toBe(0);
    expect(await rig.stack.envoy.stats('http.clients.ext_proc.tokenweir.streams_failed')).toBe(0);
    expect(rig.processor.log.filter(({ msg, kind }) => msg === 'fault' && kind !== 'response_unreadable')).toEqual([]);
  });
});

describe('faults of our own', () => {
  it('a fault while one request is handled touches that request only, and is counted', async () => {
    const store = createMemoryStore();
    const reserve = store.reserve.bind(store);
    store.reserve = (request) => (request.enforced[0]?.amount === 777 ? Promise.reject(new Error('boom')) : reserve(request));
    const rig = await startRig(YAML.replace('tokensPerMinute', 'outputTokensPerMinute'), { envoyConfig: 'envoy.yaml' }, store);
    const others = Array.from({ length: 20 }, () => rig.post(chat()));
    const hit = await rig.post(chat({ max_tokens: 777 }));
    expect([hit.status, hit.headers.get('x-tokenweir-decision')]).toEqual([200, null]);
    for (const other of await Promise.all(others)) expect(other.headers.get('x-tokenweir-decision')).toBe('admitted');
    expect(await rig.metrics()).toMatch(/tokenweir_unmetered_requests_total\{why="store_failed"\} 1/);
    expect(rig.processor.log.some(({ msg, kind }) => msg === 'fault' && kind === 'store')).toBe(true);
    await rig.stop();
  });
});

function* endless(content: Buffer) {
  for (;;) {
    yield content;
    yield { pauseMs: 5 };
  }
}

async function peakMiB(pid: number): Promise<number> {
  return Number(/VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('memory stays bounded, %s', (envoyConfig) => {
  it.runIf(process.platform === 'linux')('while a line of 50 MB comes that never ends', async () => {
    const serving = await startServing(YAML);
    const block = Buffer.alloc(1024 * 1024, 'x');
    const line = function* () {
      yield 'data: ';
      for (let i = 0; i < 50; i++) yield block;
    };
    const stack = await startStack({ envoyConfig, processorPort: serving.port, upstream: { script: () => ({ kind: 'answer', pieces: line() }) } });
    try {
      const client = new LoadClient(stack.url, 1);
      await client.post(chat({ stream: true }), JSON_HEADERS('key-acme'));
      const before = await peakMiB(serving.process.pid);
      for (let i = 0; i < 2; i++) expect((await client.post(chat({ stream: true }), JSON_HEADERS('key-acme'))).body.length).toBe(50 * 1024 * 1024 + 6);
      client.close();
      expect((await peakMiB(serving.process.pid)) - before).toBeLessThan(50);
      expect(before).toBeLessThan(300);
    } finally {
      await stack.stop();
      await serving.stop();
    }
  });
});
