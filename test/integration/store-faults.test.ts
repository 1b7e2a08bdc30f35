import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { Redis } from 'ioredis';
import { RENEW_MS } from '../../src/domain/store.js';
import { systemClock } from '../../src/lib/clock.js';
import { openStore, type OpenedStore, type StoreObserver } from '../../src/stores/open-store.js';
import { charge, event, request, used } from '../conformance/store-builders.js';
import { configOf } from '../support/processor.js';
import { startFaultProxy } from '../support/redis-proxy.js';
import { startSentinels } from '../support/redis-sentinel.js';
import { startRedis } from '../support/redis-server.js';
import { until } from '../support/redis-cluster.js';

const PLACES = 40;
const LIMITS = [charge('tokens', { limit: 600_000_000, amount: 500, inputAmount: 100 }), charge('concurrency', { limit: PLACES })];
const QUIET: StoreObserver = {
  connection: () => undefined, storeAway: () => undefined, storeBack: () => undefined, decidedAway: () => undefined, journal: () => undefined, storeFault: () => undefined,
};

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The store of one processor, as the program opens it, and what it did. */
class Processor {
  readonly running: string[] = [];
  settled = 0;
  /** Concurrency that was free, as each reservation told. */
  leastFree = PLACES;
  mostFree = 0;

  constructor(readonly owner: string, readonly opened: OpenedStore) {}

  /** Whether a lease began. A rejection fails the test: a request never sees one. */
  async begin(): Promise<boolean> {
    const id = randomUUID();
    const { kind, levels } = await this.opened.store.reserve(request(id, systemClock.nowMs(), LIMITS, [], 'acme', { owner: this.owner }));
    for (const { dimension, remaining } of levels) if (dimension === 'concurrency') this.#sawFree(remaining);
    if (kind === 'reserved') this.running.push(id);
    return kind === 'reserved';
  }

  async settle(count = Infinity): Promise<void> {
    for (const id of this.running.splice(0, count)) {
      const nowMs = systemClock.nowMs();
      await this.opened.store.settle(id, used(100, 50), event(id, used(100, 50), { settledAtMs: Math.floor(nowMs) }), nowMs);
      this.settled++;
    }
  }

  /** What a processor does once a second. */
  async renewAndReap(): Promise<void> {
    const nowMs = systemClock.nowMs();
    await this.opened.store.renew(this.running.map((leaseId) => ({ leaseId, outputTokens: 0 })), nowMs).catch(() => undefined);
    await this.opened.store.reap(nowMs).catch(() => undefined);
  }

  async leases(): Promise<number> {
    return (await this.opened.store.snapshot([], systemClock.nowMs())).leases;
  }

  #sawFree(places: number): void {
    this.leastFree = Math.min(this.leastFree, places);
    this.mostFree = Math.max(this.mostFree, places);
  }
}

async function startProcessors(url: string, extra = ''): Promise<readonly [Processor, Processor]> {
  const open = async (owner: string): Promise<Processor> => {
    const settings = configOf(`store: ${url}\n${extra}\ntenants: []`).store;
    const opened = await openStore(settings, { clock: systemClock, random: Math.random, owner, observer: QUIET });
    await opened.start();
    ends.push(() => opened.close());
    const processor = new Processor(owner, opened);
    const timer = setInterval(() => void processor.renewAndReap(), RENEW_MS);
    ends.push(async () => { clearInterval(timer); });
    return processor;
  };
  const both = [await open('p1'), await open('p2')] as const;
  // Beats tell the second of the first at once; the first of the second at its next.
  await delay(2_600);
  return both;
}

/** Both begin and settle, a few running at any time, until told to stop. */
function keepBusy(processors: readonly Processor[]): { stop(): Promise<void> } {
  let busy = true;
  const loops = processors.map(async (processor) => {
    while (busy) {
      await processor.begin();
      if (processor.running.length > 5) await processor.settle(1);
      await delay(5);
    }
  });
  return {
    stop: async () => {
      busy = false;
      await Promise.all(loops);
    },
  };
}

const up = (processors: readonly Processor[]): Promise<void> => until(async () => processors.every(({ opened }) => opened.health() === 'up'));
const free = (processors: readonly Processor[]): Promise<void> => until(async () => (await Promise.all(processors.map((processor) => processor.leases()))).every((leases) => leases === 0));

/** Settles all, and then as many as there are places may begin over both, and not one more: the limit is right, and nothing is left taken. */
async function expectWhole(processors: readonly [Processor, Processor]): Promise<void> {
  await up(processors);
  for (const processor of processors) await processor.settle();
  await free(processors);
  let begun = 0;
  for (let i = 0; i < 2 * PLACES; i++) if (await processors[i % 2]!.begin()) begun++;
  expect(begun).toBe(PLACES);
  for (const processor of processors) await processor.settle();
  await free(processors);
  for (const { leastFree, mostFree } of processors) {
    expect(leastFree).toBeGreaterThanOrEqual(0);
    expect(mostFree).toBeLessThanOrEqual(PLACES);
  }
}

/** Every settlement is in the totals, once. */
async function expectTotals(processors: readonly Processor[]): Promise<void> {
  const settled = processors.reduce((sum, processor) => sum + processor.settled, 0);
  const told = (await processors[0]!.opened.store.snapshot([], systemClock.nowMs())).totals.get('acme');
  expect(told).toMatchObject({ requests: settled, inputTokens: settled * 100, outputTokens: settled * 50 });
}

describe('Redis that', () => {
  test('dies under load and comes back empty: nobody sees an error, and the limit is right again', async () => {
    const server = await startRedis();
    ends.push(() => server.stop());
    const processors = await startProcessors(server.url);
    const busy = keepBusy(processors);
    await delay(1_000);
    await server.restart({ keepData: false });
    await delay(1_000);
    await busy.stop();
    await expectWhole(processors);
  });

  test('dies under load and comes back from its append-only file: all that was settled is in the totals once', async () => {
    const server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    ends.push(() => server.stop());
    const processors = await startProcessors(server.url);
    const busy = keepBusy(processors);
    await delay(1_000);
    await server.kill();
    await delay(1_000);
    await server.restart({ keepData: true });
    await delay(1_000);
    await busy.stop();
    await expectWhole(processors);
    await expectTotals(processors);
  });

  test('fails over to a replica that lost the last second: no negative leases, and the limit is right again', async () => {
    const sentinels = await startSentinels();
    ends.push(() => sentinels.stop());
    const proxy = await startFaultProxy(sentinels.master.port);
    ends.push(() => proxy.close());
    const replica = new Redis(sentinels.replica.url);
    ends.push(async () => { replica.disconnect(); });
    const processors = await startProcessors(sentinels.url);
    await replica.call('REPLICAOF', '127.0.0.1', proxy.port);
    await until(async () => /master_link_status:up/.test(await replica.info('replication')));
    const busy = keepBusy(processors);
    await delay(500);
    proxy.swallow(true);
    await delay(1_000);
    await sentinels.master.kill();
    await until(async () => (await sentinels.masterPort()) === sentinels.replica.port);
    await up(processors);
    await delay(500);
    await busy.stop();
    await expectWhole(processors);
  });
});

describe('a network that', () => {
  const faults: readonly (readonly [string, (proxy: Awaited<ReturnType<typeof startFaultProxy>>) => Promise<void>])[] = [
    ['delays within the time-out', async (proxy) => { proxy.delayReplies(20); await delay(1_500); proxy.delayReplies(0); }],
    ['delays beyond the time-out', async (proxy) => { proxy.delayReplies(150); await delay(1_500); proxy.delayReplies(0); }],
    ['cuts connections again and again', async (proxy) => { for (let i = 0; i < 6; i++) { proxy.cut(); await delay(250); } }],
    ['drops replies after the write, again and again', async (proxy) => { for (let i = 0; i < 6; i++) { proxy.loseReplies(1); await delay(250); } }],
    ['swallows everything for a while', async (proxy) => { proxy.swallow(true); await delay(1_500); proxy.swallow(false); proxy.cut(); }],
  ];
  test.each(faults)('%s: what was settled is booked once, and no place stays taken', async (_, disturb) => {
    const server = await startRedis();
    ends.push(() => server.stop());
    const proxy = await startFaultProxy(server.port);
    ends.push(() => proxy.close());
    const processors = await startProcessors(`redis://127.0.0.1:${proxy.port}`);
    const busy = keepBusy(processors);
    await delay(300);
    await disturb(proxy);
    await delay(300);
    await busy.stop();
    await expectWhole(processors);
    await expectTotals(processors);
  });
});
