import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { capacity, elastic, pool } from '../conformance/pool-builders.js';
import { startPoolWorker, type Happened, type PoolWorker } from '../support/pool-workers.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

const SLOTS = 9;
/** A busy machine answers late: that alone is not to make a processor decide by itself. */
const SETTINGS = { pool: pool({ capacity: capacity({ slots: SLOTS }), maxWaiting: 1_000 }), entitlement: elastic('acme'), options: { timeoutMs: 300 } };
const LOAD = { clients: 8, workMs: 100, maxWaitMs: 30_000 };
/** Whoever decides alone has a third, at least one. */
const SHARES = SLOTS;

let server: RedisServer;
let workers: PoolWorker[];
beforeEach(async () => {
  server = await startRedis();
  workers = await Promise.all(['a', 'b', 'c'].map((name) => startPoolWorker(server.url, name, SETTINGS)));
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.close()));
  await server.stop();
});

interface Told {
  readonly all: readonly Happened[];
  /** Most that ran at one time between two times. */
  most(fromMs: number, toMs: number): number;
  count(what: string | RegExp): number;
}

/** All that the workers tell, in order. */
async function told(of: readonly PoolWorker[]): Promise<Told> {
  const all = (await Promise.all(of.map((worker) => worker.log()))).flat().sort((a, b) => a[2] - b[2]);
  return {
    all,
    most: (fromMs, toMs) => {
      let running = 0;
      let most = 0;
      for (const [what, , atMs] of all) {
        if (what === 'start') running++;
        if (what === 'end') running--;
        if (atMs >= fromMs && atMs <= toMs) most = Math.max(most, running);
      }
      return most;
    },
    count: (what) => all.filter(([one]) => (typeof what === 'string' ? one === what : what.test(one))).length,
  };
}

async function keeper(): Promise<PoolWorker> {
  for (const worker of workers) {
    const log = await worker.log();
    if (log.filter(([what]) => what === 'keeper').length > log.filter(([what]) => what === 'keeper ended').length) return worker;
  }
  throw new Error('nobody keeps the pool');
}

/** The clients of all end what they have: nobody is lost, nothing is left. */
async function finish(of: readonly PoolWorker[]): Promise<Told> {
  await Promise.all(of.map((worker) => worker.stop()));
  await expect.poll(async () => (await told(of)).count('client ended'), { timeout: 20_000, interval: 100 }).toBe(of.length * LOAD.clients);
  for (const worker of of) expect(await worker.left()).toEqual({ held: 0, running: 0 });
  await expect.poll(async () => of[0]!.snapshot(), { timeout: 15_000, interval: 200 }).toMatchObject({ waiting: 0, inFlight: 0 });
  const log = await told(of);
  expect(log.all.filter(([what]) => /^refused|^threw/.test(what))).toEqual([]);
  const started = log.all.filter(([what]) => what === 'start').map(([, id]) => id);
  expect(new Set(started).size, 'each was dispatched once').toBe(started.length);
  return log;
}

const nowMs = (): number => performance.timeOrigin + performance.now();

async function startLoad(): Promise<number> {
  for (const worker of workers) await worker.load(LOAD);
  await delay(1_500);
  return nowMs();
}

function firstAfter({ all }: Told, what: string, fromMs: number): number {
  return all.find(([one, , atMs]) => one === what && atMs >= fromMs)?.[2] ?? Infinity;
}

describe('a pool over Redis', () => {
  test('a keeper that is killed: another decides within 3 s, nobody is lost, and what runs stays within the capacity', async () => {
    const killedMs = await startLoad();
    const killed = await keeper();
    killed.signal('SIGKILL');
    const rest = workers.filter((worker) => worker !== killed);
    await delay(5_000);
    const log = await finish(rest);
    const readyMs = firstAfter(log, 'ready', killedMs);
    expect(readyMs - killedMs).toBeLessThan(3_000);
    expect(log.most(0, killedMs)).toBeLessThanOrEqual(SLOTS);
    expect(log.most(killedMs, readyMs)).toBeLessThanOrEqual(SLOTS + SHARES);
    expect(log.most(readyMs + 500, Infinity)).toBeLessThanOrEqual(SLOTS);
    expect(log.count('start')).toBeGreaterThan(300);
  });

  test('a keeper that stands still for 5 s decides no more when it comes back: nothing is dispatched twice', async () => {
    const stoppedMs = await startLoad();
    const stopped = await keeper();
    stopped.signal('SIGSTOP');
    await delay(5_000);
    // Before the signal: it may be quicker than this process.
    const resumedMs = nowMs();
    stopped.signal('SIGCONT');
    await delay(2_000);
    const log = await finish(workers);
    const readyMs = firstAfter(log, 'ready', stoppedMs);
    expect(readyMs - stoppedMs).toBeLessThan(3_000);
    expect(firstAfter(log, 'keeper ended', resumedMs) - resumedMs).toBeLessThan(1_500);
    const after = log.all.filter(([what, id, atMs]) => what === 'start' && id.startsWith(`${stopped.name}-`) && atMs > resumedMs);
    expect(after.length, 'it is served by the other').toBeGreaterThan(0);
    expect(log.most(resumedMs + 1_500, Infinity)).toBeLessThanOrEqual(SLOTS);
  });

  test('a server that comes back empty: the leases are told again', async () => {
    const goneMs = await startLoad();
    await server.restart({ keepData: false });
    const backMs = nowMs();
    await delay(4_000);
    const log = await finish(workers);
    expect(firstAfter(log, 'ready', goneMs) - backMs).toBeLessThan(3_000);
    expect(log.most(backMs + 3_500, Infinity)).toBeLessThanOrEqual(SLOTS);
  });

  test('a server that stands still for 10 s: processors go by their shares, and come home', async () => {
    const frozenMs = await startLoad();
    await server.pause();
    await delay(10_000);
    await server.resume();
    const thawedMs = nowMs();
    await delay(4_000);
    const log = await finish(workers);
    expect(log.count('decided away')).toBeGreaterThan(0);
    const served = log.all.filter(([what, , atMs]) => what === 'start' && atMs > frozenMs + 4_000 && atMs < thawedMs).length;
    // Nine places of 100 ms each: 540 in six seconds. Also those are served that waited when it began.
    expect(served, 'most of what fits is served meanwhile').toBeGreaterThan(350);
    expect(log.most(frozenMs, thawedMs)).toBeLessThanOrEqual(SLOTS + SHARES);
    expect(log.most(thawedMs + 3_000, Infinity)).toBeLessThanOrEqual(SLOTS);
  });
});
