import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { invokeFrames } from '../support/answers/bedrock.js';
import { streamed } from '../support/answers/said.js';
import { JSON_HEADERS } from '../support/clients.js';
import { eventStream } from '../support/framing.js';
import { handedCase } from '../support/handed.js';
import { startSdkRig, tenant, type SdkRig } from '../support/sdk-rig.js';
import type { Special } from '../support/scripted-upstream.js';
import { zstdBomb, zstdRaw } from '../support/zstd.js';

const TENANTS = [
  tenant('litellm-32865', '{ tokensPerMinute: 50000 }'),
  tenant('ai-14117', '[{ tokensPerMinute: 1000000 }, { models: ["arn:*"], requestsPerMinute: 1 }]'),
].join('');

const BASE64_BYTES = 400_000;

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('handed cases of each API, %s', (envoyConfig) => {
  let special: Special = () => null;
  let rig: SdkRig;
  beforeAll(async () => {
    rig = await startSdkRig({ envoyConfig, tenants: TENANTS, special: (request, path) => special(request, path) });
  });
  afterAll(async () => {
    await rig?.stop();
  });

  /** Posts a request and reads all of its answer. */
  const post = async (path: string, body: unknown, key = 'wide', headers: Record<string, string> = {}): Promise<Response> => {
    const sent = Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`${rig.stack.url}${path}`, { method: 'POST', headers: { ...JSON_HEADERS(`key-${key}`), ...headers }, body: sent });
    await answer.clone().arrayBuffer();
    return answer;
  };

  /** What is booked for a request whose answer comes in exactly these pieces, which the client must get as they are. */
  async function bookedFor(path: string, body: object, pieces: readonly (string | Buffer)[], contentType: string) {
    special = () => ({ kind: 'answer', headers: { 'content-type': contentType }, pieces: pieces.flatMap((piece) => [piece, { pauseMs: 5 }]) });
    const { value, event } = await rig.booked(() => post(path, body));
    expect(value.status).toBe(200);
    expect(Buffer.from(await value.arrayBuffer())).toEqual(Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))));
    return event;
  }
  const chunksOf = (input: Readonly<Record<string, unknown>>): string[] => input['response_chunks'] as string[];
  const claude = { model: 'claude-x', max_tokens: 50, stream: true, messages: [{ role: 'user', content: 'Hi' }] };

  handedCase('envoyproxy/ai-gateway#2290', async ({ input, expected }) => {
    const event = await bookedFor('/v1/messages', claude, chunksOf(input), 'text/event-stream');
    expect(event).toMatchObject({ inputTokens: expected['input_total'], outputTokens: expected['output_total'], estimated: false });
    expect(event.lines.find(({ kind }) => kind === 'cache_write_5m')?.tokens).toBe(expected['cache_write']);
  });

  handedCase('maximhq/bifrost#5355', async ({ input, expected }) => {
    const event = await bookedFor('/v1/messages', claude, chunksOf(input), 'text/event-stream');
    expect(event).toMatchObject({ inputTokens: expected['input_total'], cachedInputTokens: expected['cache_read'], outputTokens: expected['output_total'], estimated: false });
  });

  handedCase('maximhq/bifrost#5629', async ({ input, expected }) => {
    const frames = eventStream(invokeFrames(input['bedrock_invoke_inner_json'] as unknown[]));
    const body = { anthropic_version: 'bedrock-2023-05-31', max_tokens: 50, messages: claude.messages };
    const event = await bookedFor('/model/anthropic.claude-x-v1%3A0/invoke-with-response-stream', body, [frames.subarray(0, 201), frames.subarray(201)], 'application/vnd.amazon.eventstream');
    expect(event).toMatchObject({ model: 'anthropic.claude-x-v1:0', inputTokens: expected['input_total'], outputTokens: expected['output_total'], estimated: false });
  });

  handedCase('router-for-me/CLIProxyAPI#5733', async ({ input, expected }) => {
    const body = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
    const event = await bookedFor('/v1beta/models/gemini-x:streamGenerateContent?alt=sse', body, chunksOf(input), 'text/event-stream');
    expect(event).toMatchObject({ inputTokens: expected['input_total'], outputTokens: expected['output_total'], reasoningTokens: expected['reasoning'], estimated: false });
  });

  handedCase('ollama/ollama#2068', async ({ input, expected }) => {
    const event = await bookedFor('/api/chat', input['request'] as object, input['response_ndjson'] as string[], 'application/x-ndjson');
    expect(event).toMatchObject({ api: 'ollama-chat', outputTokens: expected['output_total'], inputTokens: event.reservedInputTokens, estimated: expected['input_marked_estimated'] });
    expect(event.inputTokens).toBeGreaterThan(0);
  });

  handedCase('envoyproxy/ai-gateway#2162', async ({ input, expected }) => {
    const event = await bookedFor('/v1/responses', { model: 'm', input: 'hi', stream: true }, chunksOf(input), 'text/event-stream');
    expect(event).toMatchObject({ inputTokens: expected['input_total'], outputTokens: expected['output_total'], estimated: false });
  });

  handedCase('vercel/ai#14117', async ({ input, expected }) => {
    special = () => null;
    const body = { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] };
    const [raw = '', encoded = '', third = ''] = input['paths'] as string[];
    const models: string[] = [];
    for (const path of [raw, encoded]) {
      rig.clock.advance(60_000);
      models.push((await rig.booked(() => post(path, body, 'ai-14117'))).event.model);
      expect(rig.stack.upstream.requests.at(-1)!.path).toBe(path);
      for (const other of [raw, encoded]) expect((await post(other, body, 'ai-14117')).status).toBe(429);
    }
    models.push((await rig.booked(() => post(third, { anthropic_version: 'bedrock-2023-05-31', max_tokens: 5, messages: claude.messages }, 'ai-14117'))).event.model);
    expect(models).toEqual(expected['models']);
    await rig.processor.idle();
    const lines = rig.processor.log.filter(({ msg, tenant: id, decision }) => msg === 'request' && id === 'ai-14117' && decision === 'admitted');
    expect(lines.map(({ stream }) => stream)).toEqual(expected['streaming']);
  });

  handedCase('BerriAI/litellm#32865', async ({ input, expected }) => {
    special = () => null;
    const body = JSON.stringify(input['request']).replace('<2.5 MB of A>', 'A'.repeat(2_500_000));
    const { value, event } = await rig.booked(() => post('/v1/responses', body, 'litellm-32865'));
    expect(value.status).toBe(200);
    expect(event.reservedInputTokens).toBeLessThanOrEqual(expected['input_estimate_max'] as number);
    expect(event.reservedInputTokens).toBeGreaterThanOrEqual(expected['input_estimate_min'] as number);
  });

  handedCase('QuantumNous/new-api#7148', async ({ input, expected }) => {
    special = () => null;
    const base64 = 'A'.repeat(BASE64_BYTES);
    const given = JSON.parse(JSON.stringify(input['request']).replace('<400 kB of A>', base64)) as object;
    const requests: [path: string, body: object][] = [['/v1/messages', given], ...sameFor(base64)];
    for (const [path, body] of requests) {
      const { event } = await rig.booked(() => post(path, body));
      expect.soft(event.reservedInputTokens, path).toBeLessThanOrEqual(expected['input_estimate_max'] as number);
      expect.soft(event.reservedInputTokens, path).toBeGreaterThan(1);
    }
  });

  handedCase('mlflow/mlflow#24573', async ({ expected }) => {
    special = (_, path) => (path === '/v1/responses' ? streamed(Buffer.from('event: response.completed\ndata: {"type":"response.completed","response":{"usage":{"input_tokens":5,"output_tokens":2}}}\n\n')) : null);
    const plain = Buffer.from('{"model":"gpt-x","input":"hi","stream":true}');
    const codings: [string, Buffer][] = [['zstd', zstdRaw(plain)], ['gzip', gzipSync(plain)], ['deflate', deflateSync(plain)], ['br', brotliCompressSync(plain)], ['identity', plain]];
    for (const [coding, body] of codings) {
      const { value, event } = await rig.booked(() => post('/v1/responses', body, 'wide', { 'content-encoding': coding }));
      expect([coding, value.status === 200, event.model, event.inputTokens, event.outputTokens]).toEqual([coding, expected['admitted'], expected['model'], 5, 2]);
      // As it came, or decoded and then without the mark of a coding.
      const got = rig.stack.upstream.requests.at(-1)!;
      const asItCame = got.headers['content-encoding'] === coding;
      expect([coding, got.body.equals(asItCame ? body : plain)]).toEqual([coding, true]);
      if (!asItCame) expect([got.headers['content-encoding'], Number(got.headers['content-length'] ?? plain.length)]).toEqual([undefined, plain.length]);
    }
    const seen = rig.stack.upstream.requests.length;
    expect((await post('/v1/responses', zstdBomb(2 ** 30), 'wide', { 'content-encoding': 'zstd' })).status).toBe(413);
    const unknown = await post('/v1/responses', plain, 'wide', { 'content-encoding': 'compress' });
    expect(unknown.status).toBe(415);
    expect(await unknown.text()).toContain('compress');
    expect(rig.stack.upstream.requests).toHaveLength(seen);
  });
});

/** The other forms in which a prompt holds base64, each beside a few words. */
function sameFor(base64: string): [path: string, body: object][] {
  const said = 'what is this';
  const gemini = (mimeType: string): object => ({ contents: [{ role: 'user', parts: [{ text: said }, { inlineData: { mimeType, data: base64 } }] }] });
  const openai = (part: object): object => ({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: [{ type: 'text', text: said }, part] }] });
  const bedrock = (part: object): object => ({ inferenceConfig: { maxTokens: 5 }, messages: [{ role: 'user', content: [{ text: said }, part] }] });
  const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: base64 } };
  return [
    ['/v1beta/models/gemini-x:generateContent', gemini('image/png')],
    ['/v1beta/models/gemini-x:generateContent', gemini('application/pdf')],
    ['/model/amazon.nova-x-v1%3A0/converse', bedrock({ image: { format: 'png', source: { bytes: base64 } } })],
    ['/model/amazon.nova-x-v1%3A0/converse', bedrock({ document: { format: 'pdf', name: 'one', source: { bytes: base64 } } })],
    ['/v1/chat/completions', openai({ type: 'input_audio', input_audio: { format: 'wav', data: base64 } })],
    ['/v1/chat/completions', openai({ type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${base64}` } })],
    ['/v1/responses', { model: 'm', input: [{ role: 'user', content: [{ type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${base64}` }] }] }],
    ['/v1/messages', { model: 'claude-x', max_tokens: 5, messages: [{ role: 'user', content: [{ type: 'text', text: said }, pdf] }] }],
    ['/v1/messages', { model: 'claude-x', max_tokens: 5, messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [pdf] }] }] }],
    ['/api/chat', { model: 'llava', messages: [{ role: 'user', content: said, images: [base64] }] }],
  ];
}
