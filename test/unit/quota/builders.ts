import type { Enforcement } from '../../../src/domain/enforcement.js';
import type { Level } from '../../../src/domain/lease.js';
import type { LimitDimension, Tenant } from '../../../src/domain/tenant.js';
import type { ChargePolicy, Demand } from '../../../src/quota/charges.js';

export { limit, tenant } from '../../support/policies.js';

export function policy(tenants: readonly Tenant[], enforcement: Enforcement = 'enforce'): ChargePolicy {
  return { enforcement, tenants: new Map(tenants.map((one) => [one.id, one])) };
}

/** A request of so many prompt tokens and so much output; the cap is explicit unless told otherwise. */
export function demand(promptTokens: number, outputTokens: number, rest: { lowerBound?: number; cap?: number | null; cachedShare?: number } = {}): Demand {
  return {
    prompt: {
      tokens: promptTokens,
      lowerBoundTokens: rest.lowerBound ?? promptTokens,
      cachedShare: rest.cachedShare ?? 0,
      errorShare: 0.3,
      regressors: new Float64Array(),
    },
    output: {
      reservedTokens: outputTokens,
      expectedTokens: outputTokens,
      explicitCapTokens: rest.cap === undefined ? outputTokens : rest.cap,
    },
  };
}

export function level(dimension: LimitDimension, value: number, remaining: number, rest: Partial<Level> = {}): Level {
  return { key: `acme/*:${dimension}`, tenantId: 'acme', dimension, limit: value, capacity: value, remaining, resetMs: 0, ...rest };
}
