import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { sse, type Script } from '../../src/upstream/script.js';
import { chat, JSON_HEADERS, LoadClient, readAnswer } from '../support/clients.js';
import { startServing, until, type Serving } from '../support/serving.js';
import { startStack, type Stack, type StackOptions } from '../support/stack.js';

const YAML = `tenants: [{ id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: 900000000 } }]`;
const HEADERS = JSON_HEADERS('key-acme');
const ALLOWED = 'http.clients.ext_proc.tokenweir.failure_mode_allowed';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of open.splice(0).reverse()) await stop();
});

async function start(options: StackOptions): Promise<{ serving: Serving; stack: Stack; post: (key?: string) => Promise<Response> }> {
  const serving = await startServing(YAML);
  open.push(() => serving.stop());
  const stack = await startStack({ ...options, processorPort: serving.port });
  open.push(() => stack.stop());
  const post = (key = 'key-acme'): Promise<Response> => fetch(`${stack.url}/v1/chat/completions`, { method: 'POST', headers: JSON_HEADERS(key), body: chat() });
  return { serving, stack, post };
}

const metered = (response: Response): boolean => response.headers.get('x-tokenweir-decision') === 'admitted';

/** Thirty events in a second and a half. */
function* slowStream() {
  for (let i = 0; i < 30; i++) {
    yield sse({ choices: [{ index: 0, delta: { content: `word ${i} ` } }] });
    yield { pauseMs: 50 };
  }
  yield sse('[DONE]');
}

const slowOrShort: Script = ({ json }) => ((json as { stream?: boolean }).stream === true ? { kind: 'answer', pieces: slowStream() } : null);

describe('when we are gone, in front of a gateway', () => {
  it('requests and running streams go on, Envoy counts what passed, and a new processor meters again', async () => {
    const { serving, stack, post } = await start({ envoyConfig: 'envoy.yaml', upstream: { script: slowOrShort } });
    const client = new LoadClient(stack.url, Infinity);
    const streams = await Promise.all(Array.from({ length: 20 }, () => client.open(chat({ stream: true }), HEADERS)));
    expect(streams.every(({ headers }) => headers['x-tokenweir-decision'] === 'admitted')).toBe(true);
    const answers = streams.map(readAnswer);
    const load = new LoadClient(stack.url, 8);
    const during = load.run(400, chat({ max_tokens: 1 }), HEADERS);
    await delay(150);
    serving.process.kill('SIGKILL');
    await serving.process.ended;
    expect(await during).toEqual({ 200: 400 });
    for (const answer of await Promise.all(answers)) expect(answer.body.toString().match(/word \d+/g)).toHaveLength(30);
    const response = await post();
    expect([response.status, metered(response)]).toEqual([200, false]);
    expect(await stack.envoy.stats(ALLOWED)).toBeGreaterThan(0);
    const again = await serving.restart();
    open.push(() => again.stop());
    await until(async () => metered(await post()), 'metered again');
    client.close();
    load.close();
  });

  it("Envoy's own circuit breaker bounds what reaches the upstream at one time", async () => {
    let running = 0;
    let most = 0;
    async function* held() {
      most = Math.max(most, ++running);
      yield sse('hello');
      await delay(400);
      running--;
      yield sse('[DONE]');
    }
    const { serving, stack } = await start({ envoyConfig: 'envoy.yaml', upstream: { script: () => ({ kind: 'answer', pieces: held() }) }, upstreamMaxRequests: 10 });
    serving.process.kill('SIGKILL');
    await serving.process.ended;
    const client = new LoadClient(stack.url, 60);
    const statuses = await client.run(60, chat({ stream: true }), HEADERS);
    client.close();
    expect(most).toBeLessThanOrEqual(10);
    expect(statuses['200']).toBeGreaterThanOrEqual(10);
    expect(statuses['503']).toBeGreaterThan(0);
    expect((statuses['200'] ?? 0) + (statuses['503'] ?? 0)).toBe(60);
    expect(await stack.envoy.stats('cluster.upstream.upstream_rq_active_overflow')).toBe(statuses['503']);
  });
});

describe.each(['envoy.alone.yaml', 'envoy.duplex.yaml'])('when we are gone, alone in front of model servers, %s', (envoyConfig) => {
  it('nobody is served, whatever the key; a new processor serves again', async () => {
    const { serving, stack, post } = await start({ envoyConfig });
    expect((await post('nobody')).status).toBe(401);
    expect(metered(await post())).toBe(true);
    const served = stack.upstream.requests.length;
    serving.process.kill('SIGKILL');
    await serving.process.ended;
    // Envoy may answer, and close, before a client has sent its whole body: some then see no answer but a reset.
    const status = (answer: Promise<Response>): Promise<number> => answer.then((response) => response.status, () => 503);
    expect([await status(post()), await status(post('nobody'))]).toEqual([503, 503]);
    expect((await fetch(`${stack.url}/v1/models`)).status).toBe(503);
    expect(stack.upstream.requests).toHaveLength(served);
    const again = await serving.restart();
    open.push(() => again.stop());
    await until(async () => metered(await post()), 'served again');
    expect((await post('nobody')).status).toBe(401);
  });

  it('a stream that runs when the processor dies ends, one way or the other, and its client is not left waiting', async () => {
    const { serving, stack } = await start({ envoyConfig, upstream: { script: slowOrShort } });
    const client = new LoadClient(stack.url, 1);
    const stream = await client.open(chat({ stream: true }), HEADERS);
    const over = readAnswer(stream).then(() => 'ended', () => 'broken');
    await delay(200);
    serving.process.kill('SIGKILL');
    expect(['ended', 'broken']).toContain(await Promise.race([over, delay(5000, 'waits')]));
    client.close();
  });
});
