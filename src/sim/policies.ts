import type { PoolEntitlement } from '../domain/policy.js';
import type { PolicyHost, SimPolicy } from './policy.js';
import { fcfsPolicy, noPolicy } from './policy-fcfs.js';
import { staticPolicy } from './policy-static.js';
import { TokenweirPolicy } from './policy-tokenweir.js';
import { vtcPolicy } from './policy-vtc.js';
import type { SimSpec } from './spec.js';

/** Sets up who decides. */
export function createPolicy({ policy, pool, tenants }: SimSpec, host: PolicyHost): SimPolicy {
  switch (policy) {
    case 'tokenweir':
      return new TokenweirPolicy(pool.settings, pool.kvBytesPerToken, host);
    case 'vtc':
      return vtcPolicy(pool.settings, host, pool.prefillWeight);
    case 'fcfs':
      return fcfsPolicy(pool.settings, host);
    case 'static': {
      const all = tenants.map(({ id, entitlement }): [string, PoolEntitlement] => [entitlement ?? id, pool.entitlementOf(entitlement ?? id)]);
      const unique = new Map(all.map(([, entitlement]) => [entitlement.id, entitlement]));
      return staticPolicy(pool.settings, [...unique.values()], host);
    }
    case 'none':
      return noPolicy(host);
  }
}
