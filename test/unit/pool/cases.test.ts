import { describe, expect, test } from 'vitest';
import { PoolScheduler } from '../../../src/pool/scheduler.js';
import { ask, capacity, elastic, pool, T0 } from '../../conformance/pool-builders.js';
import { handedCase } from '../../support/handed.js';
import { playArrivals, type Arrival } from './one-server.js';

/** Numbers of a case's input, where they are laid out as they are used. */
interface Served {
  readonly capacity: { readonly concurrent: number; readonly service_s: number };
}

describe('handed cases of fairness and priority', () => {
  handedCase('llm-d/llm-d-router#1995', ({ input, expected }) => {
    const { capacity: has, classes, run_s } = input as unknown as Served & { classes: Record<string, { weight: number; arrivals_per_s: number }>; run_s: number };
    const arrivals = Object.entries(classes).flatMap(([name, { weight, arrivals_per_s }]) =>
      Array.from({ length: run_s * arrivals_per_s }, (_, i): Arrival => ({
        ...{ id: `${name}-${i}`, at: Math.floor((i * 1_000) / arrivals_per_s), serviceMs: has.service_s * 1_000 },
        ...{ entitlement: elastic(name, {}, { classWeight: weight }), maxWaitMs: 30_000 },
      })),
    );
    const settings = pool({ capacity: capacity({ slots: has.concurrent }), maxWaiting: 10_000, maxWaitingBytes: 1e9 });
    const served = playArrivals(settings, arrivals, run_s * 1_000).filter(({ what }) => what === 'served');
    const low = served.filter(({ id }) => id.startsWith('low')).length;
    expect(low).toBeGreaterThanOrEqual(expected['low_served_min'] as number);
    // By weight 26 of 240 are due to it.
    expect(low).toBeGreaterThan(22);
    expect(1 - low / served.length).toBeGreaterThanOrEqual(expected['high_share_min'] as number);
  });

  handedCase('BerriAI/litellm#18953', ({ expected }) => {
    // Nothing but one tenant without an entitlement: nobody holds a share back, however much it spends.
    const settings = pool({ capacity: capacity({ tokensPerSecond: 1_000 }), burstSeconds: 1 });
    const arrivals = Array.from({ length: 99 }, (_, i): Arrival => ({ id: `a-${i}`, at: i * 600, serviceMs: 500, demand: { work: 100 }, maxWaitMs: 0 }));
    const refused = playArrivals(settings, arrivals, 60_000).filter(({ what }) => what === 'refused');
    expect(refused).toHaveLength(expected['rejections'] as number);
  });

  handedCase('BerriAI/litellm#14832', ({ input, expected }) => {
    const { reservations } = input as unknown as { reservations: Record<string, number> };
    const named = Object.entries(reservations).map(([name, share]) => elastic(name, {}, { classWeight: share * 100 }));
    // Without an entitlement of its own a tenant has the lowest class configured, and no baseline.
    const lowest = Math.min(...named.map(({ classWeight }) => classWeight));
    const tenants = [...named, elastic('unlabelled', {}, { classWeight: lowest })];
    const arrivals = tenants.flatMap((entitlement) =>
      Array.from({ length: 400 }, (_, i): Arrival => ({ id: `${entitlement.id}-${i}`, at: i * 10, serviceMs: 100, entitlement, maxWaitMs: 600_000 })),
    );
    const settings = pool({ capacity: capacity({ slots: 1 }), maxWaiting: 10_000, maxWaitingBytes: 1e9 });
    const served = playArrivals(settings, arrivals, 40_000).filter(({ what }) => what === 'served');
    const of = (name: string) => served.filter(({ id }) => id.startsWith(name)).length;
    expect(expected['unlabelled_share_max']).toBe('share of the lowest configured class');
    expect(of('unlabelled')).toBeLessThanOrEqual(of('dev') + 1);
    expect(of('unlabelled')).toBeGreaterThan(0);
    expect(of('prod')).toBeGreaterThan(7 * of('dev'));
  });

  handedCase('inference-sim/inference-sim#890', ({ input, expected }) => {
    const { capacity: has } = input as unknown as Served;
    const serviceMs = has.service_s * 1_000;
    const queue = (tenant: string, count: number, at: number, work = 100): Arrival[] =>
      Array.from({ length: count }, (_, i) => ({ id: `${tenant}-${work}-${i}`, at, serviceMs, entitlement: elastic(tenant), demand: { work }, maxWaitMs: 600_000 }));
    const arrivals = [...queue('a', 100, 0), ...queue('b', 2, 100), ...queue('c', 1, 100, 5_000), ...queue('c', 5, 100)];
    const settings = pool({ capacity: capacity({ slots: has.concurrent }), maxWaiting: 1_000 });
    const served = playArrivals(settings, arrivals, 120_000);
    const ends = (prefix: string) => served.filter(({ id }) => id.startsWith(prefix)).map(({ at }) => (at + serviceMs) / 1_000);
    expect(ends('b')[0]).toBeLessThan(expected['b_first_served_before_s'] as number);
    expect(ends('b')[1]).toBeLessThan(expected['b_both_served_before_s'] as number);
    // Tokens count: after its large one c waits until a was served as much.
    expect(expected['token_share_is_fair']).toBe('counts tokens, not requests');
    const largeAt = served.find(({ id }) => id === 'c-5000-0')!.at;
    const nextOfC = served.find(({ id }) => id === 'c-100-0')!.at;
    const ofA = served.filter(({ id, at }) => id.startsWith('a') && at > largeAt && at < nextOfC).length;
    expect(ofA).toBeGreaterThanOrEqual(45);
  });

  handedCase('vllm-project/vllm-ascend#10812', ({ expected }) => {
    const settings = pool({ capacity: capacity({ slots: 1, kvBytes: 1_000 }) });
    const scheduler = new PoolScheduler('pool');
    const demand = { kvBytes: 600 };
    scheduler.ask(ask('other', { pool: settings, demand }));
    // Held, and left while it was held.
    scheduler.ask(ask('held', { pool: settings, demand }));
    expect(scheduler.cancel('held', T0 + 10)).toBe('ended');
    // Held, let go, and left before the response began.
    scheduler.ask(ask('admitted', { pool: settings, demand, at: 20 }));
    scheduler.settle('other', 100, T0 + 30);
    expect(scheduler.takeEvents()).toMatchObject([{ event: { kind: 'granted', leaseId: 'admitted' } }]);
    expect(scheduler.cancel('admitted', T0 + 40)).toBe('ended');
    const { inFlight, waiting, waitingBytes, inUse } = scheduler.snapshot(T0 + 40);
    expect(inFlight).toBe(expected['in_flight']);
    expect(waiting).toBe(expected['queue_length']);
    expect(inUse.kvBytes).toBe(expected['reserved_tokens']);
    expect(waitingBytes).toBe(0);
    expect(scheduler.takeEvents()).toEqual([]);
  });
});

test('a grant and the leaving of its client at the same moment end it once, in either order', () => {
  const settings = pool({ capacity: capacity({ slots: 1 }) });
  for (const first of ['settle', 'cancel'] as const) {
    const scheduler = new PoolScheduler('pool');
    scheduler.ask(ask('a', { pool: settings }));
    scheduler.ask(ask('b', { pool: settings }));
    if (first === 'settle') scheduler.settle('a', 100, T0);
    expect(scheduler.cancel('b', T0)).toBe('ended');
    if (first === 'cancel') scheduler.settle('a', 100, T0);
    expect(scheduler.cancel('b', T0)).toBe('already_ended');
    expect(scheduler.snapshot(T0)).toMatchObject({ inFlight: 0, waiting: 0 });
  }
});
