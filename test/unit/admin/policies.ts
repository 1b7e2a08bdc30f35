import type { Policy } from '../../../src/domain/policy.js';
import type { Limit, LimitDimension, Tenant } from '../../../src/domain/tenant.js';
import { globMatcher } from '../../../src/lib/glob.js';

export function limit(dimension: LimitDimension, value: number, changes: Partial<Limit> = {}): Limit {
  const models = changes.models ?? ['*'];
  return {
    id: `${models.join(',')}:${dimension}`,
    dimension,
    models,
    matches: globMatcher(models),
    limit: value,
    capacity: value,
    enforcement: null,
    countCachedInput: true,
    ...changes,
  };
}

export function tenant(id: string, limits: readonly Limit[], changes: Partial<Tenant> = {}): Tenant {
  return { id, parentId: null, label: id, allowsModel: () => true, limits, enforcement: null, ...changes };
}

export function policy(tenants: readonly Tenant[], changes: Partial<Policy> = {}): Policy {
  return {
    enforcement: 'enforce',
    tenants: new Map(tenants.map((one) => [one.id, one])),
    identity: {
      keys: new Map(),
      anonymousTenantId: null,
      unknownKeyTemplateId: null,
      maxTemplateTenants: 10_000,
      trustedTenantHeader: null,
      jwt: null,
    },
    unknownPaths: 'pass',
    maxBodyBytes: 1_000_000,
    unknownOutputTokens: 1_000,
    maxOutputTokens: () => null,
    asksForUsage: () => true,
    ...changes,
  };
}
