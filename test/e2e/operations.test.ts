import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { credentials, makeGenericClientConstructor, type ServiceDefinition } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { afterEach, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { sse } from '../../src/upstream/script.js';
import { chat, JSON_HEADERS, LoadClient, readAnswer } from '../support/clients.js';
import { PROGRAM, startServing, until, type ServerYaml, type Serving } from '../support/serving.js';
import { startStack, type Stack } from '../support/stack.js';

const yaml = (tokensPerMinute = 900_000_000): string =>
  `tenants: [{ id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: ${tokensPerMinute} } }]`;
const HEADERS = JSON_HEADERS('key-acme');

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of open.splice(0).reverse()) await stop();
});

interface Running {
  readonly serving: Serving;
  readonly stack: Stack;
  post(more?: Record<string, unknown>): Promise<Response>;
  /** Resolves when a stream runs; `over` with its whole text, or `broken`. */
  openStream(): Promise<{ readonly over: Promise<string> }>;
}

async function start(server?: ServerYaml): Promise<Running> {
  const serving = await startServing(yaml(), server);
  open.push(() => serving.stop());
  const stack = await startStack({
    envoyConfig: 'envoy.yaml', processorPort: serving.port,
    upstream: { script: ({ json }) => ((json as { stream?: boolean }).stream === true ? { kind: 'answer', pieces: slowStream() } : null) },
  });
  open.push(() => stack.stop());
  const client = new LoadClient(stack.url, Infinity);
  open.push(async () => { client.close(); });
  return {
    serving, stack,
    post: (more = {}) => fetch(`${stack.url}/v1/chat/completions`, { method: 'POST', headers: HEADERS, body: chat(more) }),
    openStream: async () => {
      const incoming = await client.open(chat({ stream: true }), HEADERS);
      return { over: readAnswer(incoming).then(({ body }) => body.toString(), () => 'broken') };
    },
  };
}

/** Two and a half seconds of events. */
function* slowStream() {
  for (let i = 0; i < 25; i++) {
    yield sse({ choices: [{ index: 0, delta: { content: `word ${i} ` } }] });
    yield { pauseMs: 100 };
  }
  yield sse({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 25, total_tokens: 36 } });
  yield sse('[DONE]');
}

const draining = (noticeMs: number, timeoutMs: number): ServerYaml => (extProc, admin) =>
  `server: { extProc: "${extProc}", admin: "${admin}", drain: { noticeMs: ${noticeMs}, timeoutMs: ${timeoutMs} } }`;

const HealthClient = makeGenericClientConstructor(healthService as unknown as ServiceDefinition, 'Health');

/** What the processor's gRPC health service says. */
function grpcHealth(port: number): Promise<string> {
  const client = new HealthClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const check = client['check'] as unknown as (request: { service: string }, done: (error: Error | null, answer?: { status: string }) => void) => void;
  return new Promise((resolve) => {
    check.call(client, { service: '' }, (error, answer) => {
      client.close();
      resolve(answer?.status ?? `error: ${String(error?.message)}`);
    });
  });
}

const decisionOf = (response: Response): string | null => response.headers.get('x-tokenweir-decision');
const requestLines = async (serving: Serving) => (await serving.log()).filter(({ msg }) => msg === 'request');

describe('SIGTERM drains', () => {
  it('not ready, no new work, the open stream finishes and is settled, the log is whole, exit code 0', async () => {
    const { serving, post, openStream } = await start(draining(700, 10_000));
    expect(decisionOf(await post())).toBe('admitted');
    expect(await grpcHealth(serving.port)).toBe('SERVING');
    const stream = await openStream();
    serving.process.kill('SIGTERM');
    await until(async () => (await fetch(`${serving.adminUrl}/readyz`)).status === 503, 'not ready');
    expect(await (await fetch(`${serving.adminUrl}/readyz`)).text()).toBe('draining\n');
    expect((await fetch(`${serving.adminUrl}/healthz`)).status).toBe(200);
    expect(await grpcHealth(serving.port)).toBe('NOT_SERVING');
    await delay(900);
    // The notice is over: this one passes in fail-open, unmetered.
    const late = await post();
    expect([late.status, decisionOf(late)]).toEqual([200, null]);
    expect(await stream.over).toContain('[DONE]');
    expect(await serving.process.ended).toEqual({ code: 0, signal: null });
    const lines = await requestLines(serving);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatchObject({ stream: true, outcome: 'completed', inputTokens: 11, outputTokens: 25 });
  });

  it('streams that do not end in time are cut and settled, exit code 0', async () => {
    const { serving, openStream } = await start(draining(0, 500));
    const stream = await openStream();
    serving.process.kill('SIGTERM');
    expect(await serving.process.ended).toEqual({ code: 0, signal: null });
    expect((await requestLines(serving))[0]).toMatchObject({ outcome: 'cut', estimated: true });
    // Envoy fails open: the client has its stream all the same.
    expect(await stream.over).toContain('[DONE]');
  });

  it('a second SIGTERM ends it at once', async () => {
    const { serving, openStream } = await start(draining(0, 10_000));
    await openStream();
    serving.process.kill('SIGTERM');
    await until(async () => (await serving.log()).some(({ msg }) => msg === 'draining'), 'draining');
    const startMs = Date.now();
    serving.process.kill('SIGTERM');
    expect(await serving.process.ended).toEqual({ code: 1, signal: null });
    expect(Date.now() - startMs).toBeLessThan(1500);
  });
});

describe('reload', () => {
  it.each(['SIGHUP', 'a changed file'])('%s: limits change while a stream runs on; a broken file changes nothing', async (how) => {
    const { serving, post, openStream } = await start();
    const limit = async () => (await post()).headers.get('x-ratelimit-limit-tokens');
    const server = (await readFile(serving.configPath, 'utf8')).split('\n')[0]!;
    const rewrite = async (text: string): Promise<void> => {
      await writeFile(serving.configPath, text);
      if (how === 'SIGHUP') serving.process.kill('SIGHUP');
    };
    const stream = await openStream();
    expect(await limit()).toBe('900000000');
    await rewrite(`${server}\n${yaml(5_000_000)}`);
    await until(async () => (await limit()) === '5000000', 'the new limit');
    await rewrite(`${server}\n${yaml().replace('limits', 'limitz')}`);
    await until(async () => (await serving.log()).some(({ msg }) => String(msg).startsWith('configuration not taken')), 'the problem in the log');
    const line = (await serving.log()).find(({ msg }) => String(msg).startsWith('configuration not taken'))!;
    expect(line['msg']).toMatch(/tokenweir\.yaml:2:\d+ .*limitz/s);
    expect(await limit()).toBe('5000000');
    expect(await stream.over).toContain('[DONE]');
    await until(async () => (await requestLines(serving)).some(({ outcome, stream: streamed }) => streamed === true && outcome === 'completed'), 'the stream settled');
  });
});

/** Runs a command of the program to its end. */
function command(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

describe('the command line', () => {
  it('check tells line and field of every problem and exits with 1', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tokenweir-check-'));
    open.push(() => rm(dir, { recursive: true }));
    const file = join(dir, 'bad.yaml');
    await writeFile(file, 'tenants:\n  - id: acme\n    limits: { tokensPerMinutes: 5 }\n  - id: acme\nstores: memory\n');
    const { code, err } = await command('check', '--config', file);
    expect(code).toBe(1);
    expect(err).toMatch(/bad\.yaml:3:\d+ .*tokensPerMinutes.*tokensPerMinute/);
    expect(err).toMatch(/bad\.yaml:4:\d+ tenants\[1\]\.id: /);
    expect(err).toMatch(/bad\.yaml:5:\d+ .*stores/);
    await writeFile(file, yaml());
    expect(await command('check', '--config', file)).toMatchObject({ code: 0, out: expect.stringContaining('right (1 tenant)') as string });
  });

  it('hash-key prints the hash, help and version what they are, nonsense exits with 2', async () => {
    expect(await command('hash-key', 'key-acme')).toEqual({ code: 0, out: `${hashKey('key-acme')}\n`, err: '' });
    const help = await command('--help');
    expect([help.code, help.out.includes('tokenweir serve --config FILE')]).toEqual([0, true]);
    expect((await command('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(await command('fly')).toMatchObject({ code: 2, err: expect.stringContaining("there is no command 'fly'") as string });
  });

  it.each(['extProc', 'admin'])('a taken %s port is told in one sentence, exit code 1', async (which) => {
    const dir = await mkdtemp(join(tmpdir(), 'tokenweir-port-'));
    open.push(() => rm(dir, { recursive: true }));
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    open.push(() => new Promise((resolve) => taken.close(() => { resolve(); })));
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const listen = { extProc: '127.0.0.1:0', admin: '127.0.0.1:0', [which]: `127.0.0.1:${port}` };
    const file = join(dir, 'tokenweir.yaml');
    await writeFile(file, `server: ${JSON.stringify(listen)}\n${yaml()}`);
    const { code, err } = await command('serve', '--config', file);
    expect(code).toBe(1);
    expect(err.trim().split('\n')).toHaveLength(1);
    expect(err).toContain(`127.0.0.1:${port}`);
  });
});
