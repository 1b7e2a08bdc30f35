import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import type { Document } from 'yaml';
import { hashKey } from '../../src/config/hash-key.js';
import type { LedgerEvent } from '../../src/domain/lease.js';
import { createMemoryStore } from '../../src/stores/memory.js';
import { sse, type Piece, type Script, type ScriptedAnswer } from '../../src/upstream/script.js';
import { chat, http2Post, JSON_HEADERS } from '../support/clients.js';
import { all, at, set } from '../support/envoy-edits.js';
import { handedCase } from '../support/handed.js';
import { startProcessor, type RunningProcessor } from '../support/processor.js';
import { rawExchange, rawMessage } from '../support/raw.js';
import { startRig, type Rig } from '../support/rig.js';
import { startStack } from '../support/stack.js';

const YAML = `tenants:\n${[['one', 'concurrency: 1'], ['ten', 'concurrency: 10'], ['acme', 'tokensPerMinute: 100000']]
  .map(([id, limits]) => `  - { id: ${id}, keys: ["${hashKey(`key-${id}`)}"], limits: { ${limits} } }\n`).join('')}`;

/** What a later filter of somebody else refuses: any request with this header. */
const LATER_FILTER = {
  name: 'envoy.filters.http.fault',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault',
    abort: { http_status: 404, percentage: { numerator: 100, denominator: 'HUNDRED' } },
    headers: [{ name: 'x-refuse-later', present_match: true }],
  },
};

const withLaterFilter = (config: Document): void => {
  const filters = (config.toJS() as Record<string, unknown>);
  const inner = at.filters().reduce<unknown>((node, key) => (node as Record<string | number, unknown>)[key], filters) as unknown[];
  config.setIn(at.filters(), config.createNode([inner[0], LATER_FILTER, ...inner.slice(1)]));
};

const word = (): Buffer => sse({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: ' word' }, finish_reason: null }] });

/** So many words, and then nothing more. */
const wordsThenSilence = (count: number): ScriptedAnswer => ({ kind: 'answer', pieces: Array.from({ length: count }, word), end: 'never' });

const failure = (status: number): ScriptedAnswer => ({ kind: 'answer', status, headers: { 'content-type': 'application/json' }, pieces: ['{"error":{"message":"bad gateway"}}'] });

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('handed cases of what is left behind, %s', (envoyConfig) => {
  let script: Script = () => null;
  let rig: Rig;
  beforeAll(async () => {
    const edit = all(set(at.route('timeout'), '1s'), withLaterFilter);
    rig = await startRig(YAML, { envoyConfig, edit, upstream: { script: (request) => script(request) } });
  });
  afterAll(async () => {
    await rig?.stop();
  });

  const post = (tenant: string, body: string, more: RequestInit & { headers?: Record<string, string> } = {}) =>
    fetch(`${rig.stack.url}/v1/chat/completions`, { method: 'POST', body, ...more, headers: { ...JSON_HEADERS(`key-${tenant}`), ...more.headers } });
  const inUse = async (tenant: string) => (await rig.processor.app.status()).tenants[tenant]!.concurrency!.inUse;
  const statusAfter = async (answer: Promise<Response>): Promise<number> => {
    const { status } = await answer.then(async (got) => { await got.text(); return got; });
    return status;
  };

  /** Reads until so many words came, then resets the connection. */
  async function leaveAfter(words: number, tenant: string, body: string): Promise<void> {
    const leave = new AbortController();
    const reader = (await post(tenant, body, { signal: leave.signal })).body!.getReader();
    let text = '';
    while (text.split(' word').length <= words) text += Buffer.from((await reader.read()).value ?? []).toString();
    leave.abort();
  }

  // Without its cache step: there is no cache yet.
  handedCase('BerriAI/litellm#27955', async () => {
    script = () => wordsThenSilence(5);
    await leaveAfter(2, 'one', chat({ stream: true }));
    await delay(300);
    script = () => null;
    expect([await statusAfter(post('one', chat())), await statusAfter(post('one', chat({ stream: true })))]).toEqual([200, 200]);
    expect(await inUse('one')).toBe(0);
  });

  handedCase('BerriAI/litellm#20256', async ({ expected }) => {
    const kinds: (ScriptedAnswer | 'reset')[] = [...Array<ScriptedAnswer>(3).fill(failure(502)), ...Array<ScriptedAnswer>(3).fill(failure(504)), 'reset', 'reset'];
    script = ({ body }) => {
      const kind = kinds[Number((JSON.parse(body.toString()) as { user: string }).user)];
      if (kind === undefined) return { kind: 'answer', firstByteMs: 5000, pieces: [], end: 'never' };
      return kind === 'reset' ? { kind: 'raw', bytes: '' } : kind;
    };
    const statuses = await Promise.all(Array.from({ length: 10 }, (_, i) => statusAfter(post('ten', chat({ user: String(i) })))));
    // A connection that the upstream breaks is a 503 of Envoy's own, its route timeout a 504.
    expect(statuses).toEqual([502, 502, 502, 504, 504, 504, 503, 503, 504, 504]);
    const events = (await rig.settled()).filter(({ tenantId }) => tenantId === 'ten');
    expect(outcomes(events)).toEqual({ upstream_failed: 6, local_reply: 4 });
    expect(events.every(({ inputTokens, outputTokens }) => inputTokens + outputTokens === 0)).toBe(true);
    expect(await inUse('ten')).toBe(expected['in_flight']);
    script = () => null;
    expect(await statusAfter(post('ten', chat()))).toBe(expected['request_11']);
  });

  handedCase('BerriAI/litellm#1477', async ({ expected }) => {
    script = () => null;
    const left: number[] = [];
    expect(await statusAfter(post('one', chat({ model: 'nobody-knows-it' }), { headers: { 'x-refuse-later': '1' } }))).toBe(404);
    left.push(await inUse('one'));
    expect(await statusAfter(post('one', '{"model": "sim-small", "messages": ['))).toBe(400);
    left.push(await inUse('one'));
    expect(await statusAfter(post('one', chat()))).toBe(expected['last']);
    left.push(await inUse('one'));
    expect(left).toEqual(expected['in_flight_after_each']);
  });

  handedCase('BerriAI/litellm#14457', async ({ expected }) => {
    script = () => wordsThenSilence(25);
    const before = (await rig.processor.app.status()).tenants['acme']!.tokens!.remaining;
    const content = 'every word here is short and it goes on like this for a while now '.repeat(13);
    await leaveAfter(25, 'acme', chat({ stream: true, max_tokens: 1000, messages: [{ role: 'user', content }] }));
    const event = (await rig.settled()).at(-1)!;
    expect(event).toMatchObject({ outcome: 'cut', estimated: true, reservedOutputTokens: 1000 });
    expect(event.inputTokens).toBeGreaterThan(150);
    expect(event.inputTokens).toBeLessThan(250);
    const [least, most] = expected['settled_output_range'] as [number, number];
    expect(event.outputTokens).toBeGreaterThanOrEqual(least);
    expect(event.outputTokens).toBeLessThanOrEqual(most);
    const after = (await rig.processor.app.status()).tenants['acme']!.tokens!.remaining;
    expect(after).toBeGreaterThanOrEqual(before - event.inputTokens - event.outputTokens);
  });

  handedCase('envoyproxy/envoy#27133', async ({ expected }) => {
    script = () => null;
    const body = chat({ messages: [{ role: 'user', content: 'word '.repeat(14_000) }] });
    expect(body.length).toBeGreaterThan(70_000);
    const took: number[] = [];
    for (let i = 0; i < 5; i++) {
      const startedMs = performance.now();
      const answer = await http2Post(rig.stack.url, body, JSON_HEADERS('key-acme'), { 'x-checksum': 'abc' });
      took.push(performance.now() - startedMs);
      expect(answer.status).toBe(200);
      expect(rig.stack.upstream.requests.at(-1)!.body.toString()).toBe(body);
    }
    // The best of five: other work on the machine is not what is measured.
    expect(Math.min(...took)).toBeLessThan(expected['latency_ms_max'] as number);
    expect(await chunkedWithTrailers(body)).toBe('HTTP/1.1 200 OK');
    expect((await rig.settled()).slice(-6).every(({ outcome }) => outcome === 'completed')).toBe(true);
  });

  /** HTTP/1.1: five pieces on their own, then trailers. @returns the status line. */
  async function chunkedWithTrailers(body: string): Promise<string> {
    const pieces = Array.from({ length: 5 }, (_, i) => body.slice(i * 16_384, (i + 1) * 16_384)).filter((piece) => piece !== '');
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-acme\r\ntransfer-encoding: chunked\r\ntrailer: x-checksum\r\n\r\n';
    const chunks = pieces.flatMap((piece) => [`${piece.length.toString(16)}\r\n${piece}\r\n`, { pauseMs: 5 }]);
    return rawMessage(await rawExchange(rig.stack.url, [head, ...chunks, '0\r\nx-checksum: abc\r\n\r\n']))?.start ?? 'no answer';
  }
});

describe('handed cases of several processors', () => {
  // One store in this process stands for a shared one.
  handedCase('BerriAI/litellm#16011', async ({ expected }) => {
    const store = createMemoryStore();
    const yaml = YAML.replace('concurrency: 10', 'concurrency: 6');
    const processors: RunningProcessor[] = await Promise.all([1, 2, 3].map(() => startProcessor(yaml, store)));
    const endpoints = processors.map(({ port }) => ({ endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } } }));
    const edit = set(at.cluster('tokenweir', 'load_assignment', 'endpoints', 0, 'lb_endpoints'), endpoints);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const stack = await startStack({ envoyConfig: 'envoy.yaml', processorPort: processors[0]!.port, edit, upstream: { script: () => ({ kind: 'answer', pieces: until(released) }) } });
    await vi.waitFor(async () => { expect(await stack.envoy.stats('cluster.tokenweir.membership_healthy')).toBe(3); }, { timeout: 20_000 });
    const ask = () => fetch(`${stack.url}/v1/chat/completions`, { method: 'POST', headers: JSON_HEADERS('key-ten'), body: chat({ stream: true }) });
    const answers = await Promise.all(Array.from({ length: 30 }, ask));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(expected['upstream_max_concurrent'] as number);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(24);
    expect(stack.upstream.requests).toHaveLength(6);
    release();
    await Promise.all(answers.map((answer) => answer.text()));
    await processors[0]!.idle();
    const decided = processors.map(({ log }) => log.filter(({ msg }) => msg === 'request').length);
    // How evenly is Envoy's choice: of a burst the third often gets nothing. Each on its own would have let 12 through.
    expect(decided.filter((requests) => requests >= 6).length).toBeGreaterThanOrEqual(2);
    await stack.stop();
    await Promise.all(processors.map((processor) => processor.stop()));
  });
});

async function* until(released: Promise<void>): AsyncGenerator<Piece> {
  yield word();
  await released;
  yield sse('[DONE]');
}

function outcomes(events: readonly LedgerEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of events) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
