import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { response } from '../support/answers/openai.js';
import { TEXT, TOLD, whole } from '../support/answers/said.js';
import { JSON_HEADERS } from '../support/clients.js';
import { at, set } from '../support/envoy-edits.js';
import { rawExchange, startRecordingUpstream } from '../support/raw.js';
import { startSdkRig, type SdkRig, type SdkRigOptions } from '../support/sdk-rig.js';

const post = ({ stack }: SdkRig, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${stack.url}${path}`, { method: 'POST', headers: { ...JSON_HEADERS('key-wide'), ...headers }, body: Buffer.isBuffer(body) ? body : JSON.stringify(body) });

const messages = [{ role: 'user', content: 'Hello there, how are you?' }];
const claude = { model: 'claude-s', max_tokens: 40, messages };
const COUNTS = { inputTokens: TOLD.input, outputTokens: TOLD.output, estimated: false, outcome: 'completed', tenantId: 'wide' };

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('APIs without an official client here, %s', (envoyConfig) => {
  let rig: SdkRig;
  beforeAll(async () => {
    rig = await startSdkRig({ envoyConfig });
  });
  afterAll(async () => {
    await rig?.stop();
  });
  const booked = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    rig.booked(async () => {
      const answer = await post(rig, path, body, headers);
      expect([path, answer.status]).toEqual([path, 200]);
      return answer.text();
    });
  const forwarded = () => rig.stack.upstream.requests.at(-1)!;

  it.each([
    ['/api/chat', 'ollama-chat', { model: 'llama-s', messages }],
    ['/api/generate', 'ollama-generate', { model: 'llama-s', prompt: 'Hello there, how are you?' }],
  ])('Ollama %s: lines as they come, and whole', async (path, api, body) => {
    const lines = await booked(path, body);
    const said = lines.value.trim().split('\n').map((line) => JSON.parse(line) as { response?: string; message?: { content: string } });
    expect(said.map((line) => line.response ?? line.message?.content ?? '').join('')).toBe(TEXT);
    expect(forwarded().body.toString()).toBe(JSON.stringify(body));
    const one = await booked(path, { ...body, stream: false });
    expect(JSON.parse(one.value)).toMatchObject({ done: true, eval_count: TOLD.output });
    for (const { event } of [lines, one]) expect(event).toMatchObject({ ...COUNTS, api, model: 'llama-s' });
  });

  it('Ollama: refused in its own shape', async () => {
    rig.clock.advance(60_000);
    const ask = () => post(rig, '/api/chat', { model: 'llama-s', messages }, JSON_HEADERS('key-tight'));
    await (await ask()).text();
    const refused = await ask();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect(await refused.json()).toMatchObject({ error: expect.stringContaining('tight') as string, tokenweir: { limit: 'requests_per_minute' } });
  });

  it('llama.cpp /completion: streamed and whole, with what its cache had', async () => {
    const body = { prompt: 'Hello there, how are you?', n_predict: 40 };
    const streamed = await booked('/completion', { ...body, stream: true });
    const said = [...streamed.value.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!) as { content: string });
    expect(said.map(({ content }) => content).join('')).toBe(TEXT);
    const one = await booked('/completion', body);
    expect(JSON.parse(one.value)).toMatchObject({ content: TEXT });
    for (const { event } of [streamed, one]) expect(event).toMatchObject({ ...COUNTS, cachedInputTokens: TOLD.cached, api: 'llamacpp-completion' });
  });

  it.each([
    ['/api/embed', 'ollama-embed', { model: 'embed-s', input: ['one text', 'another'] }],
    ['/v1/rerank', 'rerank', { model: 'rank-s', query: 'which one?', documents: ['this', 'that'] }],
  ])('%s: input alone', async (path, api, body) => {
    const { event } = await booked(path, body);
    expect(event).toMatchObject({ ...COUNTS, outputTokens: 0, api, model: body.model });
  });

  it('Gemini: a stream as one JSON list, and a key in the query', async () => {
    const body = { contents: [{ role: 'user', parts: [{ text: 'Hello there, how are you?' }] }] };
    const { value, event } = await rig.booked(async () => {
      const answer = await fetch(`${rig.stack.url}/v1beta/models/gemini-s:streamGenerateContent?key=key-wide`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
      return answer.json() as Promise<{ candidates: { content: { parts: { text: string }[] } }[] }[]>;
    });
    expect(value.map(({ candidates }) => candidates[0]!.content.parts[0]!.text).join('')).toBe(TEXT);
    expect(event).toMatchObject({ ...COUNTS, cachedInputTokens: TOLD.cached, reasoningTokens: TOLD.reasoning, api: 'gemini-generate-content', model: 'gemini-s' });
    expect(JSON.stringify([rig.processor.log, rig.stack.envoy.accessLog()])).not.toContain('key-wide');
  });

  it('a compressed request to Anthropic is read and reaches the upstream whole', async () => {
    const plain = Buffer.from(JSON.stringify(claude));
    const sent = gzipSync(plain);
    const { event } = await booked('/v1/messages', sent, { 'content-encoding': 'gzip' });
    expect(event).toMatchObject({ ...COUNTS, api: 'anthropic-messages', model: 'claude-s' });
    const { body, headers } = forwarded();
    expect(body.equals(headers['content-encoding'] === 'gzip' ? sent : plain)).toBe(true);
  });

  it.each([
    ['/anthropic/v1/messages', claude, 'anthropic-messages'],
    ['/v1%2Fchat%2Fcompletions', { model: 'gpt-s', messages }, 'openai-chat'],
    ['/bedrock/model/claude-s/invoke', { anthropic_version: 'bedrock-2023-05-31', max_tokens: 40, messages }, 'bedrock-invoke'],
    ['/openai/v1/responses', { model: 'gpt-s', input: 'Hi' }, 'openai-responses'],
    ['/v1/projects/p/locations/us-central1/publishers/google/models/gemini-s:streamGenerateContent?alt=sse', { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }, 'gemini-generate-content'],
    ['/gemini/v1beta/models/gemini-s:generateContent', { contents: [{ parts: [{ text: 'Hi' }] }] }, 'gemini-generate-content'],
  ])('%s, a prefix or a spelling that a gateway takes too, is metered', async (path, body, api) => {
    const { event } = await rig.booked(() => post(rig, path, body).then((answer) => answer.text()));
    expect(event).toMatchObject({ tenantId: 'wide', api });
    expect(forwarded().path).toBe(path);
  });
});

/** A handshake of WebSocket, without any message after it. */
const upgradeOf = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: t\r\nauthorization: Bearer key-wide\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n';

describe('no unmetered holes', () => {
  const open: SdkRig[] = [];
  afterEach(async () => {
    for (const rig of open.splice(0)) await rig.stop();
  });
  async function start(options: SdkRigOptions): Promise<SdkRig> {
    const rig = await startSdkRig({
      ...options, edit: set(at.manager('upgrade_configs'), [{ upgrade_type: 'websocket' }]),
      special: ({ json }, path) => {
        if ((json as { background?: boolean } | undefined)?.background === true) return whole(response('gpt-s', 'queued'));
        return path.startsWith('/v1/responses') || path.startsWith('/v1/chat') ? null : whole({ id: 'made' });
      },
    });
    open.push(rig);
    return rig;
  }
  /** The first line of the answer to a handshake, once all of it is there that ends so. */
  const handshake = async (rig: SdkRig, path: string, end = '\r\n\r\n'): Promise<string> =>
    (await rawExchange(rig.stack.url, [upgradeOf(path)], { enough: (bytes) => bytes.includes(end), withinMs: 3000 })).toString('latin1').split('\r\n', 1)[0]!;

  it.each(['envoy.yaml', 'envoy.duplex.yaml'])('WebSockets are refused on every path of an API, %s', async (envoyConfig) => {
    const rig = await start({ envoyConfig });
    for (const path of ['/v1/realtime?model=gpt-s', '/v1/responses', '/v1/chat/completions', '/openai/realtime', '/v1/..%2fv1/realtime']) {
      expect([path, await handshake(rig, path)]).toEqual([path, 'HTTP/1.1 403 Forbidden']);
    }
    expect(rig.stack.upstream.requests).toHaveLength(0);
  });

  it.each(['envoy.yaml', 'envoy.duplex.yaml'])('and pass where that is configured, seen in the metric, %s', async (envoyConfig) => {
    const upstream = await startRecordingUpstream(() => [SWITCHING, 'a first frame']);
    const rig = await start({ envoyConfig, more: 'unmetered: { realtime: pass }\n', upstreamPort: upstream.port });
    const { value, counted } = await rig.unmetered(() => handshake(rig, '/v1/realtime?model=gpt-s', 'a first frame'));
    expect(value).toBe('HTTP/1.1 101 Switching Protocols');
    expect(counted).toEqual({ realtime: 1 });
    await upstream.close();
  });

  const WORK: [kind: string, setting: string, path: string][] = [
    ['batches', 'batches', '/v1/batches'],
    ['batches', 'batches', '/v1/messages/batches'],
    ['assistants', 'assistants', '/v1/threads/runs'],
    ['fine_tuning', 'fineTuning', '/v1/fine_tuning/jobs'],
    ['pass_through', 'passThrough', '/assemblyai/v2/transcript'],
    ['other', 'other', '/v1/complete'],
  ];

  it('work that no answer tells the cost of is refused, in each API’s shape, and passes where that is configured', async () => {
    const rig = await start({});
    for (const [kind, , path] of WORK) {
      const refused = await post(rig, path, {});
      expect([path, kind, refused.status]).toEqual([path, kind, 403]);
      expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining('unmetered.') as string }, tokenweir: { reason: 'not_metered' } });
    }
    expect(rig.stack.upstream.requests).toHaveLength(0);
    const settings = [...new Set(WORK.map(([, setting]) => `${setting}: pass`))];
    const lenient = await start({ more: `unmetered: { ${settings.join(', ')} }\n` });
    for (const [kind, , path] of WORK) {
      const { value, counted } = await lenient.unmetered(() => post(lenient, path, {}));
      expect([path, value.status, counted]).toEqual([path, 200, { [kind]: 1 }]);
    }
  });

  it('what runs no model, or is no work of tokens, passes, seen in the metric', async () => {
    const rig = await start({});
    for (const [kind, path] of [['files', '/v1/files'], ['media', '/v1/images/generations'], ['moderations', '/v1/moderations'], ['count_tokens', '/v1/messages/count_tokens'], ['unknown_path', '/v1/whatever']] as const) {
      const { value, counted } = await rig.unmetered(() => post(rig, path, {}));
      expect([path, value.status, counted]).toEqual([path, 200, { [kind]: 1 }]);
    }
  });

  it('an answer made in the background is charged as it was estimated, or refused where that is configured', async () => {
    const ask = (rig: SdkRig): Promise<Response> => post(rig, '/v1/responses', { model: 'gpt-s', input: 'Write a long report.', background: true, max_output_tokens: 200 });
    const rig = await start({});
    const { value, event } = await rig.booked(() => ask(rig));
    expect(await value.json()).toMatchObject({ status: 'queued', usage: null });
    expect(event).toMatchObject({ estimated: true, inputTokens: event.reservedInputTokens });
    expect(event.outputTokens).toBeGreaterThan(0);
    const strict = await start({ more: 'background: reject\n' });
    const refused = await ask(strict);
    expect([refused.status, ((await refused.json()) as { error: { param: string } }).error.param]).toEqual([400, 'background']);
    expect(strict.stack.upstream.requests).toHaveLength(0);
  });
});
