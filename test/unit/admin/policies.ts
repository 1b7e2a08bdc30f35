import type { Policy } from '../../../src/domain/policy.js';
import type { Tenant } from '../../../src/domain/tenant.js';

import { UNMETERED } from '../../support/policies.js';

export { limit, tenant } from '../../support/policies.js';

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
    pools: [],
    unknownPaths: 'pass',
    unmetered: UNMETERED,
    background: 'meter',
    exactCounting: null,
    maxBodyBytes: 1_000_000,
    unknownOutputTokens: 1_000,
    maxOutputTokens: () => null,
    asksForUsage: () => true,
    ...changes,
  };
}
