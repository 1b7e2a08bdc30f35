import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PoolScheduler } from '../../src/pool/scheduler.js';
import type { EntitlementState } from '../../src/pool/state.js';
import { ask, capacity, elastic, pool, T0 } from '../conformance/pool-builders.js';

const RUNS = 150;
const STEP_MS = 50;

interface Tenant {
  readonly weight: number;
  readonly most: number;
}

/** Tenants that always wait, of random weights and lengths, on random slots; streams end at random. What is seen after each step. */
function backlogged(tenants: readonly Tenant[], slots: number, picks: readonly number[], see: (entitlements: readonly EntitlementState[], pool: PoolScheduler, largest: number) => void): void {
  const settings = pool({ capacity: capacity({ slots }), maxWaiting: 10_000, maxWaitingBytes: 1e9 });
  const scheduler = new PoolScheduler('pool');
  const running: { id: string; work: number }[] = [];
  const works = new Map<string, number>();
  let ids = 0;
  const askFor = (t: number, at: number): void => {
    const { weight, most } = tenants[t]!;
    const id = `${t}:${ids++}`;
    const work = 1 + ((ids * 7_919) % most);
    works.set(id, work);
    if (scheduler.ask(ask(id, { pool: settings, entitlement: elastic(`t${t}`, {}, { classWeight: weight }), demand: { work }, maxWaitMs: 80_000_000, at })).kind === 'dispatched') running.push({ id, work });
  };
  // Held up by one that is nobody's, so that all begin together.
  scheduler.ask(ask('first', { pool: settings, entitlement: elastic('nobody'), demand: { slots } }));
  for (let t = 0; t < tenants.length; t++) for (let i = 0; i < 3; i++) askFor(t, 0);
  scheduler.settle('first', 1, T0);
  const largest = Math.max(...tenants.map(({ most }) => most));
  let at = 0;
  for (const pick of picks) {
    for (const { event } of scheduler.takeEvents()) {
      if (event.kind !== 'granted') continue;
      running.push({ id: event.leaseId, work: works.get(event.leaseId)! });
      askFor(Number(event.leaseId.split(':')[0]), at);
    }
    const states = [...scheduler.state.entitlements.values()].filter((e) => e.waiting.count > 0);
    see(states, scheduler, largest);
    at += STEP_MS;
    scheduler.renew('p1', [...scheduler.state.leases.keys()].map((leaseId) => ({ leaseId, work: running.some(({ id }) => id === leaseId) ? 1 : 0, kvBytes: 0 })), T0 + at);
    const [ended] = running.splice(pick % running.length, 1);
    // Less than expected, or all of it.
    scheduler.settle(ended!.id, pick % 3 === 0 ? Math.ceil(ended!.work / 2) : ended!.work, T0 + at);
  }
}

const tenants = fc.array(fc.record({ weight: fc.integer({ min: 1, max: 40 }), most: fc.integer({ min: 1, max: 2_000 }) }), { minLength: 2, maxLength: 6 });
const picks = fc.array(fc.nat({ max: 1_000 }), { minLength: 50, maxLength: 200 });

describe('invariant 7: fairness among those who always wait', () => {
  test('v is never further apart than the largest expected work, or what is in flight, allows', () => {
    fc.assert(
      fc.property(tenants, fc.integer({ min: 1, max: 8 }), picks, (some, slots, order) => {
        backlogged(some, slots, order, (states, { state }, largest) => {
          const v = states.map((e) => e.v);
          const least = Math.min(...states.map((e) => e.config.classWeight));
          const bound = (2 * Math.max(largest, state.bookedWork)) / least;
          if (Math.max(...v) - Math.min(...v) > bound) throw new Error(`${Math.max(...v) - Math.min(...v)} apart, ${bound} allowed`);
        });
      }),
      { numRuns: RUNS },
    );
  });
});

describe('invariant 8: debt is paid back and forgotten', () => {
  test('it falls below a hundredth of its peak within 6 τ after the shortage, whatever it was', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 500 }), fc.integer({ min: 2, max: 120 }), (baseline, shortageS) => {
        const settings = pool({ capacity: capacity({ slots: 1, tokensPerSecond: 1_000 }), elasticTokensPerSecond: baseline });
        const scheduler = new PoolScheduler('pool');
        const owed = elastic('owed', { tokensPerSecond: baseline });
        scheduler.ask(ask('x', { pool: settings }));
        scheduler.ask(ask('a', { pool: settings, entitlement: owed, maxWaitMs: 3_600_000 }));
        const debtAt = (at: number) => scheduler.snapshot(T0 + at).entitlements.find(({ id }) => id === 'owed')!.debtTokens;
        for (let s = 1; s <= shortageS; s++) scheduler.renew('p1', [{ leaseId: 'x', work: 1, kvBytes: 0 }, { leaseId: 'a', work: 0, kvBytes: 0 }], T0 + s * 1_000);
        const peak = debtAt(shortageS * 1_000);
        expect(peak).toBeGreaterThan(0);
        expect(peak).toBeLessThanOrEqual(60 * baseline);
        scheduler.settle('x', 1, T0 + shortageS * 1_000);
        scheduler.settle('a', 100, T0 + shortageS * 1_000);
        expect(debtAt(shortageS * 1_000 + 180_000)).toBeLessThan(peak / 100);
      }),
      { numRuns: 50 },
    );
  });
});
