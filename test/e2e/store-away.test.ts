import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import type { OnStoreFailure } from '../../src/domain/store-settings.js';
import { PROCESSOR_MS } from '../../src/domain/store.js';
import { chat, JSON_HEADERS } from '../support/clients.js';
import { startFleet, type Fleet } from '../support/fleet.js';
import { handedCase } from '../support/handed.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/serving.js';

/** As many requests at once, and one more a minute. */
const atOnce = (requests: number): string => `requestsPerMinute: 1, burstSeconds: ${60 * requests}`;
const yaml = (store: string, onFailure: OnStoreFailure): string => `
store: ${store}
onStoreFailure: ${onFailure}
tenants:
  - { id: ten, keys: ["${hashKey('key-ten')}"], limits: { ${atOnce(10)} } }
  - { id: twenty, keys: ["${hashKey('key-twenty')}"], limits: { ${atOnce(20)} } }
`;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of open.splice(0).reverse()) await stop();
});

interface Running {
  readonly redis: RedisServer;
  readonly fleet: Fleet;
  post(key: string): Promise<Response>;
  /** Sends so many at once; how often each status came. */
  burst(count: number, key: string): Promise<Record<string, number>>;
  ready(processor: number): Promise<string>;
}

async function start(onFailure: OnStoreFailure, processors = 1): Promise<Running> {
  const redis = await startRedis();
  open.push(() => redis.stop());
  const fleet = await startFleet({ envoyConfig: 'envoy.alone.yaml', processors, yaml: yaml(redis.url, onFailure) });
  open.push(() => fleet.stop());
  const post = (key: string): Promise<Response> => fetch(`${fleet.stack.url}/v1/chat/completions`, { method: 'POST', headers: JSON_HEADERS(key), body: chat() });
  return {
    redis, fleet, post,
    burst: async (count, key) => {
      const statuses: Record<string, number> = {};
      for (const { status } of await Promise.all(Array.from({ length: count }, () => post(key)))) statuses[status] = (statuses[status] ?? 0) + 1;
      return statuses;
    },
    ready: async (processor) => {
      const answer = await fetch(`${fleet.processors[processor]!.adminUrl}/readyz`);
      return `${answer.status} ${(await answer.text()).trim()}`;
    },
  };
}

const away = (running: Running, told: string): Promise<void> => until(async () => (await running.ready(0)) === told, told);

describe('a store that is away, as clients and operators see it', () => {
  it('closed: 503 in the words of the API with Retry-After, not ready, and served again without a restart', async () => {
    const running = await start('closed');
    const { redis, fleet, post } = running;
    expect((await post('key-twenty')).status).toBe(200);
    expect(await running.ready(0)).toBe('200 ready');
    await redis.kill();
    await away(running, '503 store away');
    const refused = await post('key-twenty');
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ error: { message: expect.any(String) as string } });
    expect(fleet.stack.upstream.requests).toHaveLength(1);
    expect(await fleet.metric(0, 'tokenweir_store_connected')).toBe(0);
    expect(await fleet.metric(0, 'tokenweir_decisions_without_store_total', /closed/)).toBeGreaterThan(0);
    await redis.restart({ keepData: false });
    await away(running, '200 ready');
    await until(async () => (await post('key-twenty')).status === 200, 'served again');
    expect(await fleet.metric(0, 'tokenweir_store_connected')).toBe(1);
  });

  it('local: two processors let half of what remained pass each; all of it is booked when the store is back', async () => {
    const running = await start('local', 2);
    const { redis, fleet, burst } = running;
    // So that each knows of the other, which it asks every 2.5 s at most.
    await delay(PROCESSOR_MS / 4 + 500);
    await burst(4, 'key-twenty');
    await until(async () => (await fleet.status(0)).tenants['twenty']!.usage.requests === 4, 'booked');
    await redis.pause();
    await burst(8, 'key-ten');
    await Promise.all([0, 1].map((i) => until(async () => (await running.ready(i)) === '200 ready, store away: local', 'both go on alone')));
    const statuses = await burst(40, 'key-twenty');
    expect(Object.keys(statuses).sort()).toEqual(['200', '429']);
    // Sixteen remained. Each takes half of what it was told last, and the one that was asked first was told of up to four more.
    expect(statuses['200']).toBeLessThanOrEqual(18);
    expect(statuses['200']).toBeGreaterThanOrEqual(8);
    await redis.resume();
    await away(running, '200 ready');
    await until(async () => (await fleet.status(1)).tenants['twenty']!.usage.requests === 4 + statuses['200']!, 'all booked');
    expect((await fleet.status(1)).leases).toBe(0);
  });
});

describe('handed cases of a store that is away', () => {
  handedCase('BerriAI/litellm#35528', async () => {
    const expected: Readonly<Record<OnStoreFailure, Record<string, number>>> = { closed: { 503: 30 }, local: { 200: 10, 429: 20 }, open: { 200: 30 } };
    for (const onFailure of ['closed', 'local', 'open'] as const) {
      const running = await start(onFailure);
      await running.post('key-twenty');
      await running.redis.kill();
      await away(running, onFailure === 'closed' ? '503 store away' : `200 ready, store away: ${onFailure}`);
      const statuses = await running.burst(30, 'key-ten');
      expect([onFailure, statuses]).toEqual([onFailure, expected[onFailure]]);
      // Lines are written together, a moment later.
      await until(async () => (await running.fleet.processors[0]!.log()).some(({ msg }) => /the store is away|not connected to the store/.test(String(msg))), 'a line that tells it');
      expect(await running.fleet.metric(0, 'tokenweir_decisions_without_store_total', new RegExp(onFailure))).toBeGreaterThanOrEqual(30);
    }
  });
});
