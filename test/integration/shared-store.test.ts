import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../src/services/ports.js';
import { systemClock } from '../../src/lib/clock.js';
import { connectStore } from '../../src/stores/connect/connect.js';
import { createRedisStore } from '../../src/stores/redis/redis-store.js';
import { charge, event, request, used } from '../conformance/store-builders.js';
import { startProcessor, type RunningProcessor } from '../support/processor.js';
import { redisAddress } from '../support/redis-address.js';
import { until } from '../support/redis-cluster.js';
import { startRedis } from '../support/redis-server.js';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function ending<T extends { stop(): Promise<void> }>(started: T): T {
  ends.push(() => started.stop());
  return started;
}

const processor = async (yaml: string): Promise<RunningProcessor> => ending(await startProcessor(yaml));

async function ready({ adminUrl }: RunningProcessor): Promise<string> {
  const answer = await fetch(`${adminUrl}/readyz`);
  return `${answer.status} ${(await answer.text()).trim()}`;
}

async function metric({ adminUrl }: RunningProcessor, name: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

const texts = (running: RunningProcessor): string => JSON.stringify(running.log);

test('a processor starts without its store, says so, and takes it up when it comes', async () => {
  const port = await freePort();
  const running = await processor(`store: redis://:swordfish@127.0.0.1:${port}/0`);
  expect(await ready(running)).toBe('200 ready, store away: local');
  expect(texts(running)).toMatch(/not connected to the store: connect ECONNREFUSED/);
  ending(await startRedis({ port, args: ['--requirepass', 'swordfish'] }));
  await until(async () => (await ready(running)) === '200 ready');
  expect(await metric(running, 'tokenweir_store_connected')).toBe(1);
  expect(texts(running)).not.toContain('swordfish');
});

test.each([
  ['local', '200 ready, store away: local'],
  ['open', '200 ready, store away: open'],
  ['closed', '503 store away'],
])('%s: /readyz tells that the store is away, and that it is back', async (mode, expected) => {
  const server = ending(await startRedis());
  const running = await processor(`store: ${server.url}\nonStoreFailure: ${mode}`);
  expect(await ready(running)).toBe('200 ready');
  await server.kill();
  await until(async () => (await ready(running)) === expected);
  expect(await metric(running, 'tokenweir_store_connected')).toBe(0);
  await server.restart();
  await until(async () => (await ready(running)) === '200 ready');
});

test('a journal that can not be kept is told at the start, in one sentence', async () => {
  await expect(startProcessor('store: redis://127.0.0.1:1\njournal: { file: /dev/null/journal.jsonl }')).rejects.toThrow(/^The journal \/dev\/null\/journal\.jsonl can't be opened \((ENOTDIR|EEXIST)\)\.$/);
});

test('what one processor settles every other tells, and the ledger on disk has it', async () => {
  const server = ending(await startRedis());
  const dir = await mkdtemp(join(tmpdir(), 'tokenweir-ledger-'));
  ends.push(() => rm(dir, { recursive: true, force: true }));
  const file = join(dir, 'ledger.jsonl');
  const running = await processor(`store: ${server.url}\nledger: { file: "${file}" }\ntenants: [{ id: acme, limits: { tokensPerMinute: 1000 } }]`);
  await settleElsewhere(server.url);
  const { leases, tenants } = await running.app.status();
  expect(leases).toBe(0);
  expect(tenants['acme']).toMatchObject({ tokens: { limit: 1_000 }, usage: { requests: 1, inputTokens: 90, outputTokens: 20 } });
  expect(tenants['acme']?.tokens?.remaining).toBeLessThan(1_000);
  await until(async () => (await readFile(file, 'utf8')).includes('"leaseId":"a"'));
});

/** As another processor does. */
async function settleElsewhere(url: string): Promise<void> {
  const connection = connectStore(redisAddress(`store: ${url}`), { clock: systemClock, random: Math.random });
  await connection.ready(5_000);
  const store = createRedisStore({ client: connection.client, time: 'server', keepEvents: true, onFault: () => undefined });
  const nowMs = Date.now();
  const bucket = { ...charge('tokens', { limit: 1_000, amount: 300, inputAmount: 100 }), key: 'acme/*:tokens' };
  await store.reserve(request('a', nowMs, [bucket]));
  expect(await store.settle('a', used(90, 20), event('a', used(90, 20), { settledAtMs: nowMs }), nowMs)).toBe('settled');
  connection.close();
}
