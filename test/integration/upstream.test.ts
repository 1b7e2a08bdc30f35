import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { request as httpRequest } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import type { SimulatedUpstreamOptions } from '../../src/upstream/options.js';
import { INSTANT } from '../../src/upstream/options.js';
import { cutAt, sse } from '../../src/upstream/script.js';
import type { SimulatedUpstream } from '../../src/upstream/server.js';
import { createSimulatedUpstream } from '../../src/upstream/server.js';
import { countTokens } from '../../src/upstream/tokens.js';

interface Chunk {
  choices: { index: number; delta?: { content?: string; reasoning_content?: string; role?: string }; text?: string; finish_reason: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number; completion_tokens_details: { reasoning_tokens: number } } | null;
}

let upstream: SimulatedUpstream;

async function start(options: SimulatedUpstreamOptions = {}): Promise<void> {
  upstream = await createSimulatedUpstream({ timing: INSTANT, ...options });
}

afterEach(() => upstream.close());

function post(body: object, path = '/v1/chat/completions', signal?: AbortSignal): Promise<Response> {
  return fetch(`${upstream.url}${path}`, { method: 'POST', body: JSON.stringify(body), signal });
}

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };

async function chunks(answer: Response): Promise<Chunk[]> {
  const events = (await answer.text()).trimEnd().split('\n\n').map((event) => event.replace(/^data: /, ''));
  expect(events.pop()).toBe('[DONE]');
  return events.map((event) => JSON.parse(event) as Chunk);
}

test('a stream: role, text, finish, usage where asked for; its text counts as told', async () => {
  await start();
  const all = await chunks(await post({ ...CHAT, stream: true, stream_options: { include_usage: true }, max_tokens: 7 }));
  expect(all[0]?.choices[0]?.delta?.role).toBe('assistant');
  const text = all.map((chunk) => chunk.choices[0]?.delta?.content ?? '').join('');
  expect(countTokens(text)).toBe(7);
  expect(all.at(-2)?.choices[0]?.finish_reason).toBe('length');
  expect(all.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 } });
  expect(all.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  const unasked = await chunks(await post({ ...CHAT, stream: true, max_tokens: 7 }));
  expect(unasked.some((chunk) => 'usage' in chunk)).toBe(false);
});

test('a whole answer with several choices, and completions', async () => {
  await start();
  const chat = (await (await post({ ...CHAT, n: 3, max_completion_tokens: 5 })).json()) as { choices: unknown[]; usage: object };
  expect(chat.choices).toHaveLength(3);
  expect(chat.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 15 });
  const text = (await (await post({ model: 'm', prompt: 'hello', max_tokens: 4 }, '/v1/completions')).json()) as { choices: { text: string }[]; usage: object };
  expect(countTokens(text.choices[0]!.text)).toBe(4);
  expect(text.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 4 });
  expect(upstream.usageTotals).toEqual({ requests: 2, promptTokens: 11, completionTokens: 19 });
});

test('it takes the time it says: tokens are paced', async () => {
  await start({ timing: { interTokenMs: 20, interTokenMsPerSequence: 0 } });
  const startMs = performance.now();
  await (await post({ ...CHAT, stream: true, max_tokens: 11 })).text();
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(195);
});

test('a client that leaves stops the engine; what was produced is recorded', async () => {
  await start({ timing: { interTokenMs: 5 } });
  const leave = new AbortController();
  const answer = await post({ ...CHAT, stream: true, max_tokens: 5_000 }, undefined, leave.signal);
  await answer.body!.getReader().read();
  leave.abort();
  const record = upstream.requests[0]!;
  await record.ended;
  expect(record.disconnected).toBe(true);
  expect(record.completionTokens).toBeLessThan(5_000);
  expect(upstream.usageTotals.completionTokens).toBe(record.completionTokens);
  await expect.poll(() => upstream.load.running).toBe(0);
});

test.each(['gzip', 'deflate', 'br'] as const)('answers compressed with %s are readable', async (encoding) => {
  await start({ script: () => ({ kind: 'generate', encoding }) });
  const streamed = await post({ ...CHAT, stream: true, max_tokens: 3 });
  expect(streamed.headers.get('content-encoding')).toBe(encoding);
  expect((await chunks(streamed)).length).toBeGreaterThan(3);
  expect(await (await post({ ...CHAT, max_tokens: 3 })).json()).toMatchObject({ usage: { completion_tokens: 3 } });
});

test('compressed bytes are counted as they went over the wire', async () => {
  await start({ script: () => ({ kind: 'answer', encoding: 'gzip', pieces: ['data: 1\n\n'] }) });
  const raw = await new Promise<Buffer>((resolve) => {
    const parts: Buffer[] = [];
    httpRequest(upstream.url, { method: 'POST' }, (answer) => answer.on('data', (part: Buffer) => parts.push(part)).on('end', () => {
      resolve(Buffer.concat(parts));
    })).end();
  });
  expect(gunzipSync(raw).toString()).toBe('data: 1\n\n');
  expect(upstream.requests[0]?.bytesSent).toBe(raw.length);
});

test('usage can be told in the finish chunk, running, or not at all; reasoning is part of the output', async () => {
  const ways = ['finish_chunk', 'continuous', 'none'] as const;
  await start({ script: ({ index }) => ({ kind: 'generate', usage: ways[index], reasoningTokens: 2 }) });
  const body = { ...CHAT, stream: true, stream_options: { include_usage: true }, max_tokens: 4 };
  const finish = (await chunks(await post(body))).at(-1);
  expect(finish).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 4, completion_tokens_details: { reasoning_tokens: 2 } } });
  const running = await chunks(await post(body));
  expect(running.map((chunk) => chunk.usage?.completion_tokens)).toEqual([0, 1, 2, 3, 4, 4, 4]);
  expect((await chunks(await post(body))).some((chunk) => 'usage' in chunk)).toBe(false);
});

test('scripts: pieces with pauses, an error event inside a 200, a reset, raw garbage', async () => {
  const event = sse({ ok: true });
  const answers = [
    { kind: 'answer', pieces: [...cutAt(event, 3, 9), { pauseMs: 5 }, sse('[DONE]')] },
    { kind: 'generate', breakAfterTokens: 2 },
    { kind: 'generate', breakAfterTokens: 2, breakWith: 'reset' },
    { kind: 'raw', bytes: 'nonsense\r\n\r\n' },
  ] as const;
  await start({ script: ({ index }) => answers[index] ?? null });
  expect(await (await post(CHAT)).text()).toBe('data: {"ok":true}\n\ndata: [DONE]\n\n');
  expect(await (await post({ ...CHAT, stream: true })).text()).toMatch(/"error":\{"message":"the engine failed"[^\n]*\n\n$/);
  await expect(post({ ...CHAT, stream: true }).then((answer) => answer.text())).rejects.toThrow();
  const port = upstream.port;
  const raw = await new Promise<string>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
    socket.on('data', (bytes) => {
      resolve(bytes.toString());
    });
  });
  expect(raw).toBe('nonsense\r\n\r\n');
});

test('an endless answer ends with its client', async () => {
  function* endless(): Generator<Buffer> {
    for (;;) yield sse({ more: 'x'.repeat(1_000) });
  }
  await start({ script: () => ({ kind: 'answer', pieces: endless() }) });
  const leave = new AbortController();
  const answer = await post(CHAT, undefined, leave.signal);
  await answer.body!.getReader().read();
  leave.abort();
  await upstream.requests[0]!.ended;
  expect(upstream.requests[0]!.disconnected).toBe(true);
});

test('models, health, unknown paths and models, a full queue', async () => {
  await start({ models: ['m'], timing: { slots: 1, maxQueued: 0, interTokenMs: 1_000 } });
  expect(await (await fetch(`${upstream.url}/v1/models`)).json()).toMatchObject({ data: [{ id: 'm' }] });
  expect((await fetch(`${upstream.url}/health`)).status).toBe(200);
  expect((await fetch(`${upstream.url}/nothing`)).status).toBe(404);
  expect((await post({ ...CHAT, model: 'other' })).status).toBe(404);
  const leave = new AbortController();
  await post({ ...CHAT, stream: true, max_tokens: 50 }, undefined, leave.signal);
  expect((await post(CHAT)).status).toBe(503);
  leave.abort();
});
