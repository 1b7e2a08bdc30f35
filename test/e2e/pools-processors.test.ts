import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { LEASE_MS } from '../../src/domain/store.js';
import { startPoolFleet, type Held, type PoolFleet } from '../support/pool-fleet.js';
import { tenantsYaml } from '../support/pool-rig.js';
import { until } from '../support/serving.js';

const SLOTS = 8;
const yaml = (store: string): string => `
store: ${store}
${tenantsYaml('gold', 'acme', 'cheap')}
pools: [{ id: chat, kind: self-hosted, models: ["*"], capacity: { slots: ${SLOTS} }, hold: { interactiveMs: 60000 } }]
entitlements:
  - { tenant: gold, pool: chat, class: guaranteed, baseline: { slots: 2 } }
  - { tenant: acme, pool: chat, class: elastic }
  - { tenant: cheap, pool: chat, class: spot }
`;

const open: PoolFleet[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

async function start(): Promise<PoolFleet> {
  const pools = await startPoolFleet(yaml);
  open.push(pools);
  return pools;
}

/** Sends one after the other: none is asked for before the one before it waits or runs. */
async function inOrder(pools: PoolFleet, tenant: string, names: readonly string[]): Promise<Held[]> {
  const sent: Held[] = [];
  for (const name of names) {
    const before = await pools.pool(0);
    sent.push(pools.send(tenant, name));
    await until(async () => sumOf(await pools.pool(0)) === sumOf(before) + 1, `${name} runs or waits`);
  }
  return sent;
}

const sumOf = ({ waiting, inFlight }: { waiting: number; inFlight: number }): number => waiting + inFlight;
const named = (what: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${what} ${i}`);
/** What has neither ended nor failed. */
const alive = (sent: readonly Held[]): Held[] => sent.filter(({ outcome }) => outcome === null);

describe('two processors at one pool', () => {
  it('are one queue: the slots are kept over both, and the order of priority goes across', async () => {
    const pools = await start();
    const running = await inOrder(pools, 'acme', named('first', SLOTS));
    const waiting = await inOrder(pools, 'acme', named('acme', 10));
    const gold = await inOrder(pools, 'gold', named('gold', 2));
    await pools.untilPool({ waiting: 12, inFlight: SLOTS });
    expect(pools.came).toHaveLength(SLOTS);
    const cheap = await Promise.all(named('cheap', 6).map((name) => pools.send('cheap', name).answer));
    expect(cheap.map(({ status }) => status)).toEqual(Array(6).fill(429));
    const expected = [...named('gold', 2), ...named('acme', 10)];
    for (const [i, { name }] of [...running, ...gold, ...waiting].slice(0, expected.length).entries()) {
      pools.release(name);
      await until(() => pools.came.length === SLOTS + i + 1, `the one after ${name} comes`);
    }
    expect(pools.came.slice(SLOTS)).toEqual(expected);
    pools.release();
    for (const { answer } of [...running, ...waiting, ...gold]) expect((await answer).status).toBe(200);
    expect(pools.atOnce).toEqual({ now: 0, most: SLOTS });
    await pools.untilPool({ waiting: 0, inFlight: 0 });
    await until(async () => (await pools.fleet.status(0)).leases === 0, 'no leases');
    // Envoy gave some to each.
    for (const { log } of pools.fleet.processors) {
      await until(async () => (await log()).filter(({ msg }) => msg === 'request').length >= 5, 'requests in the log');
    }
  });

  it('refuse and serve many at once without more at the upstream than there is room', async () => {
    const pools = await start();
    pools.release();
    const held = named('acme', 150).map((name) => pools.send('acme', name));
    const spot = named('cheap', 50).map((name) => pools.send('cheap', name));
    for (const { answer } of held) expect((await answer).status).toBe(200);
    for (const { answer } of spot) expect([200, 429]).toContain((await answer).status);
    expect(pools.atOnce.most).toBeLessThanOrEqual(SLOTS);
    expect(pools.came).toHaveLength(150 + spot.filter(({ outcome }) => outcome === 200).length);
    await pools.untilPool({ waiting: 0, inFlight: 0 });
    await until(async () => (await pools.fleet.status(1)).leases === 0, 'no leases');
  });

  it.each(['that decides for all', 'that follows'])('SIGKILL of the one %s: the other goes on, and after the lease time all of the room is there again', async (which) => {
    const pools = await start();
    const running = await inOrder(pools, 'acme', named('first', SLOTS));
    const waiting = await inOrder(pools, 'acme', named('acme', 10));
    const keeper = await pools.keeper();
    const dead = which === 'that follows' ? 1 - keeper : keeper;
    const killedAtMs = Date.now();
    pools.fleet.processors[dead]!.process.kill('SIGKILL');
    const survivor = 1 - dead;
    await until(() => alive(waiting).length < 10 && alive(running).length < SLOTS, 'those of the dead one have failed');
    await delay(500);
    const [runs, waits] = [alive(running), alive(waiting)];
    expect([runs.length, waits.length].every((count) => count > 0)).toBe(true);
    // Its own go on, whoever decides now. What is granted to the dead one comes back after 2 s.
    for (const { name } of runs) pools.release(name);
    await until(() => pools.came.length > SLOTS, 'the next one comes');
    expect(waits.map(({ name }) => name)).toContain(pools.came[SLOTS]);
    expect(Date.now() - killedAtMs).toBeLessThan(LEASE_MS);
    await delay(killedAtMs + LEASE_MS + 2_000 - Date.now());
    // The leases of the dead have ended: whoever waits has room, as far as there is.
    await pools.untilPool({ inFlight: Math.min(SLOTS, waits.length), waiting: Math.max(0, waits.length - SLOTS) }, [survivor]);
    const full = named('later', SLOTS + 1).map((name) => pools.send('acme', name));
    await pools.untilPool({ inFlight: SLOTS, waiting: waits.length + 1 }, [survivor]);
    expect(alive([...runs, ...waits, ...full]).filter(({ name }) => pools.came.includes(name))).toHaveLength(SLOTS);
    pools.release();
    await Promise.all([...runs, ...waits, ...full].map(({ answer }) => answer));
    for (const { outcome } of [...runs, ...waits, ...full]) expect(outcome).toBe(200);
    expect([...pools.came].sort()).toEqual([...running, ...waits, ...full].map(({ name }) => name).sort());
    await pools.untilPool({ waiting: 0, inFlight: 0 }, [survivor]);
    const { leases, tenants } = await pools.fleet.status(survivor);
    expect([leases, tenants['acme']!.concurrency!.inUse]).toEqual([0, 0]);
  });
});
