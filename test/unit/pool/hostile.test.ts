import { describe, expect, it } from 'vitest';
import { PoolScheduler } from '../../../src/pool/scheduler.js';
import { ask, capacity, elastic, guaranteed, pool, spot, T0, type AskParts } from '../../conformance/pool-builders.js';

/** A pool whose only slot is taken for as long as the test lasts. */
function full(settings = pool()): PoolScheduler {
  const scheduler = new PoolScheduler('pool');
  scheduler.ask(ask('first', { pool: settings, entitlement: elastic('nobody'), demand: { slots: settings.capacity.slots ?? 1, work: 1 } }));
  return scheduler;
}

const events = (scheduler: PoolScheduler): string[] =>
  scheduler.takeEvents().map(({ event }) => `${event.kind === 'refused' ? event.reason : event.kind} ${event.leaseId}`);

/** How each of these fared. */
function fill(scheduler: PoolScheduler, prefix: string, count: number, parts: AskParts): string[] {
  return Array.from({ length: count }, (_, i) => {
    const answer = scheduler.ask(ask(`${prefix}${i}`, parts));
    return answer.kind === 'refused' ? answer.reason : answer.kind;
  });
}

describe('a queue that one tenant floods', () => {
  it('has a place for who has fewer in it: the last of who has most gives way, and is told so', () => {
    const settings = pool({ maxWaiting: 4 });
    const scheduler = full(settings);
    const flood = { pool: settings, entitlement: elastic('flood') };
    expect(fill(scheduler, 'f', 6, flood)).toEqual(['waiting', 'waiting', 'waiting', 'waiting', 'queue_full', 'queue_full']);
    expect(events(scheduler)).toEqual([]);
    const team = { pool: settings, entitlement: elastic('team') };
    expect(fill(scheduler, 't', 3, team)).toEqual(['waiting', 'waiting', 'queue_full']);
    expect(events(scheduler)).toEqual(['queue_full f3', 'queue_full f2']);
    expect(fill(scheduler, 'g', 1, flood)).toEqual(['queue_full']);
    expect(scheduler.snapshot(T0)).toMatchObject({ waiting: 4, waitingBytes: 400 });
    expect(scheduler.ask(ask('f3', flood))).toMatchObject({ kind: 'refused', reason: 'queue_full' });
  });

  it('the same by bytes: as many as make room, and never a head', () => {
    const settings = pool({ maxWaitingBytes: 1_000 });
    const scheduler = full(settings);
    fill(scheduler, 'f', 3, { pool: settings, entitlement: elastic('flood'), bytes: 300 });
    expect(fill(scheduler, 't', 1, { pool: settings, entitlement: elastic('team'), bytes: 301 })).toEqual(['waiting']);
    expect(events(scheduler)).toEqual(['queue_full f2']);
    expect(fill(scheduler, 'l', 1, { pool: settings, entitlement: elastic('large'), bytes: 900 })).toEqual(['queue_full']);
    expect(events(scheduler)).toEqual([]);
    expect(scheduler.snapshot(T0)).toMatchObject({ waiting: 3, waitingBytes: 901 });
  });

  it('lets who is within its share be served, and not only who sends most', () => {
    const settings = pool({ maxWaiting: 50 });
    const scheduler = new PoolScheduler('pool');
    const running: string[] = [];
    const granted = new Map<string, number>();
    let ids = 0;
    for (let at = 0; at < 60_000; at += 10) {
      for (const [id, every] of [['flood', 10], ['team', 1_000]] as const) {
        if (at % every !== 0) continue;
        const leaseId = `${id}-${ids++}`;
        if (scheduler.ask(ask(leaseId, { pool: settings, entitlement: elastic(id), at })).kind === 'dispatched') running.push(leaseId);
      }
      if (at % 500 === 0) for (const leaseId of running.splice(0)) scheduler.settle(leaseId, 100, T0 + at);
      for (const { event } of scheduler.takeEvents()) {
        if (event.kind !== 'granted') continue;
        running.push(event.leaseId);
        granted.set(event.leaseId.split('-')[0]!, (granted.get(event.leaseId.split('-')[0]!) ?? 0) + 1);
      }
      scheduler.renew('p1', [...scheduler.state.leases.values()].map(({ id, state }) => ({ leaseId: id, work: state === 'waiting' ? 0 : 1, kvBytes: 0 })), T0 + at);
    }
    expect(granted.get('team')).toBeGreaterThanOrEqual(58);
  });

  it('is bounded for assured tenants whose baseline tells tokens alone', () => {
    const settings = pool({ capacity: capacity({ slots: 1, tokensPerSecond: 1_000 }), tier0Baselines: { tokensPerSecond: 500, kvBytes: 0, slots: 0 }, maxWaiting: 4 });
    const scheduler = full(settings);
    const answers = fill(scheduler, 'g', 100, { pool: settings, entitlement: guaranteed('g', { tokensPerSecond: 500 }), bytes: 1_000 });
    // Two seconds of its rate, in requests of 100.
    expect(answers.filter((kind) => kind === 'waiting')).toHaveLength(10);
    expect(answers.at(-1)).toBe('queue_full');
  });
});

describe('what can never be served', () => {
  it('holds up nobody: an assured waiter whose baseline a reload took away with the capacity', () => {
    const settings = pool({ capacity: capacity({ slots: 10 }), tier0Baselines: { tokensPerSecond: 0, kvBytes: 0, slots: 8 } });
    const scheduler = full(settings);
    scheduler.ask(ask('large', { pool: settings, entitlement: guaranteed('g', { slots: 8 }), demand: { slots: 8 } }));
    const less = pool({ capacity: capacity({ slots: 4 }) });
    scheduler.tick(less, T0 + 10);
    scheduler.settle('first', 1, T0 + 20);
    expect(scheduler.ask(ask('small', { pool: less, at: 30 })).kind).toBe('dispatched');
    expect(scheduler.ask(ask('free', { pool: less, entitlement: spot('s'), at: 30 })).kind).toBe('dispatched');
    scheduler.tick(less, T0 + 5_000);
    // Nor is anything ended for it.
    expect(events(scheduler)).toEqual([]);
  });
});

describe('who does nothing for a while', () => {
  it('is not forgotten while its own rate is in debt', () => {
    const settings = pool({ capacity: capacity({ slots: 4, tokensPerSecond: 1_000 }), tier0Baselines: { tokensPerSecond: 100, kvBytes: 0, slots: 0 } });
    const scheduler = new PoolScheduler('pool');
    const lying = { pool: settings, entitlement: guaranteed('g', { tokensPerSecond: 100 }) };
    scheduler.ask(ask('little', { ...lying, demand: { work: 1 } }));
    scheduler.settle('little', 100_000, T0);
    for (let at = 0; at < 500_000; at += 10_000) scheduler.tick(settings, T0 + at);
    expect(scheduler.ask(ask('again', { ...lying, at: 500_000 }))).toMatchObject({ factors: { tier: 1 } });
    scheduler.cancel('again', T0 + 500_000);
    for (let at = 500_000; at < 1_200_000; at += 10_000) scheduler.tick(settings, T0 + at);
    expect(scheduler.state.entitlements.size).toBe(0);
  });

  it('keeps what it owes where thousands of others are made up', () => {
    const settings = pool({ capacity: capacity({ slots: 4, tokensPerSecond: 1_000_000 }), tier0Baselines: { tokensPerSecond: 100, kvBytes: 0, slots: 0 } });
    const scheduler = new PoolScheduler('pool');
    scheduler.ask(ask('little', { pool: settings, entitlement: guaranteed('g', { tokensPerSecond: 100 }), demand: { work: 1 } }));
    scheduler.settle('little', 100_000, T0);
    for (let i = 0; i < 12_000; i++) {
      scheduler.ask(ask(`lease-${i}`, { pool: settings, entitlement: elastic(`made-up-${i}`), at: 1_000 }));
      scheduler.settle(`lease-${i}`, 100, T0 + 1_000);
    }
    expect(scheduler.state.entitlements.size).toBe(10_000);
    expect(scheduler.state.entitlements.has('g')).toBe(true);
  });

  it('is not forgotten while it is far ahead of the others, for ten minutes', () => {
    const settings = pool();
    const scheduler = new PoolScheduler('pool');
    scheduler.ask(ask('little', { pool: settings, demand: { work: 1 } }));
    scheduler.settle('little', 100_000, T0);
    for (let at = 0; at < 590_000; at += 10_000) scheduler.tick(settings, T0 + at);
    expect(scheduler.state.entitlements.get('acme')?.v).toBe(10_000);
    for (let at = 590_000; at < 620_000; at += 10_000) scheduler.tick(settings, T0 + at);
    expect(scheduler.state.entitlements.size).toBe(0);
  });
});

describe('streams that nobody would end', () => {
  it('are not counted on by who waits for their room: others are ended', () => {
    const settings = pool({ capacity: capacity({ slots: 2 }), tier0Baselines: { tokensPerSecond: 0, kvBytes: 0, slots: 1 } });
    const scheduler = new PoolScheduler('pool');
    scheduler.ask(ask('enforced', { pool: settings, entitlement: spot('s') }));
    scheduler.ask(ask('shadow', { pool: settings, entitlement: spot('s'), mustRun: true }));
    scheduler.ask(ask('assured', { pool: settings, entitlement: guaranteed('g', { slots: 1 }) }));
    expect(events(scheduler)).toEqual(['end_stream enforced']);
    scheduler.settle('enforced', 10, T0);
    expect(events(scheduler)).toEqual(['granted assured']);
    scheduler.settle('shadow', 10, T0);
    expect(scheduler.snapshot(T0)).toMatchObject({ inFlight: 1, inUse: { slots: 1 } });
  });
});

describe('who has room kept for it and leaves', () => {
  const large = { entitlement: elastic('large'), demand: { slots: 4, work: 400 } };

  it('pays as if it were served, so that a pool does not stand still for it again and again', () => {
    const settings = pool();
    const scheduler = new PoolScheduler('pool');
    for (const id of ['a', 'b', 'c', 'd']) scheduler.ask(ask(id, { pool: settings }));
    scheduler.ask(ask('l0', { ...large, pool: settings }));
    scheduler.ask(ask('l1', { ...large, pool: settings }));
    scheduler.ask(ask('e', { pool: settings, entitlement: elastic('other') }));
    scheduler.settle('a', 100, T0 + 6_000);
    expect(scheduler.state.kept?.id).toBe('l0');
    scheduler.cancel('l0', T0 + 6_000);
    expect(events(scheduler)).toEqual(['granted e']);
    expect(scheduler.state.entitlements.get('large')?.v).toBeGreaterThanOrEqual(40);
  });

  it('pays nothing where it leaves before, or waited in vain', () => {
    const settings = pool();
    const scheduler = full(settings);
    scheduler.ask(ask('l0', { ...large, pool: settings }));
    scheduler.ask(ask('l1', { ...large, pool: settings }));
    const { v } = scheduler.state.entitlements.get('large')!;
    scheduler.cancel('l0', T0 + 1_000);
    scheduler.tick(settings, T0 + 10_000);
    expect(events(scheduler)).toEqual(['queue_timeout l1']);
    expect(scheduler.state.entitlements.get('large')?.v ?? v).toBe(v);
  });
});
