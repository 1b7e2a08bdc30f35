import { weaker } from '../domain/enforcement.js';
import type { Enforcement } from '../domain/enforcement.js';
import type { OutputEstimate, PromptEstimate } from '../domain/estimate.js';
import type { BucketCharge } from '../domain/lease.js';
import type { Policy } from '../domain/policy.js';
import type { BucketSpec } from '../domain/store.js';
import type { Limit, LimitDimension, Tenant } from '../domain/tenant.js';

/** A request that a limit can never hold, however long it waits. */
export interface NeverFit {
  readonly limitId: string;
  readonly dimension: LimitDimension;
  /** The least that the request needs. */
  readonly needed: number;
  readonly capacity: number;
  readonly limit: number;
  readonly tenantId: string;
  /** The limit is not of the request's own tenant, but of one above it. */
  readonly ofParent: boolean;
}

export type ChargePlan =
  | {
      readonly kind: 'charges';
      readonly enforced: readonly BucketCharge[];
      readonly shadowed: readonly BucketCharge[];
      /** A shadowed limit that could never hold the request; null if there is none. */
      readonly wouldNeverFit: NeverFit | null;
    }
  | { readonly kind: 'never_fits'; readonly neverFit: NeverFit };

/** What a request is expected to need. */
export interface Demand {
  readonly prompt: PromptEstimate;
  readonly output: OutputEstimate;
}

/** What the plan needs to know of a policy. */
export type ChargePolicy = Pick<Policy, 'enforcement' | 'tenants'>;

/** No hierarchy is deeper; a longer one is cut here. */
const MAX_CHAIN = 16;

/** The tenant, its parent, and so on to the root. A loop or an unknown parent ends the chain. */
export function chainOf(tenant: Tenant, tenants: ReadonlyMap<string, Tenant>): readonly Tenant[] {
  const chain = [tenant];
  let parentId = tenant.parentId;
  while (parentId !== null && chain.length < MAX_CHAIN) {
    const parent = tenants.get(parentId);
    if (parent === undefined || chain.some(({ id }) => id === parent.id)) break;
    chain.push(parent);
    parentId = parent.parentId;
  }
  return chain;
}

/** How limits act on a tenant's requests where they do not say otherwise. */
export function modeOf(tenant: Tenant, policy: Pick<Policy, 'enforcement'>): Enforcement {
  return tenant.enforcement ?? policy.enforcement;
}

/** A policy's tenants never change, so the names of their buckets are put together once. */
const specs = new WeakMap<Tenant, readonly BucketSpec[]>();

/** The buckets of a tenant's own limits, in their order. */
export function bucketSpecsOf(tenant: Tenant): readonly BucketSpec[] {
  const known = specs.get(tenant);
  if (known !== undefined) return known;
  const made = tenant.limits.map((limit) => specOf(tenant, limit));
  specs.set(tenant, made);
  return made;
}

/**
 * What a request is charged to: every limit of its tenant and of those above that counts the model, sorted by whether
 * it may refuse. A limit acts no more strongly than the request's tenant is handled: a tenant in shadow is in shadow
 * for its parents' limits too.
 */
export function planCharges(policy: ChargePolicy, tenant: Tenant, model: string, demand: Demand): ChargePlan {
  const enforced: BucketCharge[] = [];
  const shadowed: BucketCharge[] = [];
  const requestMode = modeOf(tenant, policy);
  let wouldNeverFit: NeverFit | null = null;
  for (const owner of chainOf(tenant, policy.tenants)) {
    const ownerMode = modeOf(owner, policy);
    const ownerSpecs = bucketSpecsOf(owner);
    for (const [i, limit] of owner.limits.entries()) {
      const mode = weaker(requestMode, limit.enforcement ?? ownerMode);
      if (mode === 'off' || !limit.matches(model)) continue;
      const neverFit = neverFits(limit, owner, owner !== tenant, demand);
      if (neverFit !== null && mode === 'enforce') return { kind: 'never_fits', neverFit };
      wouldNeverFit ??= neverFit;
      (mode === 'enforce' ? enforced : shadowed).push(chargeOf(ownerSpecs[i]!, limit, demand));
    }
  }
  return { kind: 'charges', enforced, shadowed, wouldNeverFit };
}

function specOf(tenant: Tenant, limit: Limit): BucketSpec {
  return {
    key: `${tenant.id}/${limit.id}`,
    tenantId: tenant.id,
    dimension: limit.dimension,
    limit: limit.limit,
    capacity: limit.capacity,
    countCachedInput: limit.countCachedInput,
  };
}

function chargeOf(spec: BucketSpec, limit: Limit, demand: Demand): BucketCharge {
  const input = countsInput(limit.dimension) ? countedInput(limit, demand.prompt, demand.prompt.tokens) : 0;
  const amount = Math.min(limit.capacity, wholeAmount(limit.dimension, input, demand.output.reservedTokens));
  const { key, tenantId, dimension, limit: perMinute, capacity, countCachedInput } = spec;
  return { key, tenantId, dimension, limit: perMinute, capacity, amount, inputAmount: Math.min(amount, input), countCachedInput };
}

function wholeAmount(dimension: LimitDimension, input: number, output: number): number {
  switch (dimension) {
    case 'requests':
    case 'concurrency':
      return 1;
    case 'inputTokens':
      return input;
    case 'outputTokens':
      return Math.ceil(output);
    case 'tokens':
      return input + Math.ceil(output);
  }
}

function countsInput(dimension: LimitDimension): boolean {
  return dimension === 'tokens' || dimension === 'inputTokens';
}

/** Input tokens as the limit counts them, a whole number. */
function countedInput(limit: Limit, prompt: PromptEstimate, tokens: number): number {
  const whole = Math.ceil(tokens);
  return limit.countCachedInput ? whole : Math.max(0, whole - Math.round(tokens * prompt.cachedShare));
}

/** Judged by what the request needs at the very least, so that a poor estimate never turns into a final refusal. */
function neverFits(limit: Limit, owner: Tenant, ofParent: boolean, { prompt, output }: Demand): NeverFit | null {
  const needed = leastNeeded(limit, prompt, output);
  if (needed <= limit.capacity) return null;
  const { id: limitId, dimension, capacity } = limit;
  return { limitId, dimension, needed, capacity, limit: limit.limit, tenantId: owner.id, ofParent };
}

function leastNeeded(limit: Limit, prompt: PromptEstimate, output: OutputEstimate): number {
  const input = countsInput(limit.dimension) ? countedInput(limit, prompt, prompt.lowerBoundTokens) : 0;
  return wholeAmount(limit.dimension, input, output.explicitCapTokens ?? 0);
}
