import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load.js';
import type { PoolPolicy } from '../../src/domain/policy.js';

const TENANTS = ['a', 'b', 'c', 'd', 'e'];
const amount = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: null });
const serviceClass = fc.constantFrom('dedicated', 'guaranteed', 'elastic', 'spot');
const lend = fc.constantFrom('all', 'spot', 'none');

const own = fc.record({ tokensPerSecond: amount(1_000_000_000), kvBytes: amount(1024 ** 5), slots: amount(1_000_000) });
const limits = fc.record({ requestsPerMinute: amount(1_000_000_000), tokensPerMinute: amount(1_000_000_000) });

/** Baselines are shares of the capacity in 60ths, now and then with all of it given away, or too much. */
function document(capacity: fc.Arbitrary<Record<string, number | null>>, kind: 'self-hosted' | 'provider') {
  const wanted = fc.record({ serviceClass, lend, share: fc.integer({ min: 1, max: 30 }), says: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }) });
  return fc.tuple(capacity, fc.array(wanted, { maxLength: TENANTS.length })).map(([given, entitlements]) => ({
    tenants: TENANTS.map((id) => ({ id })),
    pools: [{ id: 'p', kind, models: ['*'], ...(kind === 'provider' ? { limits: given } : { capacity: given, kvBytesPerToken: 1 }) }],
    entitlements: entitlements.map((entitlement, i) => ({
      tenant: TENANTS[i], pool: 'p', class: entitlement.serviceClass, lend: entitlement.lend,
      baseline: entitlement.serviceClass === 'spot' ? {} : baselineOf(given, entitlement.share, entitlement.says),
    })),
  }));
}

function baselineOf(capacity: Record<string, number | null>, share: number, says: readonly boolean[]): Record<string, number> {
  const fields = Object.entries(capacity).flatMap(([field, whole], i) => (whole === null || says[i] !== true ? [] : [[field, Math.max(1, Math.floor((whole * share) / 60))] as const]));
  return Object.fromEntries(fields);
}

/** Nothing that an entitlement is assured of is more than there is. */
function expectFits({ settings: { capacity, tier0Baselines } }: PoolPolicy): void {
  for (const dimension of ['tokensPerSecond', 'kvBytes', 'slots'] as const) {
    expect(tier0Baselines[dimension]).toBeLessThanOrEqual(capacity[dimension] ?? (dimension === 'tokensPerSecond' ? 0 : Infinity));
  }
}

test.each(['self-hosted', 'provider'] as const)('any document that loads assures at most what a %s pool has, and sums what its entitlements hold', (kind) => {
  let loaded = 0;
  fc.assert(
    fc.property(document(kind === 'provider' ? limits : own, kind), (given) => {
      const result = parseConfig(JSON.stringify(given), 'c.yaml');
      if (!result.ok) {
        expect(result.problems.map(({ message }) => message).join()).toMatch(/sum to|needs a baseline|needs tokensPerMinute/);
        return;
      }
      loaded++;
      const pool = result.config.policy.pools[0]!;
      expectFits(pool);
      const held = [...pool.entitlements.values()].filter((one) => one.serviceClass === 'dedicated' || one.serviceClass === 'guaranteed');
      expect(pool.settings.tier0Baselines.slots).toBe(held.reduce((sum, { baseline }) => sum + (baseline.slots ?? 0), 0));
      expect(pool.settings.tier0Baselines.tokensPerSecond).toBeCloseTo(held.reduce((sum, { baseline }) => sum + (baseline.tokensPerSecond ?? 0), 0), 3);
      for (const { baseline } of held) expect(Object.values(baseline).some((one) => one !== null)).toBe(true);
    }),
    { numRuns: 200 },
  );
  expect(loaded).toBeGreaterThan(40);
});

const scalar = fc.oneof(fc.constantFrom(null, true, -1, 0, 1.5, 1e300, NaN, Infinity, '', 'p', 'a', '1TiB', '99999999TiB', '__proto__', 'provider', 'guaranteed', [], {}), fc.integer());
const mapping = (...fields: readonly string[]) => fc.dictionary(fc.constantFrom(...fields, '__proto__', 'constructor', 'told'), fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), { maxKeys: 6 });
const amounts = mapping('tokensPerSecond', 'kvBytes', 'slots', 'requestsPerMinute', 'tokensPerMinute');
const anyPool = fc.record(
  { id: fc.constantFrom<unknown>('p', 'q', 5, '{p}'), kind: fc.constantFrom<unknown>('self-hosted', 'provider', null), models: fc.constantFrom<unknown>(['*'], ['x'], 'x', [5]), capacity: fc.oneof(scalar, amounts), limits: fc.oneof(scalar, amounts), kvBytesPerToken: scalar, provider: scalar },
  { requiredKeys: [] },
);
const anyEntitlement = fc.record(
  { tenant: fc.constantFrom<unknown>('a', 'z', 5), pool: fc.constantFrom<unknown>('p', 'q', 'z', null), class: fc.oneof(serviceClass, scalar), baseline: fc.oneof(scalar, amounts), lend, sloMs: scalar },
  { requiredKeys: [] },
);

test('whatever stands under pools and entitlements is judged, each problem at a line, and nothing throws', () => {
  const list = (one: fc.Arbitrary<unknown>) => fc.oneof({ weight: 9, arbitrary: fc.array(fc.oneof({ weight: 9, arbitrary: one }, { weight: 1, arbitrary: scalar }), { maxLength: 4 }) }, { weight: 1, arbitrary: scalar });
  fc.assert(
    fc.property(list(anyPool), list(anyEntitlement), (pools, entitlements) => {
      const result = parseConfig(JSON.stringify({ tenants: [{ id: 'a' }], pools, entitlements }, null, 1), 'c.yaml');
      if (result.ok) result.config.policy.pools.forEach(expectFits);
      else for (const { line, message } of result.problems) expect([line >= 1, message.length > 0]).toEqual([true, true]);
    }),
    { numRuns: 300 },
  );
});
