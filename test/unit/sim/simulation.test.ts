import { describe, expect, it } from 'vitest';
import type { SimRequest } from '../../../src/sim/request.js';
import { runSimulation } from '../../../src/sim/simulation.js';
import { POLICIES, type SimSpec } from '../../../src/sim/spec.js';
import { reportJson } from '../../../src/sim/report-json.js';
import { specOf, type SpecGiven } from './spec-of.js';

/** A pool that is asked for more than it has by tenants of all kinds, with all that can happen to it. */
const BUSY: SpecGiven = {
  durationMs: 120_000,
  nodes: 2,
  node: { kind: 'batching', slots: 8, kvTokens: 6000, blockTokens: 16, prefillTokensPerSecond: 4000, maxBatchedTokens: 512, stepMs: 10, perSequenceMs: 1, perKvTokenMs: 0.001 },
  processors: [
    { expected: 'learned', reserved: 'p95', reservedFactor: 1, bias: 1.2, errorSigma: 0.3, unknownOutputTokens: 200 },
    { expected: 'learned', reserved: 'cap', reservedFactor: 0.3, bias: 0.8, errorSigma: 0.3, unknownOutputTokens: 200 },
  ],
  pool: {
    ...{ capacity: { slots: 16, kvBytes: 11_000, tokensPerSecond: 900 }, kvBytesPerToken: 1, prefillWeight: 0.2, maxWaiting: 40, holdMs: { interactive: 8000 } },
    entitlements: [
      { id: 'g', serviceClass: 'guaranteed', baseline: { slots: 6, kvBytes: 4000, tokensPerSecond: 300 } },
      { id: 'e', serviceClass: 'elastic', baseline: { tokensPerSecond: 200 }, preemptible: true },
      { id: 's', serviceClass: 'spot' },
    ],
  },
  tenants: [
    { id: 'g', arrivals: { kind: 'bursts', onPerSecond: 6, offPerSecond: 1, onSeconds: 5, offSeconds: 10 }, output: { kind: 'lognormal', median: 100, sigma: 0.7, max: 800 } },
    { id: 'e', arrivals: { kind: 'poisson', perSecond: 4 }, prompt: { kind: 'lognormal', median: 300, sigma: 1, max: 3000 }, capTokens: 300, retry: { attempts: 3, obeysRetryAfter: false, afterMs: 100 }, patienceMs: 6000 },
    { id: 's', arrivals: { kind: 'closed', clients: 10, thinkSeconds: 0.5 }, retry: { attempts: 2, obeysRetryAfter: true, afterMs: 100 } },
    { id: 'late', entitlement: 'e', arrivals: { kind: 'poisson', perSecond: 1 }, fromMs: 40_000, untilMs: 80_000 },
  ],
  changes: [
    { kind: 'lost', atMs: 50_000, node: 1 },
    { kind: 'slots', atMs: 80_000, node: 1, slots: 8 },
    { kind: 'told', atMs: 90_000, factor: 0.5 },
  ],
  pressure: { kvHigh: 0.8, kvLow: 0.6, kvCritical: 0.97 },
};

describe.each(POLICIES)('a run with policy %s', (policy) => {
  it('is the same for the same seed, and another for another', () => {
    const report = (seed: number): string => reportJson([runSimulation(specOf({ ...BUSY, policy, seed }))]);
    expect(report(3)).toBe(report(3));
    expect(report(4)).not.toBe(report(3));
  });

  it('ends every attempt exactly once, and counts each', () => {
    const ended = new Map<string, SimRequest>();
    const result = runSimulation(specOf({ ...BUSY, policy, observer: { ended: (request) => void ended.set(noted(ended, request).leaseId, request) } }));
    expect(result.pool.unfinished).toBe(0);
    for (const [i, tenant] of result.tenants.entries()) {
      const own = [...ended.values()].filter(({ parts }) => parts.tenant === i);
      const refused = Object.values(tenant.refusals).reduce((sum, count) => sum + count, 0);
      expect(own.length).toBe(tenant.attempts);
      expect(tenant.finished + refused + tenant.left + tenant.lost + tenant.endedStreams).toBe(tenant.attempts);
      expect(tenant.requests).toBeGreaterThan(10);
      expect(own.filter(({ endedWhy }) => endedWhy === 'finished').every((one) => one.firstTokenMs <= one.endedMs && one.dispatchedMs <= one.firstTokenMs)).toBe(true);
    }
  });
});

function noted(ended: ReadonlyMap<string, SimRequest>, request: SimRequest): SimRequest {
  if (ended.has(request.leaseId)) throw new Error(`${request.leaseId} ended twice`);
  return request;
}

describe('a run', () => {
  it('gives the same requests to every policy: times and lengths of open arrivals', () => {
    const asked = (policy: SimSpec['policy']): string[] => {
      const all: string[] = [];
      const tenants = BUSY.tenants.filter(({ id }) => id === 'g' || id === 'e').map((tenant) => ({ ...tenant, retry: undefined }));
      const ended = (one: SimRequest): void => void all.push(`${one.parts.tenant} ${one.askedMs.toFixed(3)} ${one.promptTokens} ${one.outputTokens}`);
      runSimulation(specOf({ ...BUSY, tenants, policy, observer: { ended } }));
      return all.sort();
    };
    const first = asked('tokenweir');
    expect(first.length).toBeGreaterThan(500);
    for (const policy of ['fcfs', 'vtc', 'static', 'none'] as const) expect(asked(policy)).toEqual(first);
  });

  it('measures what happens: one request a second on a free pool', () => {
    const { pool, tenants } = runSimulation(specOf({ tenants: [{ id: 'a' }] }));
    expect(tenants[0]).toMatchObject({ requests: 59, finished: 59, sloShare: 1, latencyMs: { p50: 1000, p99: 1000 }, ttftMs: { p99: 0 }, waitMs: { p99: 0 }, share: 1 });
    expect(pool.utilisation).toBeCloseTo(59 / 120, 1);
    expect(pool.offeredPerSecond).toBeCloseTo(98.3, 0);
    expect(pool.capacityPerSecond).toBe(200);
  });

  it('measures what happens: three requests a second on room for two, which wait 30 s at most', () => {
    const { pool, tenants } = runSimulation(specOf({ durationMs: 300_000, tenants: [{ id: 'a', arrivals: { kind: 'regular', perSecond: 3 } }] }));
    expect(pool.utilisation).toBeGreaterThan(0.99);
    expect(tenants[0]!.waitMs.p99).toBeCloseTo(30_000, -3);
    expect(tenants[0]!.finished + tenants[0]!.refusals.queue_timeout).toBe(tenants[0]!.requests);
    expect(tenants[0]!.refusals.queue_timeout).toBeGreaterThan(200);
    expect(pool.servedPerSecond).toBeCloseTo(200, -1);
    expect(pool.goodputPerSecond).toBeLessThan(20);
  });

  it('does not count what comes before the warm-up is over', () => {
    const { tenants } = runSimulation(specOf({ warmupMs: 30_000, tenants: [{ id: 'a' }] }));
    expect(tenants[0]).toMatchObject({ requests: 30, finished: 30, servedPerSecond: expect.closeTo(100, -1) });
  });

  it('clients that obey Retry-After come back no sooner; those that ignore it do, again and again', () => {
    const gaps = (obeysRetryAfter: boolean): number[] => {
      const last = new Map<number, SimRequest>();
      const all: number[] = [];
      const ended = (request: SimRequest): void => {
        const before = last.get(request.index);
        if (before !== undefined) all.push(request.askedMs - before.endedMs - (obeysRetryAfter ? before.neededWaitMs : 0));
        last.set(request.index, request);
      };
      const tenants = [{ id: 'a', arrivals: { kind: 'regular', perSecond: 5 }, maxWaitMs: 0, retry: { attempts: 4, obeysRetryAfter, afterMs: 100 } } as const];
      runSimulation(specOf({ tenants, observer: { ended } }));
      return all;
    };
    expect(Math.min(...gaps(true))).toBeGreaterThanOrEqual(0);
    expect(new Set(gaps(false).map((gap) => Math.round(gap)))).toEqual(new Set([100, 200, 400]));
  });

  it('closed clients have one request at a time', () => {
    const { tenants, pool } = runSimulation(specOf({ tenants: [{ id: 'a', arrivals: { kind: 'closed', clients: 2, thinkSeconds: 0 } }] }));
    expect(tenants[0]!.waitMs.p99).toBe(0);
    expect(pool.utilisation).toBeGreaterThan(0.97);
  });

  it('a lost node takes its requests with it, and its part of the capacity until it is back', () => {
    const changes: SimSpec['changes'] = [{ kind: 'lost', atMs: 20_500, node: 0 }, { kind: 'slots', atMs: 40_000, node: 0, slots: 1 }];
    const slots: number[] = [];
    const node = { kind: 'constant', slots: 1, serviceMs: 1000, firstTokenMs: 0 } as const;
    const tenants = [{ id: 'a', arrivals: { kind: 'closed', clients: 4, thinkSeconds: 0 } } as const];
    const result = runSimulation(specOf({ tenants, nodes: 2, node, changes, sampleMs: 1000, observer: { sampled: (_, now) => void slots.push(now.slots) } }));
    expect(result.tenants[0]!.lost).toBe(1);
    expect([slots[19], slots[25], slots[45]]).toEqual([2, 1, 2]);
  });

  it('patience ends: at the gate and in the engine’s queue, not with a first token', () => {
    const tenants = [{ id: 'a', arrivals: { kind: 'regular', perSecond: 4 }, patienceMs: 3000 } as const];
    for (const policy of ['fcfs', 'none', 'tokenweir'] as const) {
      const [tenant] = runSimulation(specOf({ policy, tenants })).tenants;
      expect(tenant!.left).toBeGreaterThan(80);
      expect(tenant!.ttftMs.p99).toBeLessThanOrEqual(3000);
      expect(tenant!.left + tenant!.finished).toBe(tenant!.requests);
    }
  });

  it('a scaler that obeys the queue adds nodes after their start-up time, and takes them away again', () => {
    const nodes: number[] = [];
    const scaler: SimSpec['scaler'] = { everyMs: 5000, startUpMs: 20_000, minNodes: 1, maxNodes: 4, wanted: ({ nodes: n, waiting, utilisation }) => (waiting > 0 ? n + 1 : utilisation < 0.3 ? n - 1 : n) };
    const tenants = [{ id: 'a', arrivals: { kind: 'regular', perSecond: 5 }, untilMs: 120_000 } as const];
    runSimulation(specOf({ policy: 'tokenweir', durationMs: 200_000, tenants, scaler, observer: { sampled: (_, { slots }) => void nodes.push(slots / 2) } }));
    expect(nodes.slice(0, 20).every((n) => n === 1)).toBe(true);
    expect(Math.max(...nodes)).toBeGreaterThanOrEqual(3);
    expect(nodes[199]).toBe(1);
  });

  it('judges pressure from the engine’s memory', () => {
    const levels = new Set<string>();
    const refused = new Set<string>();
    const { pool, ...given } = BUSY;
    runSimulation(
      specOf({
        ...given,
        policy: 'tokenweir',
        pool: { ...pool!, capacity: { slots: 16 } },
        pressure: { kvHigh: 0.3, kvLow: 0.2, kvCritical: 0.5 },
        observer: { sampled: (snapshot) => void levels.add(snapshot!.pressure), refused: (request, reason) => void refused.add(`${request.parts.entitlement.id} ${reason}`) },
      }),
    );
    expect([...levels].sort()).toEqual(['critical', 'elevated', 'normal']);
    expect(refused.has('s pool_busy')).toBe(true);
  });
});
