import { describe, expect, test } from 'vitest';
import type { BucketCharge } from '../../../src/domain/lease.js';
import type { Tenant } from '../../../src/domain/tenant.js';
import { bucketSpecsOf, chainOf, modeOf, planCharges } from '../../../src/quota/charges.js';
import type { ChargePlan, ChargePolicy, Demand } from '../../../src/quota/charges.js';
import { demand, limit, policy, tenant } from './builders.js';

function amounts(charges: readonly BucketCharge[]): Record<string, number> {
  return Object.fromEntries(charges.map(({ key, amount }) => [key, amount]));
}

function charges(p: ChargePolicy, t: Tenant, d: Demand, model = 'gpt-4o'): Extract<ChargePlan, { kind: 'charges' }> {
  const plan = planCharges(p, t, model, d);
  if (plan.kind !== 'charges') throw new Error('never fits');
  return plan;
}

describe('chain of a tenant', () => {
  const tenants = (...list: Tenant[]) => policy(list).tenants;

  test('runs from the tenant to the root', () => {
    const root = tenant('root', []);
    const unit = tenant('unit', [], { parentId: 'root' });
    const team = tenant('team', [], { parentId: 'unit' });
    expect(chainOf(team, tenants(root, unit, team)).map(({ id }) => id)).toEqual(['team', 'unit', 'root']);
  });

  test('ends at a loop and at an unknown parent', () => {
    const a = tenant('a', [], { parentId: 'b' });
    const b = tenant('b', [], { parentId: 'a' });
    expect(chainOf(a, tenants(a, b)).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(chainOf(tenant('c', [], { parentId: 'gone' }), new Map())).toHaveLength(1);
    expect(chainOf(tenant('d', [], { parentId: 'd' }), tenants(tenant('d', [])))).toHaveLength(1);
  });

  test('is bounded', () => {
    const many = Array.from({ length: 100 }, (_, i) => tenant(`t${i}`, [], { parentId: `t${i + 1}` }));
    expect(chainOf(many[0]!, tenants(...many))).toHaveLength(16);
  });
});

describe('charges of a request', () => {
  const every = [limit('requests', 60), limit('tokens', 10_000), limit('inputTokens', 9_000), limit('outputTokens', 5_000), limit('concurrency', 4)];

  test('each dimension is charged its own amount', () => {
    const acme = tenant('acme', every);
    expect(amounts(charges(policy([acme]), acme, demand(120, 30)).enforced)).toEqual({
      'acme/*:requests': 1,
      'acme/*:tokens': 150,
      'acme/*:inputTokens': 120,
      'acme/*:outputTokens': 30,
      'acme/*:concurrency': 1,
    });
  });

  test("parents' limits apply too, the tenant's own first", () => {
    const parent = tenant('corp', [limit('tokens', 1_000)]);
    const child = tenant('team', [limit('tokens', 500)], { parentId: 'corp' });
    expect(Object.keys(amounts(charges(policy([parent, child]), child, demand(1, 1)).enforced))).toEqual(['team/*:tokens', 'corp/*:tokens']);
  });

  test('a limit counts only the models of its globs', () => {
    const acme = tenant('acme', [limit('tokens', 100, { models: ['gpt-4*'] }), limit('requests', 10)]);
    expect(Object.keys(amounts(charges(policy([acme]), acme, demand(1, 1), 'llama-3').enforced))).toEqual(['acme/*:requests']);
    expect(charges(policy([acme]), acme, demand(1, 1), 'gpt-4o').enforced).toHaveLength(2);
  });

  test('an amount never exceeds what the bucket holds', () => {
    const acme = tenant('acme', [limit('tokens', 1_000, { capacity: 200 })]);
    const [charge] = charges(policy([acme]), acme, demand(150, 4_000, { cap: null })).enforced;
    expect(charge).toMatchObject({ amount: 200, inputAmount: 150, limit: 1_000, capacity: 200 });
  });

  test('input that is likely read from the cache is left out where it does not count', () => {
    const acme = tenant('acme', [limit('tokens', 10_000, { countCachedInput: false }), limit('inputTokens', 10_000)]);
    expect(amounts(charges(policy([acme]), acme, demand(1_000, 50, { cachedShare: 0.8 })).enforced)).toEqual({
      'acme/*:tokens': 250,
      'acme/*:inputTokens': 1_000,
    });
  });

  test('fractions are rounded up to whole tokens', () => {
    const acme = tenant('acme', [limit('tokens', 100)]);
    expect(charges(policy([acme]), acme, demand(1.2, 2.1)).enforced[0]).toMatchObject({ amount: 5, inputAmount: 2 });
  });
});

describe('enforcement', () => {
  const cases = [
    // global, tenant, limit → where the charge goes
    ['enforce', null, null, 'enforced'],
    ['enforce', null, 'shadow', 'shadowed'],
    ['enforce', null, 'off', 'none'],
    ['enforce', 'shadow', null, 'shadowed'],
    ['enforce', 'shadow', 'enforce', 'shadowed'],
    ['enforce', 'off', 'enforce', 'none'],
    ['shadow', null, null, 'shadowed'],
    ['shadow', null, 'enforce', 'shadowed'],
    ['shadow', 'enforce', null, 'enforced'],
    ['off', null, null, 'none'],
    ['off', 'enforce', 'shadow', 'shadowed'],
  ] as const;

  test.each(cases)('global %s, tenant %s, limit %s: %s', (global, own, ofLimit, where) => {
    const acme = tenant('acme', [limit('tokens', 100, { enforcement: ofLimit })], { enforcement: own });
    const plan = charges(policy([acme], global), acme, demand(1, 1));
    expect([plan.enforced.length, plan.shadowed.length]).toEqual([where === 'enforced' ? 1 : 0, where === 'shadowed' ? 1 : 0]);
  });

  test('a tenant in shadow is not refused by its parent, and a parent in shadow refuses no child', () => {
    const corp = tenant('corp', [limit('tokens', 100)]);
    const shy = tenant('shy', [limit('tokens', 100)], { parentId: 'corp', enforcement: 'shadow' });
    expect(charges(policy([corp, shy]), shy, demand(1, 1))).toMatchObject({ enforced: [], shadowed: [{ tenantId: 'shy' }, { tenantId: 'corp' }] });
    const shadowCorp = { ...corp, enforcement: 'shadow' as const };
    const team = tenant('team', [limit('tokens', 100)], { parentId: 'corp' });
    expect(charges(policy([shadowCorp, team]), team, demand(1, 1))).toMatchObject({ enforced: [{ tenantId: 'team' }], shadowed: [{ tenantId: 'corp' }] });
  });

  test('the mode of a tenant is its own, else the global one', () => {
    expect(modeOf(tenant('a', [], { enforcement: 'off' }), { enforcement: 'enforce' })).toBe('off');
    expect(modeOf(tenant('a', []), { enforcement: 'shadow' })).toBe('shadow');
  });
});

describe('a request that never fits', () => {
  test('is told by its lower bound and its explicit cap, not by the estimate', () => {
    const acme = tenant('acme', [limit('tokens', 1_000)]);
    const fits = demand(5_000, 4_000, { lowerBound: 900, cap: 100 });
    expect(planCharges(policy([acme]), acme, 'm', fits).kind).toBe('charges');
    expect(planCharges(policy([acme]), acme, 'm', demand(5_000, 4_000, { lowerBound: 900, cap: 101 }))).toEqual({
      kind: 'never_fits',
      neverFit: { limitId: '*:tokens', dimension: 'tokens', needed: 1_001, capacity: 1_000, limit: 1_000, tenantId: 'acme', ofParent: false },
    });
    expect(planCharges(policy([acme]), acme, 'm', demand(5_000, 4_000, { lowerBound: 1_000, cap: null })).kind).toBe('charges');
  });

  test('judges input by the lower bound alone and output by the cap alone', () => {
    const input = tenant('in', [limit('inputTokens', 1_000)]);
    expect(planCharges(policy([input]), input, 'm', demand(1, 9_000, { lowerBound: 1_000 })).kind).toBe('charges');
    expect(planCharges(policy([input]), input, 'm', demand(1, 1, { lowerBound: 1_001 })).kind).toBe('never_fits');
    const output = tenant('out', [limit('outputTokens', 100)]);
    expect(planCharges(policy([output]), output, 'm', demand(9_000, 101)).kind).toBe('never_fits');
    expect(planCharges(policy([output]), output, 'm', demand(9_000, 5_000, { cap: null })).kind).toBe('charges');
  });

  test("names the parent whose limit it is", () => {
    const corp = tenant('corp', [limit('tokens', 100)]);
    const team = tenant('team', [limit('tokens', 1_000)], { parentId: 'corp' });
    expect(planCharges(policy([corp, team]), team, 'm', demand(200, 0))).toMatchObject({ neverFit: { tenantId: 'corp', ofParent: true } });
  });

  test('in shadow is reported and refuses nothing', () => {
    const acme = tenant('acme', [limit('tokens', 100)], { enforcement: 'shadow' });
    expect(planCharges(policy([acme]), acme, 'm', demand(200, 0))).toMatchObject({
      kind: 'charges',
      wouldNeverFit: { needed: 200 },
      shadowed: [{ amount: 100 }],
    });
  });
});

test('buckets of a tenant are told without a request', () => {
  const acme = tenant('acme', [limit('tokens', 100), limit('concurrency', 3)]);
  expect(bucketSpecsOf(acme)).toMatchObject([
    { key: 'acme/*:tokens', tenantId: 'acme', dimension: 'tokens', capacity: 100 },
    { key: 'acme/*:concurrency', dimension: 'concurrency', limit: 3 },
  ]);
});
