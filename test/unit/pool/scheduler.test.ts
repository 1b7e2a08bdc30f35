import { expect, test } from 'vitest';
import { PoolScheduler } from '../../../src/pool/scheduler.js';
import { UNBOUNDED, type PoolAsk } from '../../../src/domain/pool.js';

test('smoke', () => {
  const s = new PoolScheduler('p');
  const none = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };
  const ask = (leaseId: string, id: string, nowMs: number, cls: 'elastic' | 'guaranteed' | 'spot' = 'elastic', slots: number | null = null): PoolAsk => ({
    leaseId, owner: 'o', pool: { id: 'p', capacity: { ...UNBOUNDED, slots: 2 }, burstSeconds: 5, tier0Baselines: none, elasticTokensPerSecond: 0, lentToNone: none, lentToSpot: none, maxWaiting: 10, maxWaitingBytes: 1e6, reclaimMs: 1000, pressure: 'normal' },
    entitlement: { id, serviceClass: cls, baseline: { ...UNBOUNDED, slots }, classWeight: 10, sloMs: 2000, lend: 'all', preemptible: cls === 'spot' }, demand: { work: 100, kvBytes: 0, slots: 1 }, work: 'interactive', bytes: 10, maxWaitMs: 10000, nowMs,
  });
  expect(s.ask(ask('a', 'x', 1000)).kind).toBe('dispatched');
  expect(s.ask(ask('sp', 's', 1000, 'spot')).kind).toBe('dispatched');
  expect(s.ask(ask('b', 'x', 1000)).kind).toBe('waiting');
  expect(s.ask(ask('g', 'g', 1000, 'guaranteed', 1)).kind).toBe('waiting');
  expect(s.takeEvents()).toMatchObject([{ event: { kind: 'end_stream', leaseId: 'sp' } }]);
  expect(s.settle('sp', 50, 1100)).toBe('ended');
  expect(s.takeEvents()).toMatchObject([{ event: { kind: 'granted', leaseId: 'g' } }]);
  expect(s.settle('a', 50, 1100)).toBe('ended');
  expect(s.takeEvents()).toMatchObject([{ event: { kind: 'granted', leaseId: 'b', waitedMs: 100 } }]);
  expect(s.nextAtMs(1100)).toBe(3100);
  s.tick(ask('q', 'q', 0).pool, 12_000);
  expect(s.snapshot(12_000)).toMatchObject({ inFlight: 2 });
});
