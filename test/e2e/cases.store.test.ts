import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, describe, expect } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { PROCESSOR_MS } from '../../src/domain/store.js';
import { sse, type Script } from '../../src/upstream/script.js';
import { chat, JSON_HEADERS } from '../support/clients.js';
import { LEDGER_FILE, startFleet, type Fleet, type FleetOptions } from '../support/fleet.js';
import { handedCase } from '../support/handed.js';
import { startCluster } from '../support/redis-cluster.js';
import { startRedis } from '../support/redis-server.js';
import { until } from '../support/serving.js';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function ending<T extends { stop(): Promise<void> }>(started: T): T {
  ends.push(() => started.stop());
  return started;
}

const fleetOf = async (options: Omit<FleetOptions, 'envoyConfig'>): Promise<Fleet> => ending(await startFleet({ envoyConfig: 'envoy.alone.yaml', ...options }));

async function statusOf(fleet: Fleet, key: string, more = {}): Promise<number> {
  const answer = await fetch(`${fleet.stack.url}/v1/chat/completions`, { method: 'POST', headers: JSON_HEADERS(key), body: chat(more) });
  await answer.text();
  return answer.status;
}

/** How often each status came of so many requests at once. */
async function burst(fleet: Fleet, count: number, key: string, more = {}): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  for (const status of await Promise.all(Array.from({ length: count }, () => statusOf(fleet, key, more)))) statuses[status] = (statuses[status] ?? 0) + 1;
  return statuses;
}

/** Streams that last until they are let go, and how many ran at most. */
class HeldStreams {
  most = 0;
  #running = 0;
  #letGo: () => void = () => undefined;
  #held = Promise.resolve();

  hold(): void {
    this.#held = new Promise((resolve) => (this.#letGo = resolve));
  }

  letGo(): void {
    this.#letGo();
  }

  readonly script: Script = () => ({ kind: 'answer', pieces: this.#pieces() });

  async *#pieces(): AsyncGenerator<Buffer> {
    this.most = Math.max(this.most, ++this.#running);
    yield sse({ choices: [{ index: 0, delta: { content: 'word' } }] });
    await this.#held;
    this.#running--;
    yield sse({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } });
    yield sse('[DONE]');
  }
}

describe('handed cases of several processors over one store', () => {
  handedCase('BerriAI/litellm#16011', async () => {
    const redis = ending(await startRedis());
    const held = new HeldStreams();
    const yaml = `store: ${redis.url}\nstoreTimeoutMs: 500\n${LEDGER_FILE}\ntenants: [{ id: acme, keys: ["${hashKey('key-acme')}"], limits: { concurrency: 6 } }]`;
    const fleet = await fleetOf({ processors: 3, yaml, upstream: { script: held.script } });
    // So that each knows how many they are.
    await delay(PROCESSOR_MS / 4 + 500);
    const thirtyAtOnce = async (): Promise<Record<string, number>> => {
      held.hold();
      setTimeout(() => { held.letGo(); }, 3_000);
      return burst(fleet, 30, 'key-acme', { stream: true });
    };
    expect(await thirtyAtOnce()).toEqual({ 200: 6, 429: 24 });
    expect(held.most).toBe(6);
    const first = await Promise.all([0, 1, 2].map((i) => admitted(fleet, i)));
    await until(async () => (await fleet.status(0)).leases === 0, 'no leases');
    // One after the other, until each processor was asked: what it was told last, it takes its share of.
    await until(async () => (await statusOf(fleet, 'key-acme', { stream: true }), (await Promise.all([0, 1, 2].map((i) => admitted(fleet, i)))).every((count, i) => count >= first[i]! + 3)), 'all were asked');
    await until(async () => (await fleet.status(0)).leases === 0, 'no leases');
    const { requests } = (await fleet.status(0)).tenants['acme']!.usage;
    await redis.pause();
    const readiness = async (i: number): Promise<string> => (await fetch(`${fleet.processors[i]!.adminUrl}/readyz`)).text();
    // Requests tell a processor that the store is gone, and so do its own calls.
    await until(async () => (await burst(fleet, 3, 'nobody'), (await Promise.all([0, 1, 2].map(readiness))).every((told) => /store away: local/.test(told))), 'all go on alone');
    const before = await Promise.all([0, 1, 2].map((i) => admitted(fleet, i)));
    const statuses = await thirtyAtOnce();
    expect(statuses['200']).toBeGreaterThan(0);
    expect(statuses['200']).toBeLessThanOrEqual(6);
    expect(held.most).toBeLessThanOrEqual(6);
    for (const i of [0, 1, 2]) expect((await admitted(fleet, i)) - before[i]!).toBeLessThanOrEqual(2);
    await redis.resume();
    await until(async () => (await fleet.status(0)).tenants['acme']!.usage.requests === requests + statuses['200']!, 'all booked');
  });

  handedCase('BerriAI/litellm#15066', async () => {
    const cluster = ending(await startCluster(3));
    const teams = Array.from({ length: 6 }, (_, i) => `team-${i}`);
    const big = 'tokensPerMinute: 100, burstSeconds: 3600';
    const tenants = teams.map((team) => `
  - { id: ${team}, limits: { ${big} } }
  - id: of-${team}
    parent: ${team}
    keys: ["${hashKey(`key-${team}`)}"]
    limits: [{ ${big} }, { models: ["sim-*"], requestsPerMinute: 1 }]`);
    const fleet = await fleetOf({ processors: 2, yaml: `store: ${cluster.url}\nstoreTimeoutMs: 1000\ntenants:${tenants.join('')}\n` });
    const levels = async (team: string): Promise<number[]> => {
      const { tenants: shown } = await fleet.status(1);
      return [shown[team]!, shown[`of-${team}`]!].flatMap(({ limits }) => limits.map(({ remaining }) => remaining));
    };
    for (const team of teams) {
      expect(await statusOf(fleet, `key-${team}`)).toBe(200);
      await until(async () => (await fleet.status(0)).tenants[`of-${team}`]!.usage.requests === 1, 'settled');
      const [ofTeam = 0, own = 0, ofModel] = await levels(team);
      expect([ofTeam < 6000, own < 6000, ofModel]).toEqual([true, true, 0]);
      // The level of the model refuses: what the other two gave comes back.
      expect(await statusOf(fleet, `key-${team}`)).toBe(429);
      const after = await levels(team);
      expect([after[0]! >= ofTeam, after[1]! >= own]).toEqual([true, true]);
    }
    for (const i of [0, 1]) expect(await fleet.metric(i, 'tokenweir_store_errors_total')).toBe(0);
    const used = await Promise.all(cluster.nodes.map(async ({ port }) => keysAt(port)));
    expect(used.filter((keys) => keys > 0).length).toBeGreaterThan(1);
  });
});

async function admitted(fleet: Fleet, processor: number): Promise<number> {
  return fleet.metric(processor, 'tokenweir_requests_total', /decision="admitted"/);
}

async function keysAt(port: number): Promise<number> {
  const client = new Redis(port);
  const keys = await client.dbsize();
  client.disconnect();
  return keys;
}
