import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { RENEW_MS } from '../../src/domain/store.js';
import { LoadClient } from '../support/clients.js';
import { LEDGER_FILE, startFleet, type Fleet } from '../support/fleet.js';
import { accountsOf, send, type Account, type Sent } from '../support/fleet-load.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/serving.js';

const TOKEN_MS = 50;
/** Of the reference configuration. */
const MESSAGE_TIMEOUT_MS = 5_000;
const yaml = (store: string): string => `
store: ${store}
${LEDGER_FILE}
tenants: [{ id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: 900000000, concurrency: 1000 } }]
`;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of open.splice(0).reverse()) await stop();
});

async function start(): Promise<{ readonly redis: RedisServer; readonly fleet: Fleet; readonly client: LoadClient }> {
  const redis = await startRedis();
  open.push(() => redis.stop());
  const timing = { interTokenMs: TOKEN_MS, interTokenMsPerSequence: 0, slots: 1000 };
  const fleet = await startFleet({ envoyConfig: 'envoy.alone.yaml', yaml: yaml(redis.url), upstream: { timing, outputTokens: 1000 } });
  open.push(() => fleet.stop());
  const client = new LoadClient(fleet.stack.url, Infinity);
  open.push(async () => { client.close(); });
  return { redis, fleet, client };
}

/** Sends a short request every tenth of a second. */
function trickle(client: LoadClient): { stop(): Promise<readonly Sent[]> } {
  const sent: Sent[] = [];
  let sending = true;
  const feeding = (async () => {
    for (let i = 0; sending; i++, await delay(100)) sent.push(send(client, 'key-acme', { stream: i % 2 === 0, max_tokens: 3 }));
  })();
  return {
    stop: async () => {
      sending = false;
      await feeding;
      await Promise.all(sent.map(({ over }) => over));
      return sent;
    },
  };
}

const streams = (client: LoadClient, count: number, tokens: number): Sent[] => Array.from({ length: count }, () => send(client, 'key-acme', { stream: true, max_tokens: tokens }));

describe('what stands still and goes on', () => {
  it('Redis for 10 s: requests go on, no living lease is lost, nothing is charged twice', async () => {
    const { redis, fleet, client } = await start();
    const long = streams(client, 16, 280);
    const short = trickle(client);
    await delay(2_000);
    await redis.pause();
    const pausedAtMs = Date.now();
    await delay(1_000);
    await until(async () => (await fleet.metric(0, 'tokenweir_store_away')) + (await fleet.metric(1, 'tokenweir_store_away')) === 2, 'both go on without the store');
    await delay(9_000);
    await redis.resume();
    await delay(2_000);
    const sent = [...long, ...(await short.stop())];
    await Promise.all(long.map(({ over }) => over));
    await until(async () => (await fleet.status(1)).leases === 0, 'no leases');
    for (const { sent: { status, whole }, events, tooMuch } of await accountsOf(fleet, 1, sent)) {
      expect([status, whole, events.map(({ outcome, estimated }) => [outcome, estimated]), tooMuch]).toEqual([200, true, [['completed', false]], { input: 0, output: 0 }]);
    }
    // The wait for the store is 50 ms; a busy machine has its own.
    const meanwhile = sent.filter(({ startedAtMs }) => startedAtMs > pausedAtMs && startedAtMs < pausedAtMs + 9_000);
    expect(meanwhile.length).toBeGreaterThan(40);
    expect(Math.max(...meanwhile.map(({ startedAtMs, endedAtMs }) => endedAtMs - startedAtMs))).toBeLessThan(2_000);
    expect((await fleet.status(0)).tenants['acme']!.concurrency!.inUse).toBe(0);
  });

  it('a processor for 20 s: the other settles its leases, and on return only the difference is booked', async () => {
    const { fleet, client } = await start();
    const long = streams(client, 16, 100);
    const short = trickle(client);
    await delay(2_500);
    const pausedAtMs = Date.now();
    fleet.processors[0]!.process.kill('SIGSTOP');
    await delay(20_000);
    fleet.processors[0]!.process.kill('SIGCONT');
    await delay(3_000);
    const sent = [...long, ...(await short.stop())];
    await Promise.all(long.map(({ over }) => over));
    await until(async () => (await fleet.status(1)).leases === 0, 'no leases');
    const accounts = await accountsOf(fleet, 1, sent);
    const late = accounts.filter(({ events }) => events.some(({ outcome }) => outcome === 'abandoned'));
    expect(late.length).toBeGreaterThan(3);
    for (const { sent: { stream }, events, upstream, tooMuch } of late) {
      // One event of the others, and at most one of the difference to it.
      expect(events.slice(1).every(({ corrects }) => corrects) && events.length <= 2).toBe(true);
      expect(upstream).not.toBeNull();
      // What Envoy had passed on before it gave up is what counts: the upstream went on for up to message_timeout.
      if (stream) expect(Math.abs(tooMuch.output)).toBeLessThanOrEqual((RENEW_MS + MESSAGE_TIMEOUT_MS) / TOKEN_MS);
      expect(tooMuch.output).toBeLessThanOrEqual(0.1 * upstream!.completionTokens);
    }
    const others = accounts.filter((account) => !late.includes(account));
    const isServed = ({ sent: { status, whole } }: Account): boolean => status === 200 && whole;
    for (const { events, tooMuch } of others.filter(isServed)) expect([events.length, tooMuch]).toEqual([1, { input: 0, output: 0 }]);
    // Those whose client saw the pause, and whose lease was not yet renewed by then.
    for (const { events, tooMuch } of others.filter((account) => !isServed(account))) expect([events.length <= 1, tooMuch.output <= 0]).toEqual([true, true]);
    // Once health checks had told Envoy, nobody noticed.
    for (const { status } of sent.filter(({ startedAtMs }) => startedAtMs > pausedAtMs + 8_000)) expect(status).toBe(200);
    expect((await fleet.status(0)).tenants['acme']!.concurrency!.inUse).toBe(0);
  });
});
