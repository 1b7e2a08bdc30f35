import { describe, expect, it } from 'vitest';
import type { PoolRefusalReason } from '../../../src/domain/pool.js';
import type { PolicyHost, SimPolicy } from '../../../src/sim/policy.js';
import { fcfsPolicy } from '../../../src/sim/policy-fcfs.js';
import { staticPolicy } from '../../../src/sim/policy-static.js';
import { TokenweirPolicy } from '../../../src/sim/policy-tokenweir.js';
import { vtcPolicy } from '../../../src/sim/policy-vtc.js';
import { SimRequest } from '../../../src/sim/request.js';
import { poolOf, type PoolGiven } from '../../sim/pool-of.js';

/** Plays the simulation for one policy. */
class Played implements PolicyHost {
  readonly dispatched: string[] = [];
  readonly refused: [string, PoolRefusalReason, number][] = [];
  readonly ended: string[] = [];
  readonly #pool;
  readonly #policy: SimPolicy;
  #count = 0;

  constructor(given: PoolGiven, create: (pool: ReturnType<typeof poolOf>, host: PolicyHost) => SimPolicy) {
    this.#pool = poolOf(given);
    this.#policy = create(this.#pool, this);
    this.#policy.configure(this.#pool.settings, 0);
  }

  ask(tenant: string, nowMs: number, work = 100, more: { kvBytes?: number; maxWaitMs?: number; bytes?: number; promptTokens?: number } = {}): SimRequest {
    const { kvBytes = 0, maxWaitMs = 10_000, bytes = 10, promptTokens = 0 } = more;
    const lengths = { promptTokens, cachedTokens: 0, outputTokens: work, capTokens: null, serviceMs: 1000 };
    const request = new SimRequest({ index: this.#count++, tenant: 0, entitlement: this.#pool.entitlementOf(tenant), work: 'interactive', maxWaitMs, bytes, client: -1, ...lengths }, 1, nowMs, nowMs);
    Object.assign(request, { expectedWork: work, trueWork: work, kvBytes });
    this.#policy.ask(request, nowMs);
    return request;
  }

  end(request: SimRequest, nowMs: number, work = request.trueWork): void {
    request.state = 'over';
    this.#policy.settle(request, work, nowMs);
  }

  get policy(): SimPolicy {
    return this.#policy;
  }

  dispatch(request: SimRequest): void {
    request.state = 'running';
    this.dispatched.push(`${request.parts.entitlement.id}${request.index}`);
  }

  refuse(request: SimRequest, reason: PoolRefusalReason, neededWaitMs: number): void {
    request.state = 'over';
    this.refused.push([`${request.parts.entitlement.id}${request.index}`, reason, neededWaitMs]);
  }

  endStream(request: SimRequest): void {
    this.ended.push(`${request.parts.entitlement.id}${request.index}`);
  }

  workOf(request: SimRequest): number {
    return request.made;
  }
}

const ENTITLEMENTS = [{ id: 'a', serviceClass: 'elastic' }, { id: 'b', serviceClass: 'elastic' }] as const;
const ONE_SLOT: PoolGiven = { capacity: { slots: 1 }, entitlements: ENTITLEMENTS };

describe('first come first served', () => {
  const played = (given: PoolGiven): Played => new Played(given, (pool, host) => fcfsPolicy(pool.settings, host));

  it('serves in order of coming, within slots', () => {
    const run = played(ONE_SLOT);
    const first = run.ask('a', 0);
    run.ask('a', 1);
    const third = run.ask('b', 2);
    expect([run.dispatched, run.policy.waiting]).toEqual([['a0'], 2]);
    run.policy.leave(third, 3);
    run.end(first, 10);
    expect([run.dispatched, run.policy.waiting]).toEqual([['a0', 'a1'], 0]);
  });

  it('lets nobody pass one that does not fit', () => {
    const run = played({ capacity: { slots: 4, kvBytes: 100 }, entitlements: ENTITLEMENTS });
    const large = run.ask('a', 0, 1, { kvBytes: 60 });
    run.ask('a', 1, 1, { kvBytes: 60 });
    run.ask('b', 2, 1, { kvBytes: 10 });
    expect(run.dispatched).toEqual(['a0']);
    run.end(large, 3);
    expect(run.dispatched).toEqual(['a0', 'a1', 'b2']);
  });

  it('refuses as the pool does: no wait allowed, too many waiting, too long, never fits', () => {
    const run = played({ ...ONE_SLOT, capacity: { slots: 1, kvBytes: 100 }, maxWaiting: 1 });
    run.ask('a', 0);
    run.ask('a', 0, 1, { maxWaitMs: 0 });
    run.ask('a', 0, 1, { maxWaitMs: 5000 });
    run.ask('a', 0);
    run.ask('a', 0, 1, { kvBytes: 101 });
    expect(run.policy.nextAtMs).toBe(5000);
    run.policy.tick(5000);
    expect(run.refused.map(([id, reason]) => [id, reason])).toEqual([['a1', 'pool_busy'], ['a3', 'queue_full'], ['a4', 'pool_too_small'], ['a2', 'queue_timeout']]);
    expect(run.refused.filter(([, reason]) => reason !== 'pool_too_small').every(([, , waitMs]) => waitMs >= 1000)).toBe(true);
  });

  it('holds the rate of the pool, and gives back what was estimated too high', () => {
    const run = played({ capacity: { tokensPerSecond: 100 }, burstSeconds: 1, entitlements: ENTITLEMENTS });
    const first = run.ask('a', 0, 100);
    run.ask('a', 0, 50);
    expect(run.policy.nextAtMs).toBeCloseTo(500, 0);
    run.end(first, 100, 90);
    run.policy.tick(390);
    expect(run.dispatched).toHaveLength(1);
    run.policy.tick(401);
    expect(run.dispatched).toHaveLength(2);
  });

  it('follows the capacity', () => {
    const run = played(ONE_SLOT);
    [0, 1, 2].forEach((at) => run.ask('a', at));
    run.policy.configure(poolOf({ ...ONE_SLOT, capacity: { slots: 3 } }).settings, 5);
    expect(run.dispatched).toHaveLength(3);
  });
});

describe('virtual token counters', () => {
  const played = (given: PoolGiven): Played => new Played({ prefillWeight: 1, ...given }, (pool, host) => vtcPolicy(pool.settings, host, pool.prefillWeight));

  it('serve the client that had least, by tokens and not by requests', () => {
    const order = serveAll(played(ONE_SLOT), [{ id: 'a', work: 1000 }, ...many(3, { id: 'a', work: 300 }), ...many(6, { id: 'b', work: 100 })]);
    expect(order.join('')).toBe('abbbbbbaaa');
  });

  it('count a prompt when its request is dispatched, output as it is made', () => {
    const run = played({ ...ONE_SLOT, capacity: { slots: 3 } });
    const long = run.ask('a', 0, 500, { promptTokens: 200 });
    const other = run.ask('b', 0, 100, { promptTokens: 250 });
    const third = run.ask('b', 0, 100);
    run.ask('a', 1);
    run.ask('b', 1);
    run.end(third, 10, 0);
    // a: 200; b: 250.
    expect(run.dispatched.at(-1)).toBe('a3');
    long.made = 400;
    run.policy.renew(0, new Set([long]), 20);
    run.ask('a', 21);
    run.end(other, 30, 350);
    // a: 400; b: 350.
    expect(run.dispatched.at(-1)).toBe('b4');
  });

  it('lift who comes back to the smallest counter of those that wait: idle time is no credit', () => {
    const order = serveAll(played(ONE_SLOT), [...many(12, { id: 'a', work: 100 }), ...many(6, { id: 'b', work: 100, atMs: 500 })]);
    // b comes when a had five: they take turns from then on.
    expect(order.slice(6, 16).filter((id) => id === 'b').length).toBe(5);
  });
});

interface Asked {
  readonly id: string;
  readonly work: number;
  readonly atMs?: number;
}

function many(count: number, asked: Asked): Asked[] {
  return Array.from({ length: count }, () => asked);
}

/** Serves one after the other, 100 ms each. @returns in which order. */
function serveAll(run: Played, asks: readonly Asked[]): string[] {
  const requests: SimRequest[] = [];
  for (let now = 0; now < 10_000; now += 100) {
    for (const { id, work } of asks.filter(({ atMs = 0 }) => atMs === now)) requests.push(run.ask(id, now, work));
    const running = requests.find(({ state }) => state === 'running');
    if (running !== undefined) run.end(running, now);
  }
  return run.dispatched.map((id) => id[0]!);
}

describe('static limits', () => {
  const played = (given: PoolGiven): Played => new Played(given, (pool, host) => staticPolicy(pool.settings, ['a', 'b', 's', 't'].map((id) => pool.entitlementOf(id)), host));

  it('are the baselines, whatever the others do; without one, an even part of the rest', () => {
    const run = played({
      capacity: { slots: 10 },
      entitlements: [{ id: 'a', serviceClass: 'guaranteed', baseline: { slots: 4 } }, { id: 'b', serviceClass: 'elastic', baseline: { slots: 2 } }],
    });
    for (const tenant of ['a', 'b', 's', 't']) for (let i = 0; i < 6; i++) run.ask(tenant, 0);
    const count = (tenant: string): number => run.dispatched.filter((id) => id.startsWith(tenant)).length;
    expect(['a', 'b', 's', 't'].map(count)).toEqual([4, 2, 2, 2]);
    expect(run.refused.every(([, reason]) => reason === 'pool_busy')).toBe(true);
  });

  it('are rates where baselines are rates, with the wait that is needed', () => {
    const run = played({ capacity: { tokensPerSecond: 1000 }, burstSeconds: 2, entitlements: [{ id: 'a', serviceClass: 'guaranteed', baseline: { tokensPerSecond: 100 } }] });
    const first = run.ask('a', 0, 150);
    run.ask('a', 0, 150);
    expect(run.refused).toEqual([['a1', 'pool_busy', 1000]]);
    run.end(first, 0, 400);
    run.ask('a', 1000, 50);
    expect(run.refused[1]![2]).toBeCloseTo(1500, 0);
  });
});

describe('tokenweir', () => {
  it('is the scheduler itself: waiters are granted, refused at their deadline, and ended for others', () => {
    const given: PoolGiven = {
      capacity: { slots: 1 },
      entitlements: [{ id: 'g', serviceClass: 'guaranteed', baseline: { slots: 1 } }, { id: 'e', serviceClass: 'elastic', preemptible: true }],
      reclaimMs: 1000,
    };
    const run = new Played(given, (pool, host) => new TokenweirPolicy(pool.settings, pool.kvBytesPerToken, host));
    const borrowed = run.ask('e', 0.4);
    run.ask('e', 10.9, 100, { maxWaitMs: 500 });
    run.ask('g', 20.2);
    expect([run.dispatched, run.policy.waiting]).toEqual([['e0'], 2]);
    for (let now = run.policy.nextAtMs; now <= 2000 && now < Infinity; now = run.policy.nextAtMs) run.policy.tick(now);
    expect(run.refused.map(([id, reason]) => [id, reason])).toEqual([['e1', 'queue_timeout']]);
    expect(run.ended).toEqual(['e0']);
    run.end(borrowed, 2001);
    expect([run.dispatched, run.policy.waiting]).toEqual([['e0', 'g2'], 0]);
    expect(run.policy.snapshot(2001)!.inFlight).toBe(1);
  });
});
