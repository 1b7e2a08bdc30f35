import { describe, expect, it } from 'vitest';
import { bucketsToShow, buildStatus, MAX_TEMPLATE_TENANTS_SHOWN, templateTenantsOf } from '../../../src/admin/status.js';
import type { Level, TenantTotals } from '../../../src/domain/lease.js';
import type { BucketSpec, StoreSnapshot } from '../../../src/domain/store.js';
import { limit, policy, tenant } from './policies.js';

const TOTALS: TenantTotals = { requests: 1, inputTokens: 800, cachedInputTokens: 0, outputTokens: 200, reasoningTokens: 0 };
const NOTHING: TenantTotals = { requests: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

/** What a store would answer, were each bucket short of `used` units. */
function snapshot(specs: readonly BucketSpec[], used: Record<string, number> = {}): StoreSnapshot {
  const levels: Level[] = specs.map(({ key, tenantId, dimension, limit: rate, capacity }) => ({
    key,
    tenantId,
    dimension,
    limit: rate,
    capacity,
    remaining: capacity - (used[key] ?? 0),
    resetMs: (used[key] ?? 0) * 10,
  }));
  return { leases: 2, levels, totals: new Map([['acme', TOTALS]]) };
}

const ACME = tenant('acme', [limit('requests', 600), limit('tokens', 60_000), limit('concurrency', 16), limit('inputTokens', 30_000, { models: ['gpt-4*'] })]);

describe('GET /status (point 8)', () => {
  it('has the shape that architecture.md fixes', () => {
    const some = policy([ACME]);
    const used = { 'acme/*:requests': 1, 'acme/*:tokens': 1_000, 'acme/*:concurrency': 3 };
    const status = buildStatus(some, [], snapshot(bucketsToShow(some, []), used));
    expect(JSON.parse(JSON.stringify(status))).toMatchObject({
      leases: 2,
      waiting: 0,
      tenants: {
        acme: {
          requests: { limit: 600, remaining: 599 },
          tokens: { limit: 60_000, remaining: 59_000 },
          concurrency: { limit: 16, inUse: 3 },
          usage: TOTALS,
        },
      },
      pools: {},
    });
  });

  it('lists every bucket, and has null for a dimension without a limit on all models', () => {
    const some = policy([ACME, tenant('free', [])]);
    const status = buildStatus(some, [], snapshot(bucketsToShow(some, []), { 'acme/gpt-4*:inputTokens': 31_000 }));
    expect(status.tenants['acme']?.inputTokens).toBeNull();
    expect(status.tenants['acme']?.limits[3]).toEqual({
      id: 'gpt-4*:inputTokens',
      dimension: 'inputTokens',
      models: ['gpt-4*'],
      limit: 30_000,
      capacity: 30_000,
      remaining: -1_000,
      resetMs: 310_000,
      enforcement: 'enforce',
    });
    expect(status.tenants['free']).toMatchObject({ requests: null, tokens: null, concurrency: null, limits: [], usage: NOTHING });
  });

  it('shows the tightest of several limits on the same dimension', () => {
    const some = policy([tenant('acme', [limit('tokens', 60_000), limit('tokens', 9_000, { id: 'second', models: ['x', '*'] })])]);
    const status = buildStatus(some, [], snapshot(bucketsToShow(some, [])));
    expect(status.tenants['acme']?.tokens).toEqual({ limit: 9_000, remaining: 9_000 });
  });

  it('shows how each limit acts', () => {
    const limits = [limit('requests', 1), limit('tokens', 1, { enforcement: 'off' })];
    const some = policy([tenant('a', limits), tenant('b', limits, { enforcement: 'shadow' })]);
    const { tenants } = buildStatus(some, [], snapshot([]));
    expect(tenants['a']?.limits.map(({ enforcement }) => enforcement)).toEqual(['enforce', 'off']);
    expect(tenants['b']?.limits.map(({ enforcement }) => enforcement)).toEqual(['shadow', 'off']);
  });

  it('shows the latest tenants made from a template, and how many more there are', () => {
    const template = tenant('guest', [limit('requests', 10)], { parentId: 'acme' });
    const made = Array.from({ length: MAX_TEMPLATE_TENANTS_SHOWN + 5 }, (_, i) => ({ ...template, id: `guest:${i}` }));
    const some = policy([ACME, template]);
    const status = buildStatus(some, made, snapshot(bucketsToShow(some, made), { 'guest:204/*:requests': 4 }));
    expect(status.tenantsOmitted).toBe(5);
    expect(status.tenants['guest:4']).toBeUndefined();
    expect(status.tenants['guest:204']).toMatchObject({ parent: 'acme', template: 'guest', requests: { limit: 10, remaining: 6 } });
    expect(status.tenants['guest']?.template).toBeNull();
  });

  it('names a tenant __proto__ like any other', () => {
    const some = policy([tenant('__proto__', [limit('requests', 5)])]);
    expect(JSON.stringify(buildStatus(some, [], snapshot([])))).toContain('"__proto__":{"parent":null');
  });

  it('shows tenants that another processor made from the template, by the totals they have (issue point 6)', () => {
    const template = tenant('guest', [limit('tokens', 1_000)]);
    const base = policy([ACME, template]);
    const some = { ...base, identity: { ...base.identity, unknownKeyTemplateId: 'guest' } };
    const own = [{ ...template, id: 'guest:aa', label: 'guest' }];
    const totals = new Map([['acme', TOTALS], ['guest', TOTALS], ['guest:aa', TOTALS], ['guest:bb', TOTALS], ['guests:cc', TOTALS]]);
    const made = templateTenantsOf(some, own, totals);
    expect(made.map(({ id, label }) => [id, label])).toEqual([['guest:bb', 'guest'], ['guest:aa', 'guest']]);
    const specs = bucketsToShow(some, made);
    const status = buildStatus(some, made, { ...snapshot(specs, { 'guest:bb/*:tokens': 400 }), totals });
    expect(status.tenants['guest:bb']).toMatchObject({ template: 'guest', tokens: { limit: 1_000, remaining: 600 }, usage: TOTALS });
    expect(templateTenantsOf(base, own, totals)).toBe(own);
  });
});
