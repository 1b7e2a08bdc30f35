import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RealServices } from '../support/real.js';
import { startRealServices } from '../support/real.js';
import type { Stack } from '../support/stack.js';
import { startStack } from '../support/stack.js';

let real: RealServices;
let stack: Stack;

beforeAll(async () => {
  real = await startRealServices();
  stack = await startStack({ envoyConfig: 'envoy.yaml', upstreamPort: Number(new URL(real.litellm.url).port) });
});

afterAll(async () => {
  await stack?.stop();
  await real?.stop();
});

function chat(key: string, stream: boolean): Promise<Response> {
  const body = { model: real.model, stream, ...(stream ? { stream_options: { include_usage: true } } : {}), max_tokens: 8, messages: [{ role: 'user', content: 'Count to five.' }] };
  return fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
}

test('the real LiteLLM and llama.cpp answer through Envoy, streamed and not, and tell usage', async () => {
  const whole = (await (await chat(real.masterKey, false)).json()) as { usage: { completion_tokens: number } };
  expect(whole.usage.completion_tokens).toBeGreaterThan(0);
  const streamed = await (await chat(real.masterKey, true)).text();
  const usage = [...streamed.matchAll(/"completion_tokens":\s*(\d+)/g)].at(-1);
  expect(Number(usage?.[1])).toBeGreaterThan(0);
  expect(streamed.trimEnd().endsWith('data: [DONE]')).toBe(true);
});

test('fails open, and is still not open to everybody: LiteLLM asks for its key', async () => {
  const answer = await chat('sk-unknown', false);
  await answer.text();
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.status).toBeLessThan(500);
});
