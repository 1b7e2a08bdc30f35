import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import { BedrockRuntimeClient, ConverseStreamCommand, InvokeModelWithResponseStreamCommand, ServiceUnavailableException } from '@aws-sdk/client-bedrock-runtime';
import { ApiError as GoogleError, GoogleGenAI } from '@google/genai';
import OpenAI, { APIError, RateLimitError } from 'openai';
import { connect, constants } from 'node:http2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gzipSync } from 'node:zlib';
import { TOLD } from '../support/answers/said.js';
import { chat, JSON_HEADERS } from '../support/clients.js';
import { endless, startEndRig, type EndRig } from '../support/end-rig.js';
import { tenantsYaml } from '../support/pool-rig.js';
import { startRig } from '../support/rig.js';
import { eventStream, jsonList, ndjson, sseStream } from '../support/framing.js';

const CONTENT = 'Hello there, how are you?';
const messages = [{ role: 'user' as const, content: CONTENT }];
const openai = (url: string) => new OpenAI({ apiKey: 'key-wide', baseURL: `${url}/v1`, maxRetries: 0 });
const anthropic = (url: string) => new Anthropic({ apiKey: 'key-wide', baseURL: url, maxRetries: 0 });
const google = (url: string) => new GoogleGenAI({ apiKey: 'key-wide', httpOptions: { baseUrl: url } });
const bedrock = (url: string) => new BedrockRuntimeClient({ region: 'us-east-1', endpoint: url, token: { token: 'key-wide' }, authSchemePreference: ['httpBearerAuth'], maxAttempts: 1 });

const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-s', choices: [{ index: 0, delta: { content: 'Hello there. ' }, finish_reason: null }] };
const delta = { event: 'response.output_text.delta', data: { type: 'response.output_text.delta', sequence_number: 0, item_id: 'm', output_index: 0, content_index: 0, delta: 'Hello there. ', logprobs: [] } };
const said = { event: 'content_block_delta', data: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello there. ' } } };
const begun = [
  { event: 'message_start', data: { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'claude-s', content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: TOLD.input, output_tokens: 1 } } } },
  { event: 'content_block_start', data: { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } },
];
const candidate = { candidates: [{ content: { role: 'model', parts: [{ text: 'Hello there. ' }] }, index: 0 }], modelVersion: 'gemini-s' };
const line = { model: 'llama-s', created_at: '2026-01-01T00:00:00Z', message: { role: 'assistant', content: 'Hello there. ' }, done: false };
const frame = { type: 'contentBlockDelta', payload: { contentBlockIndex: 0, delta: { text: 'Hello there. ' } } };
const bytes = { type: 'chunk', payload: { bytes: Buffer.from(JSON.stringify(said.data)).toString('base64') } };
const AWS = 'application/vnd.amazon.eventstream';

interface Client {
  readonly stream: ReturnType<typeof endless>;
  /** Reads all of it; calls `first` with the first piece. */
  read(url: string, first: () => void): Promise<void>;
  readonly raises: new (...args: never[]) => Error;
}

async function all(stream: PromiseLike<AsyncIterable<unknown>>, first: () => void): Promise<void> {
  const seen: unknown[] = [];
  for await (const piece of await stream) if (seen.push(piece) === 1) first();
}

const CLIENTS: Record<string, () => Client> = {
  'OpenAI chat': () => ({
    stream: endless(sseStream([{ data: chunk }]), sseStream([{ data: chunk }])), raises: APIError,
    read: (url, first) => all(openai(url).chat.completions.create({ model: 'gpt-s', messages, stream: true }), first),
  }),
  'OpenAI completions': () => {
    const part = sseStream([{ data: { id: 'c', object: 'text_completion', created: 1, model: 'gpt-s', choices: [{ index: 0, text: 'Hello there. ', finish_reason: null }] } }]);
    return { stream: endless(part, part), raises: APIError, read: (url, first) => all(openai(url).completions.create({ model: 'gpt-s', prompt: CONTENT, stream: true }), first) };
  },
  'OpenAI responses': () => ({
    stream: endless(sseStream([delta]), sseStream([delta])), raises: APIError,
    read: (url, first) => all(openai(url).responses.create({ model: 'gpt-s', input: CONTENT, stream: true }), first),
  }),
  Anthropic: () => ({
    stream: endless(sseStream([...begun, said]), sseStream([said])), raises: AnthropicError,
    read: (url, first) => all(anthropic(url).messages.create({ model: 'claude-s', max_tokens: 400, messages, stream: true }), first),
  }),
  Gemini: () => ({
    stream: endless(sseStream([{ data: candidate }]), sseStream([{ data: candidate }])), raises: GoogleError,
    read: (url, first) => all(google(url).models.generateContentStream({ model: 'gemini-s', contents: CONTENT }), first),
  }),
  'Bedrock Converse': () => ({
    stream: endless(eventStream([{ type: 'messageStart', payload: { role: 'assistant' } }, frame]), eventStream([frame]), AWS), raises: ServiceUnavailableException,
    read: (url, first) => all(bedrock(url).send(new ConverseStreamCommand({ modelId: 'claude-s', messages: [{ role: 'user', content: [{ text: CONTENT }] }] })).then(({ stream }) => stream!), first),
  }),
  'Bedrock invoke': () => ({
    stream: endless(eventStream([bytes]), eventStream([bytes]), AWS), raises: ServiceUnavailableException,
    read: (url, first) => {
      const body = JSON.stringify({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 400, messages });
      return all(bedrock(url).send(new InvokeModelWithResponseStreamCommand({ modelId: 'us.anthropic.claude-s', body, contentType: 'application/json' })).then((answer) => answer.body!), first);
    },
  }),
};

/** A plain client: what it got, and whether the transfer was whole. */
async function raw(url: string, path: string, body: object, first: () => void): Promise<{ status: number; text: string; whole: boolean }> {
  const response = await fetch(`${url}${path}`, { method: 'POST', headers: JSON_HEADERS('key-wide'), body: JSON.stringify(body) });
  let text = '';
  try {
    for await (const piece of response.body!) {
      if (text === '') first();
      text += Buffer.from(piece).toString('latin1');
    }
  } catch {
    return { status: response.status, text, whole: false };
  }
  return { status: response.status, text, whole: true };
}

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('a stream that its pool ends (point 4), %s', (envoyConfig) => {
  const duplex = envoyConfig === 'envoy.duplex.yaml';
  let at: EndRig;
  beforeAll(async () => {
    at = await startEndRig({ envoyConfig });
  });
  afterAll(async () => {
    await at?.stop();
  });

  it.each(Object.entries(CLIENTS))('%s: the official client raises it, what passed is charged, and the upstream stops', async (_name, clientOf) => {
    const client = clientOf();
    at.answerWith(client.stream);
    const error = await client.read(at.rig.stack.url, () => at.endLatest()).then(() => expect.fail('it was taken for whole'), (reason: unknown) => reason);
    expect(error).toBeInstanceOf(client.raises);
    expect((error as Error).message).toContain('pool house needed the room');
    const { event, upstream, upstreamEndedMs, line: logged } = await at.over();
    expect(event.outcome).toBe('ended');
    expect(event.outputTokens).toBeGreaterThan(1);
    expect(event.outputTokens).toBeLessThan(60);
    expect(event.inputTokens).toBeGreaterThan(0);
    expect(upstream.disconnected).toBe(true);
    expect(upstreamEndedMs).toBeLessThan(1_000);
    expect(logged).toMatchObject({ outcome: 'ended', endReason: 'reclaimed', decision: 'admitted' });
    expect((await at.rig.processor.app.status()).leases).toBe(0);
  });

  it('Ollama: a line with the error', async () => {
    at.answerWith(endless(ndjson([line]), ndjson([line]), 'application/x-ndjson'));
    const { text, whole } = await raw(at.rig.stack.url, '/api/chat', { model: 'llama-s', messages }, () => at.endLatest());
    const lines = text.trimEnd().split('\n').map((each) => JSON.parse(each) as Record<string, unknown>);
    expect(lines.at(-1)!['error']).toContain('needed the room');
    expect(whole).toBe(duplex);
    expect((await at.over()).event.outcome).toBe('ended');
  });

  it("Gemini's list: its last part, and the bracket that closes it", async () => {
    const list = jsonList([candidate]).toString().trimEnd().slice(0, -1);
    at.answerWith(endless(Buffer.from(list), Buffer.from(`,\r\n${JSON.stringify(candidate)}`), 'application/json'));
    const { text } = await raw(at.rig.stack.url, '/v1beta/models/gemini-s:streamGenerateContent', { contents: [{ parts: [{ text: CONTENT }] }] }, () => at.endLatest('pressure'));
    const parts = JSON.parse(text) as Record<string, unknown>[];
    expect(parts.at(-1)).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' }, tokenweir: { reason: 'stream_ended', why: 'pressure' } });
    expect((await at.over()).line['endReason']).toBe('pressure');
  });

  it('a transfer is clean behind the error in FULL_DUPLEX, and broken where only chunks are answered', async () => {
    at.answerWith(endless(sseStream([{ data: chunk }]), sseStream([{ data: chunk }])));
    const { status, text, whole } = await raw(at.rig.stack.url, '/v1/chat/completions', { model: 'gpt-s', messages, stream: true }, () => at.endLatest());
    expect([status, whole]).toEqual([200, duplex]);
    const events = text.trimEnd().split('\n\n');
    for (const event of events) JSON.parse(event.slice('data: '.length));
    expect(events.at(-1)).toContain('"code":"stream_ended"');
    expect(text).not.toContain('[DONE]');
    // Counted is what the client got, and nothing of what the upstream sent besides.
    const { event } = await at.over();
    expect(text.match(/Hello there\. /g)).toHaveLength(events.length - 1);
    expect(event.outputTokens).toBeGreaterThanOrEqual(events.length - 1);
    expect(event.outputTokens).toBeLessThanOrEqual(4 * (events.length - 1));
  });

  it('an HTTP/2 client gets the error too, before the reset', async () => {
    at.answerWith(endless(sseStream([{ data: chunk }]), sseStream([{ data: chunk }])));
    const session = connect(at.rig.stack.url);
    const stream = session.request({ ':method': 'POST', ':path': '/v1/chat/completions', ...JSON_HEADERS('key-wide') });
    let text = '';
    stream.on('data', (piece: Buffer) => {
      if (text === '') at.endLatest();
      text += piece.toString();
    });
    stream.on('error', () => undefined);
    stream.end(JSON.stringify({ model: 'gpt-s', messages, stream: true }));
    await new Promise((resolve) => stream.once('close', resolve));
    session.close();
    expect(text).toMatch(/"code":"stream_ended".*\n\n$/);
    expect(stream.rstCode === constants.NGHTTP2_NO_ERROR).toBe(duplex);
    expect((await at.over()).upstream.disconnected).toBe(true);
  });

  it('one whose chunks end within events: the client gets the rest of the event first', async () => {
    const event = sseStream([{ data: chunk }]);
    const [head, tail] = [event.subarray(0, 30), event.subarray(30)];
    at.answerWith(endless(Buffer.concat([event, head]), Buffer.concat([tail, head])));
    const body = { model: 'gpt-s', messages, stream: true, stream_options: { include_usage: true } };
    const { text } = await raw(at.rig.stack.url, '/v1/chat/completions', body, () => at.endLatest());
    const events = text.trimEnd().split('\n\n');
    for (const each of events) JSON.parse(each.slice('data: '.length));
    expect(events.at(-1)).toContain('stream_ended');
    await at.over();
  });

  it('one that has not begun: a refusal at once, which official clients know, and nothing is charged', async () => {
    at.answerWith({ ...endless(sseStream([{ data: chunk }]), sseStream([{ data: chunk }])), firstByteMs: 5_000 });
    const seen = at.rig.stack.upstream.requests.length;
    const call = openai(at.rig.stack.url).chat.completions.create({ model: 'gpt-s', messages, stream: true }).then(() => expect.fail('it was answered'), (reason: unknown) => reason);
    await expect.poll(() => at.rig.stack.upstream.requests.length).toBe(seen + 1);
    at.endLatest();
    const error = await call;
    expect(error).toBeInstanceOf(RateLimitError);
    expect((error as RateLimitError).headers!.get('retry-after')).toBe('1');
    const { event, upstream, upstreamEndedMs } = await at.over();
    expect(event).toMatchObject({ outcome: 'ended', inputTokens: 0, outputTokens: 0 });
    expect(upstream.disconnected).toBe(true);
    expect(upstreamEndedMs).toBeLessThan(1_000);
  });

  it('one that is silent: a broken transfer, or where one is possible a clean end with the error', async () => {
    at.answerWith({ kind: 'answer', pieces: [sseStream([{ data: chunk }])], end: 'never' });
    const { text, whole } = await raw(at.rig.stack.url, '/v1/chat/completions', { model: 'gpt-s', messages, stream: true }, () => at.endLatest());
    expect(whole).toBe(duplex);
    expect(text.includes('stream_ended')).toBe(duplex);
    const { event, upstream } = await at.over();
    expect(event).toMatchObject({ outcome: 'ended' });
    expect(upstream.disconnected).toBe(true);
  });

  it('one that the upstream compressed, and that the client gets as it came: a broken transfer, and what passed is charged', async () => {
    const packed = gzipSync(sseStream([{ data: chunk }]));
    at.answerWith({ ...endless(packed, gzipSync(sseStream([{ data: chunk }]))), headers: { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' } });
    const body = { model: 'gpt-s', messages, stream: true, stream_options: { include_usage: true } };
    const { whole } = await raw(at.rig.stack.url, '/v1/chat/completions', body, () => at.endLatest());
    expect(whole).toBe(false);
    const { event } = await at.over();
    expect(event.outcome).toBe('ended');
    expect(event.outputTokens).toBeGreaterThan(0);
  });

  it('an answer that is no stream runs to its end', async () => {
    const whole = JSON.stringify({ id: 'c', model: 'gpt-s', choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' } }], usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } });
    at.answerWith({ kind: 'answer', headers: { 'content-type': 'application/json' }, pieces: [whole.slice(0, 20), { pauseMs: 400 }, whole.slice(20)] });
    const { text } = await raw(at.rig.stack.url, '/v1/chat/completions', JSON.parse(chat()) as object, () => at.endLatest());
    expect(JSON.parse(text)).toMatchObject({ usage: { total_tokens: 12 } });
    const { event } = await at.over();
    expect(event).toMatchObject({ outcome: 'completed', inputTokens: 9, outputTokens: 3 });
  });

  it('counts each in the metric, and no stream of ours went wrong', async () => {
    expect(await at.rig.metrics()).toMatch(/tokenweir_streams_ended_total\{why="reclaimed"\} [1-9]/);
    expect(at.rig.processor.log.filter(({ msg }) => msg === 'fault')).toEqual([]);
  });
});

const POOL = `${tenantsYaml('gold', 'cheap')}
pools:
  - { id: chat, kind: self-hosted, models: ["*"], capacity: { slots: 1 }, hold: { interactiveMs: 20000, backgroundMs: 30000 } }
entitlements:
  - { tenant: gold, pool: chat, class: guaranteed, baseline: { slots: 1 } }
  - { tenant: cheap, pool: chat, class: spot }
`;

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('a pool that lends its room to a stream, %s', (envoyConfig) => {
  it('takes it back for a request within its baseline, which then runs', async () => {
    const rig = await startRig(POOL, { envoyConfig, upstream: { script: ({ json }) => ((json as { stream?: boolean }).stream === true ? endless(sseStream([{ data: chunk }]), sseStream([{ data: chunk }])) : null) } });
    try {
      const post = (key: string, more: object) => fetch(`${rig.stack.url}/v1/chat/completions`, { method: 'POST', headers: JSON_HEADERS(key), body: chat(more as Record<string, unknown>) });
      const cheap = await post('key-cheap', { stream: true });
      const text = cheap.text().catch(() => 'broken');
      const gold = await post('key-gold', {});
      expect(gold.status).toBe(200);
      expect(await text).toMatch(envoyConfig === 'envoy.yaml' ? /^broken$/ : /"why":"reclaimed"/);
      const [first] = rig.stack.upstream.requests;
      await first!.ended;
      expect(first!.disconnected).toBe(true);
      const events = await rig.settled();
      expect(events.find(({ tenantId }) => tenantId === 'cheap')).toMatchObject({ outcome: 'ended' });
      expect(events.find(({ tenantId }) => tenantId === 'gold')).toMatchObject({ outcome: 'completed' });
    } finally {
      await rig.stop();
    }
  });
});
