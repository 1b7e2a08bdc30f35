import { setTimeout as delay } from 'node:timers/promises';
import { APIError, AuthenticationError, BadRequestError, PermissionDeniedError, RateLimitError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { sse, type Piece, type Script } from '../../src/upstream/script.js';
import { officialClient, rejection, waited } from '../support/official-client.js';
import { startProcessor, type RunningProcessor } from '../support/processor.js';
import { startStack, type Stack } from '../support/stack.js';

const LARGEST_BODY_BYTES = 65_536;
const tenant = (id: string, more: string): string => `  - { id: ${id}, keys: ["${hashKey(`key-${id}`)}"], ${more} }\n`;

// Small bursts make short waits: `brisk` refills 100 tokens a second and holds 200.
const YAML = `
server: { extProc: "127.0.0.1:0", admin: "127.0.0.1:0", drain: { noticeMs: 0, timeoutMs: 2000 }, maxBodyBytes: ${LARGEST_BODY_BYTES} }
tenants:
${tenant('wide', 'limits: { requestsPerMinute: 6000, tokensPerMinute: 600000 }')}${tenant('brisk', 'limits: { tokensPerMinute: 6000, burstSeconds: 2 }')}\
${tenant('hurried', 'limits: { requestsPerMinute: 40, burstSeconds: 1 }')}${tenant('slow', 'limits: { tokensPerMinute: 60, burstSeconds: 300 }')}\
${tenant('single', 'limits: { concurrency: 1 }')}${tenant('picky', 'models: ["sim-small"]')}`;

/** The model `sim-words` says so many words slowly, and tells no usage before its end. */
const WORDS = 20;
async function* words(): AsyncGenerator<Piece> {
  for (let i = 0; i < WORDS; i++) {
    yield sse({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'sim-words', choices: [{ index: 0, delta: { content: ' word' }, finish_reason: null }] });
    await delay(60);
  }
  yield sse({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'sim-words', choices: [], usage: { prompt_tokens: 9, completion_tokens: WORDS, total_tokens: 9 + WORDS } });
  yield sse('[DONE]');
}
const script: Script = ({ json }) => ((json as { model?: unknown }).model === 'sim-words' ? { kind: 'answer', pieces: words() } : null);

const hello = (max_tokens: number, model = 'sim-small') => ({ model, max_tokens, messages: [{ role: 'user' as const, content: 'Hello there, how are you?' }] });

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('the official openai client, %s', (envoyConfig) => {
  let processor: RunningProcessor;
  let stack: Stack;
  beforeAll(async () => {
    processor = await startProcessor(YAML);
    stack = await startStack({ envoyConfig, processorPort: processor.port, upstream: { script } });
  });
  afterAll(async () => {
    await stack?.stop();
    await processor?.stop();
  });

  const usageOf = async (id: string) => {
    await processor.idle();
    return (await processor.app.status()).tenants[id]!.usage;
  };
  const decisionsFor = (id: string) => processor.log.filter((line) => line['msg'] === 'request' && line['tenant'] === id).map((line) => line['decision']);
  const clientOf = (id: string, maxRetries?: number) => officialClient(stack.url, `key-${id}`, maxRetries);

  /** Makes a call that must fail at the first attempt, everywhere: at the client, at Envoy, at the upstream. */
  async function refusedOnce(id: string, call: (client: ReturnType<typeof clientOf>['openai']) => PromiseLike<unknown>): Promise<APIError> {
    const client = clientOf(id);
    const seen = stack.upstream.requests.length;
    const before = await stack.envoy.stats('http.clients.downstream_rq_completed');
    const error = await rejection(call(client.openai));
    expect(error).toBeInstanceOf(APIError);
    expect(client.attempts).toHaveLength(1);
    expect(client.attempts[0]!.headers.get('x-should-retry')).toBe('false');
    expect(await stack.envoy.stats('http.clients.downstream_rq_completed')).toBe(before + 1);
    expect(stack.upstream.requests).toHaveLength(seen);
    return error as APIError;
  }

  describe('admitted', () => {
    it('chat, not streamed, with typed limits in the headers', async () => {
      const { openai, attempts } = clientOf('wide');
      const { data, response } = await openai.chat.completions.create(hello(20)).withResponse();
      expect(data.choices[0]!.message.content).not.toBe('');
      expect(data.usage!.completion_tokens).toBe(20);
      expect(attempts).toHaveLength(1);
      for (const kind of ['requests', 'tokens']) {
        expect(response.headers.get(`x-ratelimit-limit-${kind}`)).toMatch(/^\d+$/);
        expect(response.headers.get(`x-ratelimit-remaining-${kind}`)).toMatch(/^\d+$/);
        expect(response.headers.get(`x-ratelimit-reset-${kind}`)).toMatch(/^\d+s$/);
      }
    });

    it('chat, streamed: no chunk that was not asked for', async () => {
      const { openai } = clientOf('wide');
      const before = await usageOf('wide');
      const { data, response } = await openai.chat.completions.create({ ...hello(12), stream: true }).withResponse();
      expect(response.headers.get('x-ratelimit-limit-tokens')).toBe('600000');
      let text = '';
      for await (const chunk of data) {
        expect(chunk.choices).toHaveLength(1);
        expect(chunk.usage ?? null).toBeNull();
        text += chunk.choices[0]!.delta.content ?? '';
      }
      const sent = stack.upstream.requests.at(-1)!;
      expect(text.trim().split(' ')).toHaveLength(12);
      const after = await usageOf('wide');
      expect([after.inputTokens - before.inputTokens, after.outputTokens - before.outputTokens]).toEqual([sent.promptTokens, 12]);
    });

    it('the stream helper sees usage if it asked, and none if it did not', async () => {
      const { openai } = clientOf('wide');
      const silent = await openai.chat.completions.stream(hello(7)).finalChatCompletion();
      expect(silent.usage ?? null).toBeNull();
      expect(silent.choices[0]!.finish_reason).toBe('length');
      const told = await openai.chat.completions.stream({ ...hello(7), stream_options: { include_usage: true } }).finalChatCompletion();
      expect(told.usage).toMatchObject({ completion_tokens: 7, prompt_tokens: stack.upstream.requests.at(-1)!.promptTokens });
    });

    it('completions, not streamed and streamed', async () => {
      const { openai } = clientOf('wide');
      const request = { model: 'sim-small', prompt: 'Once upon a time', max_tokens: 9 };
      expect((await openai.completions.create(request)).usage!.completion_tokens).toBe(9);
      const before = await usageOf('wide');
      let text = '';
      for await (const chunk of await openai.completions.create({ ...request, stream: true })) {
        expect(chunk.choices).toHaveLength(1);
        text += chunk.choices[0]!.text;
      }
      expect(text.trim().split(' ')).toHaveLength(9);
      expect((await usageOf('wide')).outputTokens - before.outputTokens).toBe(9);
    });
  });

  describe('refused for now', () => {
    it('above tokens a minute: comes again by itself after the told time, and is charged once', async () => {
      const before = await usageOf('brisk');
      const { openai, attempts } = clientOf('brisk');
      const first = await openai.chat.completions.create(hello(160));
      const second = await openai.chat.completions.create(hello(150));
      expect(attempts.map(({ status }) => status)).toEqual([200, 429, 200]);
      const { toldMs, tookMs } = waited(attempts.slice(1));
      // 1.4 s, less what passed since the first.
      expect(toldMs).toBeGreaterThan(200);
      expect(toldMs).toBeLessThan(2000);
      expect(attempts[1]!.headers.get('retry-after')).toBe(String(Math.ceil(toldMs / 1000)));
      expect(tookMs).toBeGreaterThanOrEqual(toldMs);
      expect(tookMs).toBeLessThan(toldMs + 5000);
      const after = await usageOf('brisk');
      expect(after.requests - before.requests).toBe(2);
      expect(after.outputTokens - before.outputTokens).toBe(first.usage!.completion_tokens + second.usage!.completion_tokens);
      expect(decisionsFor('brisk').slice(-3)).toEqual(['admitted', 'refused', 'admitted']);
    });

    it('above requests a minute, streamed: the same', async () => {
      const before = await usageOf('hurried');
      const { openai, attempts } = clientOf('hurried');
      await openai.chat.completions.create(hello(3));
      const stream = await openai.chat.completions.create({ ...hello(3), stream: true });
      for await (const chunk of stream) expect(chunk.choices).toHaveLength(1);
      expect(attempts.map(({ status }) => status)).toEqual([200, 429, 200]);
      const { toldMs, tookMs } = waited(attempts.slice(1));
      expect(toldMs).toBeGreaterThan(200);
      expect(tookMs).toBeGreaterThanOrEqual(toldMs);
      expect((await usageOf('hurried')).requests - before.requests).toBe(2);
    });

    it('above concurrency: succeeds when the place is free', async () => {
      const { openai, attempts } = clientOf('single', 5);
      const first = await openai.chat.completions.create({ ...hello(30, 'sim-words'), stream: true });
      const firstDone = (async () => {
        for await (const chunk of first) void chunk;
      })();
      const second = await openai.chat.completions.create(hello(5));
      expect(second.usage!.completion_tokens).toBe(5);
      expect(attempts.at(-1)!.status).toBe(200);
      const refusals = attempts.filter(({ status }) => status === 429);
      expect(refusals.length).toBeGreaterThan(0);
      expect(Number(refusals[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
      await firstDone;
      await processor.idle();
      expect((await processor.app.status()).tenants['single']!.concurrency).toEqual({ limit: 1, inUse: 0 });
      expect((await usageOf('single')).requests).toBe(2);
    });

    it('gives up as it always does, with all that we tell in its error', async () => {
      const { openai } = clientOf('single', 0);
      const holder = await openai.chat.completions.create({ ...hello(30, 'sim-words'), stream: true });
      const error = await rejection(openai.chat.completions.create(hello(5)));
      holder.controller.abort();
      expect(error).toBeInstanceOf(RateLimitError);
      const told = error as RateLimitError;
      expect(told).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'requests' });
      expect(told.message).toContain('concurrency limit of tenant single');
      expect(told.headers.get('x-tokenweir-decision')).toBe('refused; reason=concurrency');
      await processor.idle();
    });

    it('a wait above 60 s: asks once, and not again', async () => {
      const { openai } = clientOf('slow');
      await openai.chat.completions.create(hello(280));
      const before = await usageOf('slow');
      const error = await refusedOnce('slow', (client) => client.chat.completions.create(hello(270)));
      expect(error).toBeInstanceOf(RateLimitError);
      expect(Number(error.headers!.get('retry-after'))).toBeGreaterThan(60);
      expect(await usageOf('slow')).toEqual(before);
    });
  });

  describe('refused for good', () => {
    it('more than the limit can ever hold', async () => {
      const error = await refusedOnce('brisk', (client) => client.chat.completions.create(hello(5000)));
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ status: 400, code: 'request_too_large', type: 'invalid_request_error' });
      expect(error.message).toContain('never holds more than 200');
      expect(error.headers!.get('retry-after')).toBeNull();
    });

    it('a key that nobody knows', async () => {
      const error = await refusedOnce('nobody', (client) => client.chat.completions.create(hello(5)));
      expect(error).toBeInstanceOf(AuthenticationError);
      expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' });
    });

    it('a model that the tenant may not use', async () => {
      const error = await refusedOnce('picky', (client) => client.chat.completions.create(hello(5, 'sim-large')));
      expect(error).toBeInstanceOf(PermissionDeniedError);
      expect(error).toMatchObject({ status: 403, param: 'model' });
    });

    it('a body that is no request', async () => {
      const error = await refusedOnce('wide', (client) => client.chat.completions.create({ ...hello(5), max_tokens: -1 }));
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ status: 400, param: 'max_tokens' });
    });

    it('a body above the bound', async () => {
      const content = 'x'.repeat(LARGEST_BODY_BYTES);
      const error = await refusedOnce('wide', (client) => client.chat.completions.create({ ...hello(5), messages: [{ role: 'user', content }] }));
      expect(error).toMatchObject({ status: 413, code: 'body_too_large' });
    });
  });

  it('what is ours stands beside `error` in the body, for whoever wants more than the class of the error', async () => {
    const { openai, attempts } = clientOf('brisk', 0);
    const error = (await rejection(openai.chat.completions.create(hello(5000)))) as APIError;
    expect(attempts[0]!.refusal).toMatchObject({
      error: { message: expect.stringContaining('never holds more than 200') as string },
      tokenweir: { limit: 'request_too_large', scope: { kind: 'tenant', id: 'brisk' }, limitValue: 200, retryAfterMs: null, requestId: error.headers!.get('x-tokenweir-request-id') },
    });
  });

  it('a stream that the client aborts is charged what passed', async () => {
    const before = await usageOf('wide');
    const { openai } = clientOf('wide');
    const stream = await openai.chat.completions.create({ ...hello(1000, 'sim-words'), stream: true });
    let chunks = 0;
    for await (const chunk of stream) {
      expect(chunk.choices).toHaveLength(1);
      if (++chunks === 5) stream.controller.abort();
    }
    const after = await usageOf('wide');
    expect(after.requests - before.requests).toBe(1);
    expect(after.outputTokens - before.outputTokens).toBeGreaterThanOrEqual(4);
    expect(after.outputTokens - before.outputTokens).toBeLessThan(WORDS);
    expect(after.inputTokens).toBeGreaterThan(before.inputTokens);
    const line = processor.log.filter(({ msg }) => msg === 'request').at(-1)!;
    expect(line).toMatchObject({ tenant: 'wide', outcome: 'cut', estimated: true });
  });
});
