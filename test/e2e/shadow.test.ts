import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { chat } from '../support/clients.js';
import { at, without } from '../support/envoy-edits.js';
import { startProcessor, type RunningProcessor } from '../support/processor.js';
import { rawExchange, rawMessage, startRecordingUpstream, type RawMessage, type RawPiece, type RecordingUpstream } from '../support/raw.js';
import { startStack, type Stack } from '../support/stack.js';

const yaml = (enforcement: string) => `
enforcement: ${enforcement}
unknownPaths: reject
tenants:
  - { id: acme, keys: ["${hashKey('key-acme')}"], models: ["sim-*"], limits: { tokensPerMinute: 100000, requestsPerMinute: 1000 } }
  - { id: tiny, keys: ["${hashKey('key-tiny')}"], limits: { tokensPerMinute: 60 } }
`;

const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}\n\n';
const EVENTS = [': ping\n\n', 'data:{"choices":[{"index":0,"delta":{"content":"h\u00e9"}}]}\r\n\r\n', 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n', USAGE, 'data: [DONE]\n\n'];
const HEAD = 'date: Sun, 01 Feb 2026 00:00:00 GMT\r\nserver: Up/1\r\nX-Odd-Case: yes\r\nx-ratelimit-remaining-tokens: 5\r\n';
const JSON_BODY = '{"choices":[{"message":{"content":"hi"}}],  "usage":{"prompt_tokens":9,"completion_tokens":2}}';

const chunk = (bytes: string | Buffer): Buffer => Buffer.concat([Buffer.from(`${Buffer.byteLength(bytes).toString(16)}\r\n`), Buffer.from(bytes as string), Buffer.from('\r\n')]);
const sized = (status: string, body: string | Buffer, more = ''): Buffer =>
  Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${HEAD}${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n`), Buffer.from(body as string)]);
const chunked = (type: string, pieces: readonly (string | Buffer)[]): RawPiece[] => [
  `HTTP/1.1 200 OK\r\n${HEAD}content-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`,
  ...pieces.flatMap((piece) => [chunk(piece), { pauseMs: 15 }]),
  '0\r\n\r\n',
];

/** Answers by the request's `x-case` header. */
const ANSWERS: Record<string, () => readonly RawPiece[]> = {
  json: () => [sized('200 OK', JSON_BODY, 'Content-Type: application/json\r\n')],
  stream: () => chunked('text/event-stream', EVENTS),
  cut: () => chunked('text/event-stream', [EVENTS.join('').slice(0, 40), EVENTS.join('').slice(40, 171), EVENTS.join('').slice(171)]),
  gzip: () => chunked('text/event-stream\r\ncontent-encoding: gzip', [gzipSync(EVENTS.join(''))]),
  refused: () => [sized('429 Too Many Requests', '{"error":{"message":"slow down"}}', 'content-type: application/json\r\nretry-after: 7\r\n')],
  garbage: () => [sized('200 OK', Buffer.from([0, 255, 1, 254]), 'content-type: text/html\r\n')],
  nothing: () => [`HTTP/1.1 204 No Content\r\n${HEAD}\r\n`],
};

function answerOf(request: RawMessage): readonly RawPiece[] {
  const name = request.lines.find((line) => line.startsWith('x-case: '))?.slice(8) ?? 'json';
  return ANSWERS[name]!();
}

interface Sent {
  readonly answer: string;
  readonly key?: string | null;
  readonly body?: string | Buffer;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: string;
  readonly chunkedBody?: boolean;
}

function bytesOf({ answer, key = 'key-acme', body = chat({ stream: true }), path = '/v1/chat/completions', method = 'POST', headers = '', chunkedBody = false }: Sent): Buffer {
  const bytes = Buffer.from(body as string);
  const auth = key === null ? '' : `Authorization: Bearer ${key}\r\n`;
  const length = method === 'GET' || method === 'OPTIONS' ? '' : chunkedBody ? 'transfer-encoding: chunked\r\n' : `content-length: ${bytes.length}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\nhost: models.test\r\n${auth}${length}x-case: ${answer}\r\naccept-encoding: gzip, br\r\n${headers}\r\n`;
  return Buffer.concat([Buffer.from(head), length === '' ? Buffer.alloc(0) : chunkedBody ? Buffer.concat([chunk(bytes), Buffer.from('0\r\n\r\n')]) : bytes]);
}

function bodyOf(message: RawMessage | null): string | undefined {
  return message !== null && message.body.length > 100_000 ? hashKey(message.body.toString('latin1')) : message?.body.toString('latin1');
}

/** The request line, the headers and the body of a message; `x-request-id` is another one for each request. */
function told(message: RawMessage | null): unknown {
  const lines = (message?.lines ?? []).map((line) => line.replace(/^x-request-id: .*/, 'x-request-id: ID'));
  return { start: message?.start, lines, body: bodyOf(message), whole: message?.whole };
}

interface Pair {
  readonly processor: RunningProcessor;
  readonly upstream: RecordingUpstream;
  readonly filtered: Stack;
  readonly bare: Stack;
}

async function startPair(envoyConfig: string, enforcement: string): Promise<Pair> {
  const processor = await startProcessor(yaml(enforcement));
  const upstream = await startRecordingUpstream(answerOf);
  const filtered = await startStack({ envoyConfig, processorPort: processor.port, upstreamPort: upstream.port });
  const bare = await startStack({ envoyConfig, upstreamPort: upstream.port, edit: without([...at.filters(), 0]) });
  return { processor, upstream, filtered, bare };
}

async function stopPair({ processor, upstream, filtered, bare }: Pair): Promise<void> {
  await Promise.all([filtered.stop(), bare.stop()]);
  await processor.stop();
  await upstream.close();
}

/** What the upstream got and what the client got, by one of the two Envoys. */
async function exchange({ upstream }: Pair, through: Stack, sent: Sent) {
  const before = upstream.requests.length;
  const bytes = bytesOf(sent);
  // A slow line: the processor has answered the headers before a large body is here.
  const pieces = bytes.length > 100_000 ? [bytes.subarray(0, 10_000), { pauseMs: 100 }, bytes.subarray(10_000)] : [bytes];
  const received = await rawExchange(through.url, pieces, { enough: (bytes) => (rawMessage(bytes)?.whole ?? false) || /^HTTP\/1.1 204[^]*\r\n\r\n$/.test(bytes.toString('latin1')) });
  return { atUpstream: upstream.requests.slice(before).map((bytes) => rawMessage(bytes)), atClient: rawMessage(received) };
}

const SPOOFED = 'x-tokenweir-ticket: t\r\nx-tokenweir-request-id: r\r\nx-gateway-destination-endpoint: 10.0.0.1:80\r\nx-pass-x-tokenweir-work: w\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n';

const CASES: [string, Sent][] = [
  ['an answer in one piece', { answer: 'json', body: chat() }],
  ['a stream', { answer: 'stream' }],
  ['a stream cut at odd places', { answer: 'cut' }],
  ['a stream that asked for usage', { answer: 'stream', body: chat({ stream: true, stream_options: { include_usage: true } }) }],
  ['a compressed stream', { answer: 'gzip' }],
  ['spoofed headers', { answer: 'json', headers: SPOOFED }],
  ['a chunked request body', { answer: 'stream', chunkedBody: true }],
  ['what the upstream refuses', { answer: 'refused' }],
  ['garbage of the upstream', { answer: 'garbage' }],
  ['an answer without a body', { answer: 'nothing' }],
  ['a GET', { answer: 'json', method: 'GET', path: '/v1/models' }],
  ['a body larger than what is read', { answer: 'json', body: chat({ messages: [{ role: 'user', content: 'x'.repeat(17_000_000) }] }) }],
  ['an OPTIONS', { answer: 'nothing', method: 'OPTIONS' }],
];

const REFUSED: [string, Sent][] = [
  ['a request above the limit', { answer: 'stream', key: 'key-tiny', body: chat({ stream: true, max_tokens: 40 }) }],
  ['a request that can never fit', { answer: 'json', key: 'key-tiny', body: chat({ max_tokens: 5000 }) }],
  ['a model that is not allowed', { answer: 'json', body: chat({ model: 'other' }) }],
  ['an unknown key', { answer: 'json', key: 'nobody' }],
  ['no key', { answer: 'json', key: null }],
  ['a body that is no JSON', { answer: 'json', body: '{"model": nope' }],
  ['a body in an unknown coding', { answer: 'json', headers: 'content-encoding: lzma\r\n' }],
  ['an unknown path', { answer: 'json', path: '/v1/unheard/of' }],
];

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('shadow changes no header and no byte, %s', (envoyConfig) => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await startPair(envoyConfig, 'shadow');
  });
  afterAll(() => stopPair(pair));

  const compare = async (sent: Sent): Promise<void> => {
    const shadow = await exchange(pair, pair.filtered, sent);
    const bare = await exchange(pair, pair.bare, sent);
    expect(bare.atUpstream).toHaveLength(1);
    expect(shadow.atUpstream.map(told)).toEqual(bare.atUpstream.map(told));
    expect(told(shadow.atClient)).toEqual(told(bare.atClient));
  };

  it.each(CASES)('%s', async (_, sent) => {
    await compare(sent);
  });

  it.each(REFUSED)('what enforce would refuse: %s', async (name, sent) => {
    // Some use up what there is, so that the next would be refused.
    for (let i = 0; name === 'a request above the limit' && i < 3; i++) await exchange(pair, pair.filtered, sent);
    await compare(sent);
    await pair.processor.idle();
    const line = pair.processor.log.filter(({ msg }) => msg === 'request').at(-1)!;
    expect(line['decision']).toBe('would_refuse');
  });

  it('no byte waits: the upstream sees the first before the client sent the last', async () => {
    const bytes = bytesOf({ answer: 'json' });
    const before = pair.upstream.begun();
    const half = Math.floor(bytes.length * 0.8);
    const received = rawExchange(pair.filtered.url, [bytes.subarray(0, half), { pauseMs: 400 }, bytes.subarray(half)]);
    await delay(300);
    expect(pair.upstream.begun()).toBe(before + 1);
    expect(rawMessage(await received)!.start).toContain('200');
    await pair.processor.idle();
    expect(pair.processor.log.filter(({ msg }) => msg === 'request').at(-1)).toMatchObject({ decision: 'admitted', outcome: 'completed', inputTokens: 9 });
  });

  it('streams were charged all the same, with the usage that passed or by their deltas', async () => {
    await pair.processor.idle();
    const { usage } = (await pair.processor.app.status()).tenants['acme']!;
    expect(usage.requests).toBeGreaterThan(8);
    expect(usage.inputTokens).toBeGreaterThan(9 * 5);
  });

  it('in enforce the same requests are refused, so that the cases above prove something', async () => {
    pair.processor.reconfigure(yaml('enforce'));
    for (const [name, sent] of REFUSED) {
      const { atUpstream, atClient } = await exchange(pair, pair.filtered, sent);
      expect([name, atUpstream.length, /^HTTP\/1.1 4/.test(atClient!.start)]).toEqual([name, 0, true]);
    }
  });
});

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('enforce changes what it must, %s', (envoyConfig) => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await startPair(envoyConfig, 'enforce');
  });
  afterAll(() => stopPair(pair));

  const OURS = /^(x-tokenweir-|x-ratelimit-|ratelimit)/;

  it.each([
    ['json', chat(), JSON_BODY],
    ['stream', chat({ stream: true }), EVENTS.filter((event) => event !== USAGE).join('')],
    ['cut', chat({ stream: true }), EVENTS.filter((event) => event !== USAGE).join('')],
    ['stream', chat({ stream: true, stream_options: { include_usage: true } }), EVENTS.join('')],
  ])('the client gets the upstream\'s bytes but for the hidden usage event and our headers: %s', async (answer, body, expected) => {
    const ours = await exchange(pair, pair.filtered, { answer, body });
    const bare = await exchange(pair, pair.bare, { answer, body });
    expect(ours.atClient!.body.toString()).toBe(expected);
    const foreign = (lines: readonly string[] = []) => lines.filter((line) => !OURS.test(line));
    expect(foreign(ours.atClient?.lines)).toEqual(foreign(bare.atClient?.lines));
    expect(ours.atClient!.lines).toContain('x-tokenweir-decision: admitted');
  });

  it('the upstream gets the client\'s bytes but for the splice, the accept-encoding and our headers', async () => {
    const body = '{"stream" : true,"model":"sim-small", "max_tokens":8e0,"messages":[{"role":"user","content":"\\u00e9\\/"}]}';
    const { atUpstream } = await exchange(pair, pair.filtered, { answer: 'stream', body, headers: SPOOFED });
    const sent = atUpstream[0]!;
    expect(sent.body.toString().replace(/,?\s*"stream_options":\{"include_usage":true\},?/, '')).toBe(body);
    const names = sent.lines.map((line) => line.split(':')[0]!);
    expect(names.filter((name) => /accept-encoding|x-gateway|x-pass|x-tokenweir-(?!request-id)/.test(name))).toEqual([]);
    expect(sent.lines).toContain('authorization: Bearer key-acme');
    expect(sent.lines.find((line) => line.startsWith('x-tokenweir-request-id:'))).not.toBe('x-tokenweir-request-id: r');
    expect(sent.lines.find((line) => line.startsWith('traceparent:'))).toContain('0af7651916cd43dd8448eb211c80319c');
  });

  it('enforcement is switched at run time: enforce, shadow, off and back', async () => {
    // More than is left after one, whatever was learned of prompts before.
    const above: Sent = { answer: 'json', key: 'key-tiny', body: chat({ max_tokens: 45 }) };
    const used = async (): Promise<number> => {
      await pair.processor.idle();
      return (await pair.processor.app.status()).tenants['tiny']!.usage.requests;
    };
    const status = async (): Promise<string> => (await exchange(pair, pair.filtered, above)).atClient!.start.split(' ')[1]!;
    pair.processor.reconfigure(yaml('shadow'));
    await status();
    await status();
    pair.processor.reconfigure(yaml('enforce'));
    expect([await status(), await used()]).toEqual(['429', 2]);
    pair.processor.reconfigure(yaml('shadow'));
    expect([await status(), await used()]).toEqual(['200', 3]);
    pair.processor.reconfigure(yaml('off'));
    expect([await status(), await used()]).toEqual(['200', 3]);
    pair.processor.reconfigure(yaml('enforce'));
    expect([await status(), await used()]).toEqual(['429', 3]);
  });
});
