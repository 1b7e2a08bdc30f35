import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import type { LedgerEvent } from '../../src/domain/lease.js';
import { LEASE_MS, RENEW_MS } from '../../src/domain/store.js';
import { LoadClient } from '../support/clients.js';
import { LEDGER_FILE, startFleet, type Fleet } from '../support/fleet.js';
import { accountsOf, send, type Account, type Sent } from '../support/fleet-load.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

const TOKEN_MS = 40;
const yaml = (store: string): string => `
store: ${store}
${LEDGER_FILE}
tenants: [{ id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: 900000000, concurrency: 1000 } }]
`;

describe('SIGKILL of one of two processors under load, failing closed', () => {
  let redis: RedisServer;
  let fleet: Fleet;
  beforeAll(async () => {
    redis = await startRedis();
    const timing = { interTokenMs: TOKEN_MS, interTokenMsPerSequence: 0, slots: 1000 };
    fleet = await startFleet({ envoyConfig: 'envoy.alone.yaml', yaml: yaml(redis.url), upstream: { timing, outputTokens: 1000 } });
  });
  afterAll(async () => {
    await fleet?.stop();
    await redis?.stop();
  });

  it('leases are 0 after the lease time, and only the streams of the dead one differ, by what a renewal interval brings', async () => {
    const load = new LoadClient(fleet.stack.url, Infinity);
    const sent: Sent[] = [];
    let sending = true;
    // Long streams, short streams and plain answers, of which some are running at any time.
    for (let i = 0; i < 24; i++) sent.push(send(load, 'key-acme', { stream: true, max_tokens: 300 }));
    const feeding = (async () => {
      for (let i = 0; sending; i++, await delay(50)) sent.push(send(load, 'key-acme', { stream: i % 3 > 0, max_tokens: 20 + (i % 50) }));
    })();
    await delay(5_000);
    const [dead] = fleet.processors;
    const killedAtMs = Date.now();
    dead!.process.kill('SIGKILL');
    await delay(5_000);
    sending = false;
    await feeding;
    await Promise.all(sent.map(({ over }) => over));
    await delay(Math.max(0, killedAtMs + LEASE_MS + 2_000 - Date.now()));
    expect((await fleet.status(1)).leases).toBe(0);
    load.close();
    const accounts = await accountsOf(fleet, 1, sent);
    const [of, others] = [accounts.filter(isOfTheDead(killedAtMs)), accounts.filter((account) => !isOfTheDead(killedAtMs)(account))];
    for (const { sent: { status, whole }, events, tooMuch } of others) {
      expect([status, whole, events.length, tooMuch]).toEqual([200, true, 1, { input: 0, output: 0 }]);
    }
    const left = of.filter(({ upstream }) => upstream !== null);
    for (const account of left) expectWithinAnInterval(account, killedAtMs);
    expect(left.filter(({ events }) => events.some(({ outcome }) => outcome === 'abandoned')).length).toBeGreaterThan(5);
    expect(others.length).toBeGreaterThan(60);
    await expectTotalsOf(accounts);
  });

  /** Ledger, totals and what the tenant has in use are one truth. */
  async function expectTotalsOf(accounts: readonly Account[]): Promise<void> {
    const events = accounts.flatMap((account) => account.events);
    const sum = (of: (event: LedgerEvent) => number): number => events.reduce((total, event) => total + of(event), 0);
    const { usage, concurrency } = (await fleet.status(1)).tenants['acme']!;
    expect(usage).toMatchObject({ requests: events.length, inputTokens: sum(({ inputTokens }) => inputTokens), outputTokens: sum(({ outputTokens }) => outputTokens) });
    expect(concurrency!.inUse).toBe(0);
  }
});

/** Whose client saw the processor die. */
const isOfTheDead = (killedAtMs: number) => ({ sent: { status, whole, startedAtMs, endedAtMs } }: Account): boolean =>
  (status !== 200 || !whole) && startedAtMs < killedAtMs + 1_000 && endedAtMs >= killedAtMs;

function expectWithinAnInterval({ sent: { stream, startedAtMs }, upstream, events, tooMuch }: Account, killedAtMs: number): void {
  // Never renewed: it had just begun, and is as if it had never been.
  if (events.length === 0) expect(startedAtMs).toBeGreaterThan(killedAtMs - 1.5 * RENEW_MS);
  else expect(events.map(({ outcome, estimated, corrects }) => [outcome, estimated, corrects])).toEqual([['abandoned', true, false]]);
  // The prompt is the estimate. Of an answer that comes as a whole nothing was seen.
  if (events.length > 0) expect(Math.abs(tooMuch.input)).toBeLessThanOrEqual(4);
  if (stream) expect(Math.abs(tooMuch.output)).toBeLessThanOrEqual(RENEW_MS / TOKEN_MS + 0.1 * upstream!.completionTokens);
}
