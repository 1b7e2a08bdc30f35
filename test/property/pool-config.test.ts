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
    { numRuns: 500 },
  );
  expect(loaded).toBeGreaterThan(100);
});
