import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { chat, JSON_HEADERS, LoadClient } from '../support/clients.js';
import { LEDGER_FILE, startFleet, type Fleet } from '../support/fleet.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/serving.js';

/** Sixty requests at once, and one more a minute. */
const SIXTY = 'requestsPerMinute: 1, burstSeconds: 3600';
const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

const yaml = (store: string): string => `
store: ${store}
storeTimeoutMs: 1000
${LEDGER_FILE}
tenants:
  - { id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: 900000000, concurrency: 500 } }
  - { id: small, keys: ["${hashKey('key-small')}"], limits: { ${SIXTY} } }
`;

describe('three processors, one Envoy, one Redis', () => {
  let redis: RedisServer;
  let fleet: Fleet;
  beforeAll(async () => {
    redis = await startRedis();
    fleet = await startFleet({ envoyConfig: 'envoy.alone.yaml', processors: 3, yaml: yaml(redis.url), upstream: { timing: { timeScale: 0.2, slots: 1000 } } });
  });
  afterAll(async () => {
    await fleet?.stop();
    await redis?.stop();
  });

  const load = async (count: number, key: string, connections = 30, more = {}): Promise<Record<string, number>> => {
    const client = new LoadClient(fleet.stack.url, connections);
    const statuses = await client.run(count, chat(more), JSON_HEADERS(key));
    client.close();
    return statuses;
  };
  const all = <T>(of: (processor: number) => Promise<T>): Promise<T[]> => Promise.all([0, 1, 2].map(of));
  const idle = (): Promise<void> => until(async () => (await all((i) => fleet.status(i))).every(({ leases }) => leases === 0), 'no leases');
  const requestsOf = async (processor: number, tenant: string): Promise<number> =>
    (await fleet.processors[processor]!.log()).filter(({ msg, tenant: id }) => msg === 'request' && id === tenant).length;

  it('enforce one limit, to the request, and each shows the whole', async () => {
    expect(await load(100, 'key-small')).toEqual({ 200: 60, 429: 40 });
    await idle();
    const shown = await all(async (i) => (await fleet.status(i)).tenants['small']!);
    for (const { usage, requests } of shown) {
      expect(usage).toEqual(shown[0]!.usage);
      expect([usage.requests, requests!.remaining]).toEqual([60, 0]);
    }
    const sent = fleet.stack.upstream.usageTotals;
    expect([shown[0]!.usage.inputTokens, shown[0]!.usage.outputTokens]).toEqual([sent.promptTokens, sent.completionTokens]);
    await until(async () => sumOf(await all((i) => requestsOf(i, 'small'))) === 100, 'all are logged');
    for (const count of await all((i) => requestsOf(i, 'small'))) expect(count).toBeGreaterThan(5);
    const events = await fleet.ledger(2);
    expect(new Set(events.map(({ leaseId }) => leaseId)).size).toBe(60);
  });

  it('restarted one after the other under load: no 5xx, no leaked lease, nothing uncounted', async () => {
    const before = { ...fleet.stack.upstream.usageTotals };
    let rolling = true;
    const statuses: Record<string, number> = {};
    const worker = async (stream: boolean): Promise<void> => {
      while (rolling) for (const [status, count] of Object.entries(await load(4, 'key-acme', 4, { stream, max_tokens: 40 }))) statuses[status] = (statuses[status] ?? 0) + count;
    };
    const workers = [true, true, false, false].map(worker);
    for (const i of [0, 1, 2]) {
      const { process } = fleet.processors[i]!;
      process.kill('SIGTERM');
      expect(await process.ended).toEqual({ code: 0, signal: null });
      await fleet.restart(i);
      await until(async () => (await fleet.stack.envoy.stats('cluster.tokenweir.membership_healthy')) === 3, 'Envoy sees it again');
    }
    rolling = false;
    await Promise.all(workers);
    expect(Object.keys(statuses)).toEqual(['200']);
    expect(statuses['200']).toBeGreaterThan(100);
    await idle();
    const { requests, promptTokens, completionTokens } = fleet.stack.upstream.usageTotals;
    for (const { tenants } of await all((i) => fleet.status(i))) {
      expect(tenants['acme']!.concurrency!.inUse).toBe(0);
      expect(tenants['acme']!.usage).toMatchObject({
        requests: requests - before.requests, inputTokens: promptTokens - before.promptTokens, outputTokens: completionTokens - before.completionTokens,
      });
    }
  });
});
