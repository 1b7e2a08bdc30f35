import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../../src/services/command.js';
import { PROJECT_ROOT } from '../../src/services/resolve.js';
import { startStack } from '../support/stack.js';
import type { Stack, StackOptions } from '../support/stack.js';

const CHAT = { model: 'sim-small', stream: true, stream_options: { include_usage: true }, max_tokens: 5, messages: [{ role: 'user', content: 'hello there' }] };

let stack: Stack | null = null;

async function start(options: StackOptions): Promise<Stack> {
  stack = await startStack(options);
  return stack;
}

function chat(url: string, body: object = CHAT, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
}

afterEach(async () => {
  await stack?.stop();
  stack = null;
});

describe('envoy.yaml without any processor', () => {
  test('fails open: a request reaches the upstream and streams back', async () => {
    const { url, upstream, envoy } = await start({ envoyConfig: 'envoy.yaml' });
    const answer = await chat(url);
    const text = await answer.text();
    expect(answer.status).toBe(200);
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
    expect(text).toContain('"completion_tokens":5');
    expect(upstream.requests[0]?.body.toString()).toBe(JSON.stringify(CHAT));
    expect(await envoy.stats('http.clients.ext_proc.tokenweir.failure_mode_allowed')).toBeGreaterThan(0);
  });

  test('trap 10: x-envoy-* of a client does nothing and Envoy adds none of its own', async () => {
    const { url, upstream } = await start({ envoyConfig: 'envoy.yaml', upstream: { script: () => ({ kind: 'generate', firstByteMs: 100 }) } });
    const answer = await chat(url, CHAT, { 'x-envoy-upstream-rq-timeout-ms': '1', 'x-envoy-retry-on': '5xx' });
    await answer.text();
    expect(answer.status).toBe(200);
    expect(Object.keys(upstream.requests[0]!.headers).filter((name) => name.startsWith('x-envoy'))).toEqual([]);
    expect([...answer.headers.keys()].filter((name) => name.startsWith('x-envoy'))).toEqual([]);
  });

  test('one spelling of a path reaches the upstream, and escapes in a model id as they were sent', async () => {
    const { url, upstream } = await start({ envoyConfig: 'envoy.yaml' });
    const escaped = '/model/arn%3Aaws%3Abedrock%3A%3A%3Ax%2Fy/converse';
    for (const path of ['/v1//chat/completions', '/v1/ch%61t/completions', '/x/../v1/chat/completions', escaped]) {
      await (await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(CHAT) })).text();
    }
    expect(upstream.requests.map((request) => request.path)).toEqual([...Array<string>(3).fill('/v1/chat/completions'), escaped]);
  });

  test('trap 15: the circuit breaker of the upstream bounds what is let go at once', async () => {
    const { url, upstream } = await start({ envoyConfig: 'envoy.yaml', upstreamMaxRequests: 2, upstream: { script: () => ({ kind: 'generate', firstByteMs: 500 }) } });
    const answers = await Promise.all(Array.from({ length: 6 }, () => chat(url)));
    const statuses = answers.map((answer) => answer.status).sort();
    await Promise.all(answers.map((answer) => answer.text()));
    expect(statuses).toEqual([200, 200, 503, 503, 503, 503]);
    expect(upstream.requests).toHaveLength(2);
  });

  test('trap 8: a failed answer is not tried again, whatever the client says', async () => {
    const { url, upstream } = await start({ envoyConfig: 'envoy.yaml', upstream: { script: () => ({ kind: 'answer', status: 503, pieces: [] }) } });
    const answer = await chat(url, CHAT, { 'x-envoy-retry-on': '5xx', 'x-envoy-max-retries': '3' });
    expect(answer.status).toBe(503);
    expect(upstream.requests).toHaveLength(1);
  });

  test('the access log tells ids and no key', async () => {
    const { url, envoy } = await start({ envoyConfig: 'envoy.yaml' });
    await (await fetch(`${url}/v1/models?key=sk-in-query`, { headers: { authorization: 'Bearer sk-secret' } })).text();
    await expect.poll(() => envoy.accessLog().length, { timeout: 5_000 }).toBe(1);
    const line = envoy.accessLog()[0]!;
    expect(line).toMatchObject({ path: '/v1/models', status: 200, details: 'via_upstream', method: 'GET' });
    expect(line['request_id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.stringify(line)).not.toMatch(/sk-/);
  });
});

describe.each(['envoy.alone.yaml', 'envoy.duplex.yaml'])('%s without any processor', (envoyConfig) => {
  test('fails closed: nothing reaches the upstream', async () => {
    const { url, upstream } = await start({ envoyConfig });
    const answer = await chat(url);
    await answer.text();
    expect(answer.status).toBe(503);
    expect(upstream.requests).toEqual([]);
  });
});

describe.each(['envoy.yaml', 'envoy.duplex.yaml', 'envoy.alone.yaml'])('%s', (file) => {
  test('is valid for the real Envoy, as it is', async () => {
    const result = await runCommand(inject('envoyPath'), ['--mode', 'validate', '-l', 'warning', '-c', `${PROJECT_ROOT}/envoy/${file}`]);
    expect(result.output).toContain('OK');
    expect(result.output).not.toMatch(/\[(warning|error|critical)\]\[(?!main)/);
    expect(result.code).toBe(0);
  });

  test('explains every trap it names', async () => {
    const [config, readme] = await Promise.all([file, 'README.md'].map((name) => readFile(`${PROJECT_ROOT}/envoy/${name}`, 'utf8')));
    const named = new Set([...config!.matchAll(/[Tt]rap (\d+)/g)].map((match) => match[1]!));
    expect(named.size).toBeGreaterThan(8);
    for (const trap of named) expect(readme).toMatch(new RegExp(`^\\| ${trap} \\|`, 'm'));
  });
});
