import { describe, expect, it } from 'vitest';
import { exportState } from '../../../../src/pool/moving.js';
import { PoolScheduler } from '../../../../src/pool/scheduler.js';
import { savedPoolOf } from '../../../../src/stores/pools/saved-pool.js';
import { ask, capacity, elastic, guaranteed, pool, spot, T0 } from '../../../conformance/pool-builders.js';

/** A pool in use by all classes, with rates, debts, and somebody who waits. */
function saved() {
  const scheduler = new PoolScheduler('pool');
  const settings = pool({ capacity: capacity({ slots: 2, tokensPerSecond: 100 }), elasticTokensPerSecond: 60 });
  const entitlements = [guaranteed('g', { slots: 1, tokensPerSecond: 30 }), elastic('e', { tokensPerSecond: 60 }), spot('s'), elastic('f')];
  for (let i = 0; i < 40; i++) {
    scheduler.ask({ ...ask(`l${i}`, { pool: settings, entitlement: entitlements[i % 4]!, at: i * 300 }) });
    if (i >= 8) scheduler.settle(`l${i - 8}`, 120, T0 + i * 300 + 100);
  }
  return exportState(scheduler, T0 + 12_000);
}

describe('what a keeper saved', () => {
  it('is read as it was written', () => {
    const state = saved();
    expect(state.entitlements.length).toBeGreaterThan(2);
    expect(savedPoolOf(JSON.stringify(state))).toEqual(state);
  });

  it.each([
    ['nothing', null],
    ['no JSON', '{"atMs":'],
    ['a list', '[]'],
    ['null', 'null'],
    ['of another shape', JSON.stringify({ version: 2, tenants: [] })],
    ['without a part', JSON.stringify({ ...saved(), rates: undefined })],
    ['with a number that is none', JSON.stringify({ ...saved(), lastV: 'x' })],
    ['with entitlements of another shape', JSON.stringify({ ...saved(), entitlements: [{ id: 'e', v: 0 }] })],
  ])('is nothing where it is %s', (_, text) => {
    expect(savedPoolOf(text)).toBeNull();
  });
});
