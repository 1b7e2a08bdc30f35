import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { startProcessor, type RunningProcessor } from '../support/processor.js';
import { startStack, type Stack } from '../support/stack.js';

const YAML = `
tenants:
  - id: acme
    keys: ["${hashKey('key-acme')}"]
    limits: { requestsPerMinute: 6000, tokensPerMinute: 600000, concurrency: 16 }
  - id: small
    keys: ["${hashKey('key-small')}"]
    limits: { tokensPerMinute: 600 }
`;

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('traffic through a real Envoy, %s', (envoyConfig) => {
  let processor: RunningProcessor;
  let stack: Stack;
  beforeAll(async () => {
    processor = await startProcessor(YAML);
    stack = await startStack({ envoyConfig, processorPort: processor.port });
  });
  afterAll(async () => {
    await stack.stop();
    await processor.stop();
  });

  const post = (body: unknown, key = 'key-acme', init: RequestInit = {}) =>
    fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, ...init,
    });
  const usage = async (tenant: string) => (await processor.app.status()).tenants[tenant]!.usage;

  it('passes an answer and books what the upstream counted', async () => {
    const before = await usage('acme');
    const response = await post({ model: 'sim-small', messages: [{ role: 'user', content: 'Hello there, how are you?' }], max_tokens: 20 });
    expect(response.status).toBe(200);
    const body = (await response.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
    expect(response.headers.get('x-tokenweir-decision')).toBe('admitted');
    expect(response.headers.get('x-ratelimit-limit-tokens')).toBe('600000');
    await processor.idle();
    const after = await usage('acme');
    expect(after.inputTokens - before.inputTokens).toBe(body.usage.prompt_tokens);
    expect(after.outputTokens - before.outputTokens).toBe(body.usage.completion_tokens);
  });

  it('streams, hides the usage it asked for, and books it', async () => {
    const before = await usage('acme');
    const response = await post({ model: 'sim-small', stream: true, messages: [{ role: 'user', content: 'Tell me a story' }], max_tokens: 30 });
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain('data: [DONE]');
    expect(text).not.toContain('"prompt_tokens"');
    await processor.idle();
    const sent = stack.upstream.requests.at(-1)!;
    expect(JSON.parse(sent.body.toString())).toMatchObject({ stream_options: { include_usage: true } });
    const after = await usage('acme');
    expect(after.inputTokens - before.inputTokens).toBe(sent.promptTokens);
    expect(after.outputTokens - before.outputTokens).toBe(sent.completionTokens);
  });

  it('refuses with 429 and the wait, without a word to the upstream', async () => {
    const seen = stack.upstream.requests.length;
    const request = { model: 'sim-small', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 500 };
    expect((await post(request, 'key-small')).status).toBe(200);
    const second = await post({ ...request, max_tokens: 590 }, 'key-small');
    expect(second.status).toBe(429);
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
    const body = (await second.json()) as { error: { code: string }; tokenweir: { limit: string } };
    expect(body.error.code).toBe('rate_limit_exceeded');
    expect(stack.upstream.requests).toHaveLength(seen + 1);
  });

  it('refuses unknown keys', async () => {
    expect((await post({ model: 'm', messages: [] }, 'nobody')).status).toBe(401);
  });

  it('counts what passed of a stream that the client leaves', async () => {
    const before = await usage('acme');
    const abort = new AbortController();
    const slow = { kind: 'generate' } as const;
    void slow;
    const response = await post({ model: 'sim-small', stream: true, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5000 }, 'key-acme', { signal: abort.signal });
    const reader = response.body!.getReader();
    await reader.read();
    abort.abort();
    await processor.idle();
    const after = await usage('acme');
    expect(after.requests - before.requests).toBe(1);
    expect(after.inputTokens).toBeGreaterThan(before.inputTokens);
  });

  it('serves status, metrics and one log line a request', async () => {
    const metrics = await (await fetch(`${processor.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/tokenweir_requests_total\{tenant="acme",pool="none",decision="admitted",reason="none"\} \d+/);
    expect((await fetch(`${processor.adminUrl}/readyz`)).status).toBe(200);
    expect(processor.log.filter(({ msg }) => msg === 'request').length).toBeGreaterThan(3);
  });
});
