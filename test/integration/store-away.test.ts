import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.js';
import { connectStore, type StoreConnection } from '../../src/stores/connect/connect.js';
import { createFallbackStore } from '../../src/stores/fallback/fallback.js';
import type { FallbackStore } from '../../src/stores/fallback/fallback-parts.js';
import { Journal } from '../../src/stores/fallback/journal.js';
import { createRedisStore } from '../../src/stores/redis/redis-store.js';
import { charge, event, request, used } from '../conformance/store-builders.js';
import { redisAddress } from '../support/redis-address.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

const LIMITS = [charge('requests', { limit: 1_200 }), charge('tokens', { limit: 600_000, amount: 500, inputAmount: 100 }), charge('concurrency', { limit: 100 })];
const TIMEOUT_MS = 50;
/** What a busy machine may add to a time-out. */
const SLACK_MS = 400;

let server: RedisServer;
const connections: StoreConnection[] = [];
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  for (const connection of connections) connection.close();
  await server.stop();
});

/** A processor's store over the real server; all that it did at its end is told. */
class Processor {
  readonly store: FallbackStore;
  readonly journal = new Journal({ maxEntries: 100_000, maxBytes: 100_000_000 });
  readonly reserved: string[] = [];
  refused = 0;
  slowestMs = 0;

  constructor(readonly owner: string, client: StoreConnection['client']) {
    const shared = createRedisStore({ client, time: 'server', recentEvents: 10_000, onFault: () => undefined });
    const observer = { storeAway: () => undefined, storeBack: () => undefined, decidedAway: () => undefined, journal: () => undefined, storeFault: () => undefined };
    this.store = createFallbackStore({ store: shared, owner, clock: systemClock, random: Math.random, mode: 'local', timeoutMs: TIMEOUT_MS, processors: () => 2, journal: this.journal, observer });
  }

  async ask(): Promise<void> {
    const id = randomUUID();
    const fromMs = systemClock.nowMs();
    const { kind } = await this.store.reserve(request(id, fromMs, LIMITS, [], 'acme', { owner: this.owner }));
    this.slowestMs = Math.max(this.slowestMs, systemClock.nowMs() - fromMs);
    if (kind === 'reserved') this.reserved.push(id);
    else this.refused++;
  }

  /** Settles the first `count` that run. */
  async settle(count: number): Promise<void> {
    for (const id of this.reserved.splice(0, count)) {
      const nowMs = systemClock.nowMs();
      expect(await this.store.settle(id, used(100, 50), event(id, used(100, 50), { settledAtMs: Math.floor(nowMs) }), nowMs)).toBe('settled');
    }
  }
}

async function startProcessor(owner: string): Promise<Processor> {
  const connection = connectStore(redisAddress(`store: ${server.url}`), { clock: systemClock, random: Math.random });
  connections.push(connection);
  await connection.ready(5_000);
  return new Processor(owner, connection.client);
}

/** Both ask and settle for so long, as fast as answers come and no faster than a hundred times a second. */
async function work(processors: readonly Processor[], ms: number): Promise<number> {
  let settled = 0;
  for (const untilMs = systemClock.nowMs() + ms; systemClock.nowMs() < untilMs; ) {
    await Promise.all(processors.map((each) => each.ask()));
    for (const each of processors) {
      if (each.reserved.length <= 5) continue;
      await each.settle(1);
      settled++;
    }
    await delay(10);
  }
  return settled;
}

async function back(processors: readonly Processor[]): Promise<void> {
  await expect.poll(() => processors.every(({ store, journal }) => store.health() === 'up' && journal.isEmpty), { timeout: 20_000 }).toBe(true);
}

describe('two processors whose server', () => {
  test.each([
    ['stands still for five seconds', async () => {
      await server.pause();
      return () => server.resume();
    }],
    ['is killed, and comes back empty', async () => {
      await server.kill();
      return () => server.restart();
    }],
  ] as const)('%s: nobody waits, each settlement is booked once, no lease is left', async (_, takeAway) => {
    const both = [await startProcessor(randomUUID()), await startProcessor(randomUUID())];
    // What an emptied server had counted before is lost with it; what comes from here on is not.
    const giveBack = await takeAway();
    let settled = await work(both, 5_000);
    expect(both.map(({ store }) => store.health())).toEqual(['away', 'away']);
    await giveBack();
    settled += await work(both, 3_000);
    for (const each of both) {
      settled += each.reserved.length;
      await each.settle(Infinity);
    }
    await back(both);
    const { store } = both[0]!;
    const { leases, totals, levels } = await store.snapshot(LIMITS, systemClock.nowMs());
    expect(leases).toBe(0);
    expect(settled).toBeGreaterThan(100);
    expect(totals.get('acme')).toMatchObject({ requests: settled, inputTokens: 100 * settled, outputTokens: 50 * settled });
    const events = await store.recentEvents(10_000);
    expect([events.length, new Set(events.map(({ leaseId }) => leaseId)).size]).toEqual([settled, settled]);
    expect(levels[2]?.remaining).toBe(100);
    for (const { slowestMs } of both) expect(slowestMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    await Promise.all(both.map((each) => each.store.close()));
    await server.restart();
  });
});
