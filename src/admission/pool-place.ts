import type { OutputEstimate, PromptEstimate } from '../domain/estimate.js';
import type { PoolEntitlement, PoolPolicy, Policy } from '../domain/policy.js';
import type { PoolDemand } from '../domain/pool.js';
import type { RequestFacts } from '../domain/request.js';
import type { Tenant } from '../domain/tenant.js';
import type { Usage } from '../domain/usage.js';
import { chainOf } from '../quota/charges.js';

/** Where a request belongs: its pool, and what its tenant is entitled to there. */
export interface PoolPlace {
  readonly pool: PoolPolicy;
  readonly entitlement: PoolEntitlement;
}

/**
 * The first pool that serves the model, and the nearest entitlement of the tenant and those above it. Null: no pool, and no second gate.
 * Tenants made from a template share the template's, all of them one: whoever invents keys has no more of the pool than with a single key.
 */
export function placeOf(policy: Pick<Policy, 'pools' | 'tenants'>, tenant: Tenant, model: string): PoolPlace | null {
  const pool = policy.pools.find(({ matches }) => matches(model));
  if (pool === undefined) return null;
  for (const { id, label } of chainOf(tenant, policy.tenants)) {
    const entitlement = pool.entitlements.get(id) ?? pool.entitlements.get(label);
    if (entitlement !== undefined) return { pool, entitlement };
  }
  return { pool, entitlement: pool.implicit(tenant.id) };
}

export interface Estimates {
  readonly facts: RequestFacts;
  readonly prompt: PromptEstimate;
  readonly output: OutputEstimate;
}

/**
 * What a request is expected to take of its pool. Memory that only a pessimistic estimate puts above all that the pool has is cut to that:
 * what surely never fits is told by the lower bound of the prompt and the request's own cap.
 */
export function demandOf({ settings, prefillWeight, kvBytesPerToken }: PoolPolicy, { facts, prompt, output }: Estimates): PoolDemand {
  const perToken = kvBytesPerToken(facts.model);
  const least = (prompt.lowerBoundTokens + (output.explicitCapTokens ?? 0)) * perToken;
  const kvBytes = (prompt.tokens + output.reservedTokens) * perToken;
  const most = settings.capacity.kvBytes ?? Infinity;
  return {
    work: atLeastOne(output.expectedTokens + prefillWeight * uncached(prompt)),
    kvBytes: whole(least <= most ? Math.min(kvBytes, most) : kvBytes),
    slots: atLeastOne(facts.choices),
  };
}

/** What a request that put out so much has taken until now: at least a token of work, which tells that it runs. */
export function useOf({ prefillWeight, kvBytesPerToken }: PoolPolicy, { facts, prompt }: Estimates, outputTokens: number): Omit<PoolDemand, 'slots'> {
  return {
    work: atLeastOne(outputTokens + prefillWeight * uncached(prompt)),
    kvBytes: whole((prompt.tokens + outputTokens) * kvBytesPerToken(facts.model)),
  };
}

/** What a request truly took, in tokens as `PoolDemand.work`; 0 where it is charged nothing. */
export function trueWork({ prefillWeight }: PoolPolicy, { inputTokens, cachedInputTokens, outputTokens }: Usage): number {
  return whole(outputTokens + prefillWeight * Math.max(0, inputTokens - cachedInputTokens));
}

function uncached({ tokens, cachedShare }: PromptEstimate): number {
  return tokens * (1 - cachedShare);
}

function atLeastOne(amount: number): number {
  return Math.max(1, whole(amount));
}

/** Any text a client sends may claim any size. */
function whole(amount: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(amount)));
}
