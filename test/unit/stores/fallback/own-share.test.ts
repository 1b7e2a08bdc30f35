import { expect, test } from 'vitest';
import { KnownLevels } from '../../../../src/stores/fallback/known-levels.js';
import { OwnLeases } from '../../../../src/stores/fallback/own-leases.js';
import { OwnShare, ownTokens } from '../../../../src/stores/fallback/own-share.js';
import { charge, request } from '../../../conformance/store-builders.js';

const T0 = 1_800_000_000_000;

test('buckets that are full again are forgotten, whatever number of tenants comes', () => {
  const share = new OwnShare({ levels: new KnownLevels(), leases: new OwnLeases() });
  share.begin(2, T0);
  for (let i = 0; i < 5_000; i++) {
    const tenantId = `t${i}`;
    share.reserve(request(`l${i}`, 0, [charge('requests', { tenantId, limit: 600 })], [], tenantId), T0 + i * 10);
    share.end(`l${i}`, null, T0 + i * 10);
  }
  expect(share.size).toBeLessThan(50);
});

test('levels of buckets first heard of longest ago give way', () => {
  const levels = new KnownLevels();
  const level = (key: string) => ({ key, tenantId: 't', dimension: 'requests' as const, limit: 1, capacity: 10, remaining: 4, resetMs: 0 });
  for (let i = 0; i < 50_001; i++) levels.learn([level(`k${i}`)], T0);
  const missing = (key: string) => levels.deficitUnits({ ...level(key), countCachedInput: true }, T0);
  expect([missing('k0'), missing('k1'), missing('k50000')]).toEqual([0, 360_000, 360_000]);
});

test.each([
  ['the store has what was missing before: only the outage itself is charged', 300, 100, 100, 100],
  ['the store was lost, and is full: all that is missing is charged', 300, 100, 0, 150],
  ['others have charged their part already: that takes nothing from this one', 300, 100, 250, 100],
  ['all is refilled: nothing', 0, 0, 0, 0],
])('%s', (_, missing, without, store, tokens) => {
  const spec = charge('tokens', { limit: 1 });
  const units = 60_000;
  expect(ownTokens({ spec, deficitUnits: missing * units, withoutUnits: without * units }, store * units, 2)).toBe(tokens);
});
