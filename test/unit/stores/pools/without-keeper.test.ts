import { afterEach, describe, expect, it } from 'vitest';
import type { OnStoreFailure } from '../../../../src/domain/store-settings.js';
import type { PoolAnswer, PoolEvent } from '../../../../src/domain/pool.js';
import { VirtualClock } from '../../../../src/lib/virtual-clock.js';
import type { PoolsObserver } from '../../../../src/domain/pools-observer.js';
import { Contact } from '../../../../src/stores/pools/contact.js';
import { createSharedPools, type SharedPools } from '../../../../src/stores/pools/shared-pools.js';
import { ask, pool, T0, type AskParts } from '../../../conformance/pool-builders.js';
import { settled } from '../../../support/harness.js';
import { SILENT } from '../../../support/redis-pools.js';
import { FakeServer } from './fake-server.js';

const TIMEOUT_MS = 50;

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** Two processors at a pool of four slots; `p1` keeps it. */
async function world(mode: OnStoreFailure) {
  const clock = new VirtualClock(T0);
  const server = new FakeServer(clock);
  const told: string[] = [];
  const events: string[] = [];
  const observer = (name: string): PoolsObserver => ({
    ...SILENT,
    poolAway: () => { told.push(`${name} alone`); },
    poolBack: () => { told.push(`${name} back`); },
    keeperEnded: () => { told.push(`${name} keeps no more`); },
    poolDecidedAway: (_, how) => { told.push(`${name} ${how}`); },
  });
  const open = (name: string): SharedPools => {
    const pools = createSharedPools({ processor: name, clock, random: () => 0.5, time: 'own', mode, timeoutMs: TIMEOUT_MS, observer: observer(name), linkOf: () => server.link(name) });
    pools.onEvent(name, (event: PoolEvent) => { events.push(`${event.kind === 'refused' ? event.reason : event.kind} ${event.leaseId}`); });
    return pools;
  };
  /** Turns of the event loop between the steps: messages gather for one. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 25) {
      clock.advance(Math.min(25, ms - passed));
      await turn();
    }
  };
  const p1 = open('p1');
  const p2 = open('p2');
  const during = async <T>(promise: Promise<T>): Promise<T> => {
    let done = false;
    const end = (): void => { done = true; };
    promise.then(end, end);
    await turn();
    while (!done) await pass(25);
    return promise;
  };
  const asks = (leaseId: string, parts: AskParts = {}, at = p2): Promise<PoolAnswer> => {
    const owner = at === p1 ? 'p1' : 'p2';
    return during(at.ask({ ...ask(leaseId, { owner, ...parts }), nowMs: clock.nowMs() }));
  };
  /** Signs of life, as processors give them. */
  const live = async (leaseIds: readonly string[], ms: number, work = 1): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      void p2.renew('pool', 'p2', leaseIds.map((leaseId) => ({ leaseId, work, kvBytes: 0 })), clock.nowMs());
      await pass(500);
    }
  };
  const inFlight = async (): Promise<number | undefined> => (await during(p1.snapshot('pool', clock.nowMs())))?.inFlight;
  await during(p1.tick(pool(), T0));
  await during(p2.tick(pool(), T0));
  expect(server.keeper).toBe('p1');
  ends.push(async () => {
    server.isDown = server.isFrozen = false;
    const closed = Promise.all([p1.close(), p2.close()]);
    await pass(500);
    await closed;
  });
  return { clock, server, told, events, p1, p2, pass, live, asks, inFlight, during };
}

async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await new Promise((resume) => setImmediate(resume));
    await settled();
  }
}

/** Three in a row that nobody answers: from then on nobody waits. */
async function lose(w: Awaited<ReturnType<typeof world>>): Promise<PoolAnswer[]> {
  w.server.isDown = true;
  const answers: PoolAnswer[] = [];
  for (const id of ['x1', 'x2', 'x3']) answers.push(await w.asks(id));
  return answers;
}

describe('a pool without a keeper, with onStoreFailure: closed', () => {
  it('refuses: three after the time that a request waits for the store, the rest at once', async () => {
    const w = await world('closed');
    const fromMs = w.clock.nowMs();
    expect(await lose(w)).toEqual([{ kind: 'unavailable' }, { kind: 'unavailable' }, { kind: 'unavailable' }]);
    expect(w.clock.nowMs() - fromMs).toBe(3 * TIMEOUT_MS);
    expect(await w.asks('at-once')).toEqual({ kind: 'unavailable' });
    expect(w.clock.nowMs() - fromMs).toBe(3 * TIMEOUT_MS);
    expect(w.told).toEqual(['p2 closed', 'p2 closed', 'p2 alone', 'p2 closed', 'p2 closed']);
    expect([w.p1.away(), w.p2.away()]).toEqual([[], ['pool']]);
  });

  it('what runs goes on, and counts when the store is back; what was refused never does', async () => {
    const w = await world('closed');
    expect(await w.asks('runs')).toMatchObject({ kind: 'dispatched' });
    await lose(w);
    await w.live(['runs'], 3_000);
    w.server.isDown = false;
    await w.live(['runs'], 3_000);
    expect(w.p2.away()).toEqual([]);
    expect(w.told.at(-1)).toBe('p2 back');
    expect(await w.inFlight()).toBe(1);
    expect(await w.during(w.p2.settle('pool', 'runs', 100, w.clock.nowMs()))).toMatchObject({ end: 'ended' });
    expect(await w.inFlight()).toBe(0);
  });

  it('who waits goes on waiting until its hold ends', async () => {
    const w = await world('closed');
    for (const id of ['a', 'b', 'c', 'd']) await w.asks(id, {}, w.p1);
    expect(await w.asks('waits', { maxWaitMs: 5_000 })).toMatchObject({ kind: 'waiting' });
    await lose(w);
    await w.pass(4_000);
    expect(w.events).toEqual([]);
    await w.pass(3_000);
    expect(w.events).toEqual(['queue_timeout waits']);
  });

  it('an answer that got lost took nothing: the keeper hears that nobody wants it', async () => {
    const w = await world('closed');
    w.server.deaf = 'p2';
    expect(await w.asks('lost')).toEqual({ kind: 'unavailable' });
    await w.pass(100);
    w.server.deaf = null;
    expect(await w.inFlight()).toBe(0);
  });
});

describe('a pool without a keeper, with onStoreFailure: open', () => {
  it('lets all pass, above the capacity too; they count when the store is back', async () => {
    const w = await world('open');
    const answers = await lose(w);
    for (const id of ['x4', 'x5', 'x6']) answers.push(await w.asks(id));
    expect(answers.map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => 'dispatched'));
    const all = ['x1', 'x2', 'x3', 'x4', 'x5', 'x6'];
    await w.live(all, 3_000);
    w.server.isDown = false;
    await w.live(all, 3_000);
    expect(await w.inFlight()).toBe(6);
    expect(await w.asks('next')).toMatchObject({ kind: 'waiting' });
    for (const id of all) await w.during(w.p2.settle('pool', id, 100, w.clock.nowMs()));
    await w.pass(100);
    expect(w.events).toEqual(['granted next']);
    expect(await w.inFlight()).toBe(1);
  });

  it('who waits passes once no keeper can have dispatched it', async () => {
    const w = await world('open');
    for (const id of ['a', 'b', 'c', 'd']) await w.asks(id, {}, w.p1);
    expect(await w.asks('waits', { maxWaitMs: 60_000 })).toMatchObject({ kind: 'waiting' });
    await lose(w);
    await w.pass(2_000);
    expect(w.events).toEqual([]);
    await w.pass(1_000);
    expect(w.events).toEqual(['granted waits']);
  });

  it('what was settled meanwhile is settled where it counts', async () => {
    const w = await world('open');
    await w.asks('runs');
    await lose(w);
    for (const id of ['runs', 'x1', 'x2', 'x3']) await w.during(w.p2.settle('pool', id, 100, w.clock.nowMs()));
    w.server.isDown = false;
    await w.live([], 3_000);
    expect(await w.inFlight()).toBe(0);
  });
});

describe('a processor all of whose requests wait, over a server that stands still', () => {
  it('asks nothing, and notices all the same: follower and keeper serve theirs from the share, and come home', async () => {
    const w = await world('local');
    for (const id of ['a1', 'a2']) expect(await w.asks(id, {}, w.p1)).toMatchObject({ kind: 'dispatched' });
    for (const id of ['b1', 'b2']) expect(await w.asks(id)).toMatchObject({ kind: 'dispatched' });
    expect(await w.asks('a3', { maxWaitMs: 60_000 }, w.p1)).toMatchObject({ kind: 'waiting' });
    expect(await w.asks('b3', { maxWaitMs: 60_000 })).toMatchObject({ kind: 'waiting' });
    // Until both have heard of each other.
    await w.pass(1_000);
    const frozenMs = w.clock.nowMs();
    w.server.isFrozen = true;
    while (w.told.length < 2) await w.pass(25);
    expect(w.clock.nowMs() - frozenMs).toBeLessThan(2_500);
    expect(w.told.sort()).toEqual(['p1 alone', 'p2 alone']);
    await w.pass(1_000);
    expect(w.events, 'each has two of the four places, and both run').toEqual([]);
    void w.p1.settle('pool', 'a1', 100, w.clock.nowMs());
    void w.p2.settle('pool', 'b1', 100, w.clock.nowMs());
    await w.pass(25);
    expect(w.events.sort()).toEqual(['granted a3', 'granted b3']);
    w.server.isFrozen = false;
    await w.live(['b2', 'b3'], 4_000);
    expect([w.p1.away(), w.p2.away()]).toEqual([[], []]);
    expect(await w.inFlight()).toBe(4);
  });

  it('a blink is nothing', async () => {
    const w = await world('local');
    for (const id of ['b1', 'b2', 'b3', 'b4']) await w.asks(id);
    await w.asks('b5', { maxWaitMs: 60_000 });
    w.server.isFrozen = true;
    await w.pass(900);
    w.server.isFrozen = false;
    await w.live(['b1', 'b2', 'b3', 'b4', 'b5'], 4_000);
    expect([w.told, w.events]).toEqual([[], []]);
  });
});

describe('contact', () => {
  it('is lost by two seconds of silence, not by five that the process stood still', () => {
    const clock = new VirtualClock();
    const contact = new Contact(clock);
    clock.advance(5_000);
    expect([contact.look(), contact.isAway]).toEqual([false, false]);
    contact.heard();
    for (let passed = 0; passed < 1_800; passed += 200) {
      clock.advance(200);
      expect(contact.look()).toBe(false);
    }
    clock.advance(200);
    expect([contact.look(), contact.isAway, contact.isAlone]).toEqual([true, true, false]);
    clock.advance(500);
    expect([contact.look(), contact.isAlone]).toEqual([false, true]);
    expect([contact.found(), contact.isAway]).toEqual([500, false]);
  });
});

describe('a server that lost all it knew', () => {
  it('who is keeper next asks those that it knew before it dispatches anything', async () => {
    const w = await world('local');
    for (const id of ['a1', 'a2', 'a3', 'a4']) expect(await w.asks(id, {}, w.p1)).toMatchObject({ kind: 'dispatched' });
    expect(await w.asks('b1', { maxWaitMs: 60_000 })).toMatchObject({ kind: 'waiting' });
    await w.pass(1_000);
    w.server.forget();
    w.server.unheard = 'p1';
    while (w.server.keeper !== 'p2') await w.pass(25);
    await w.pass(100);
    w.server.unheard = null;
    await w.pass(2_000);
    expect([w.server.keeper, w.events]).toEqual(['p2', []]);
    void w.p1.settle('pool', 'a1', 100, w.clock.nowMs());
    await w.pass(100);
    expect(w.events).toEqual(['granted b1']);
  });
});

describe('who looks on', () => {
  it('is told of a pool that does not answer by a fault, and not that it is idle', async () => {
    const w = await world('local');
    w.server.isDown = true;
    await expect(w.during(w.p2.snapshot('pool', w.clock.nowMs()))).rejects.toThrow('no processor that keeps the pool answers');
    w.server.isDown = false;
    await w.pass(3_000);
    await w.asks('a');
    expect(await w.during(w.p2.snapshot('pool', w.clock.nowMs()))).toMatchObject({ inFlight: 1 });
  });
});

describe('a pool that is not used while no keeper answers', () => {
  it('is looked for until there is one again, and left then', async () => {
    const w = await world('local');
    await lose(w);
    for (const id of ['x1', 'x2', 'x3']) await w.during(w.p2.cancel('pool', id, w.clock.nowMs()));
    await w.pass(40_000);
    expect(w.p2.away()).toEqual(['pool']);
    w.server.isDown = false;
    await w.pass(3_000);
    expect(w.p2.away()).toEqual([]);
    await w.pass(40_000);
    expect(w.clock.pending).toBe(0);
  });
});

describe('a keeper that is asked again while it leaves a pool that was not used', () => {
  // A call takes 20 ms: leaving is two of them.
  it.each([1, 15, 25, 35, 60])('hears what others ask (asked again after %i ms)', async (laterMs) => {
    const w = await world('local');
    w.server.slowMs = 20;
    while (!w.told.includes('p1 keeps no more')) await w.pass(1);
    await w.pass(laterMs);
    expect(await w.asks('own', {}, w.p1)).toMatchObject({ kind: 'dispatched' });
    for (let passed = 0; passed < 3_000; passed += 500) {
      void w.p1.renew('pool', 'p1', [{ leaseId: 'own', work: 1, kvBytes: 0 }], w.clock.nowMs());
      await w.pass(500);
    }
    // Who joins may have no answer in time; who has joined has one.
    await w.asks('first');
    await w.pass(3_000);
    w.told.splice(0);
    w.server.slowMs = 0;
    expect(await w.asks('other')).toMatchObject({ kind: 'dispatched' });
    expect([w.told, w.p1.away(), w.p2.away()]).toEqual([[], [], []]);
  });
});
