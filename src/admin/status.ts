import type { PoolReading } from '../admission/pool-readings.js';
import { weaker, type Enforcement } from '../domain/enforcement.js';
import type { Level, TenantTotals } from '../domain/lease.js';
import type { Policy } from '../domain/policy.js';
import type { BucketSpec, StoreSnapshot } from '../domain/store.js';
import type { Limit, LimitDimension, Tenant } from '../domain/tenant.js';
import { bucketSpecsOf, modeOf } from '../quota/charges.js';
import { poolStatuses, type PoolStatus } from './pool-status.js';

/** A rate: units a minute, and whole units left now (negative in debt). */
export interface RateStatus {
  readonly limit: number;
  readonly remaining: number;
}

/** One bucket in full. */
export interface LimitStatus {
  readonly id: string;
  readonly dimension: LimitDimension;
  readonly models: readonly string[];
  readonly limit: number;
  readonly capacity: number;
  readonly remaining: number;
  /** Until full, if nothing else is charged. */
  readonly resetMs: number;
  readonly enforcement: Enforcement;
}

/** A tenant. The summaries are of limits that count every model; null where there is no such limit. */
export interface TenantStatus {
  readonly parent: string | null;
  /** The template it was made from; null for a configured tenant. */
  readonly template: string | null;
  readonly enforcement: Enforcement;
  readonly requests: RateStatus | null;
  readonly tokens: RateStatus | null;
  readonly inputTokens: RateStatus | null;
  readonly outputTokens: RateStatus | null;
  readonly concurrency: { readonly limit: number; readonly inUse: number } | null;
  readonly usage: TenantTotals;
  readonly limits: readonly LimitStatus[];
}

/** What `GET /status` answers. */
export interface StatusDocument {
  readonly enforcement: Enforcement;
  readonly leases: number;
  /** Requests held, at all pools. */
  readonly waiting: number;
  readonly tenants: Readonly<Record<string, TenantStatus>>;
  /** Tenants made from a template beyond those shown. */
  readonly tenantsOmitted: number;
  readonly pools: Readonly<Record<string, PoolStatus>>;
}

/** Tenants made from a template that are shown, the most recently used. */
export const MAX_TEMPLATE_TENANTS_SHOWN = 200;

const NO_TOTALS: TenantTotals = { requests: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

/** The buckets to take a snapshot of for `buildStatus`. `templateTenants`: least recently used first. */
export function bucketsToShow(policy: Policy, templateTenants: readonly Tenant[]): BucketSpec[] {
  return tenantsToShow(policy, templateTenants).flatMap((tenant) => bucketSpecsOf(tenant));
}

/** What pools are at this moment. */
export interface PoolsNow {
  readonly readings: readonly PoolReading[];
  readonly nowMs: number;
}

const NO_POOLS: PoolsNow = { readings: [], nowMs: 0 };

/** Puts the policy in force and what the store holds together. A bucket that the snapshot does not know is full. */
export function buildStatus(policy: Policy, templateTenants: readonly Tenant[], snapshot: StoreSnapshot, { readings, nowMs } = NO_POOLS): StatusDocument {
  const levels = new Map(snapshot.levels.map((level) => [level.key, level]));
  const shown = tenantsToShow(policy, templateTenants);
  return {
    enforcement: policy.enforcement,
    leases: snapshot.leases,
    waiting: readings.reduce((total, reading) => total + reading.snapshot.waiting, 0),
    tenants: Object.fromEntries(shown.map((tenant) => [tenant.id, tenantStatus(policy, tenant, levels, snapshot)])),
    tenantsOmitted: policy.tenants.size + templateTenants.length - shown.length,
    pools: poolStatuses(readings, nowMs),
  };
}

/**
 * Tenants made from the template, those of this processor last (least recently used first): what others made is known by its totals, so that
 * every processor shows the whole.
 */
export function templateTenantsOf(policy: Policy, own: readonly Tenant[], totals: StoreSnapshot['totals']): readonly Tenant[] {
  const template = policy.tenants.get(policy.identity.unknownKeyTemplateId ?? '');
  if (template === undefined) return own;
  const known = new Set(own.map(({ id }) => id));
  const others = [...totals.keys()].filter((id) => id.startsWith(`${template.id}:`) && !known.has(id) && !policy.tenants.has(id));
  return [...others.map((id) => ({ ...template, id, label: template.id })), ...own];
}

function tenantsToShow(policy: Policy, templateTenants: readonly Tenant[]): Tenant[] {
  return [...policy.tenants.values(), ...templateTenants.slice(-MAX_TEMPLATE_TENANTS_SHOWN)];
}

function tenantStatus(policy: Policy, tenant: Tenant, levels: ReadonlyMap<string, Level>, snapshot: StoreSnapshot): TenantStatus {
  const mode = modeOf(tenant, policy);
  const specs = bucketSpecsOf(tenant);
  const limits = tenant.limits.map((limit, i) => limitStatus(limit, specs[i]!, levels, mode));
  return {
    parent: tenant.parentId,
    template: policy.tenants.has(tenant.id) ? null : tenant.label,
    enforcement: mode,
    requests: rateOf('requests', limits),
    tokens: rateOf('tokens', limits),
    inputTokens: rateOf('inputTokens', limits),
    outputTokens: rateOf('outputTokens', limits),
    concurrency: concurrencyOf(limits),
    usage: snapshot.totals.get(tenant.id) ?? NO_TOTALS,
    limits,
  };
}

function limitStatus(limit: Limit, { key }: BucketSpec, levels: ReadonlyMap<string, Level>, tenantMode: Enforcement): LimitStatus {
  const level = levels.get(key);
  return {
    id: limit.id,
    dimension: limit.dimension,
    models: limit.models,
    limit: limit.limit,
    capacity: limit.capacity,
    remaining: level?.remaining ?? limit.capacity,
    resetMs: level?.resetMs ?? 0,
    enforcement: weaker(tenantMode, limit.enforcement ?? tenantMode),
  };
}

function rateOf(dimension: LimitDimension, limits: readonly LimitStatus[]): RateStatus | null {
  const tightest = tightestOf(dimension, limits);
  return tightest === null ? null : { limit: tightest.limit, remaining: tightest.remaining };
}

function concurrencyOf(limits: readonly LimitStatus[]): TenantStatus['concurrency'] {
  const tightest = tightestOf('concurrency', limits);
  return tightest === null ? null : { limit: tightest.limit, inUse: tightest.limit - tightest.remaining };
}

/** Of several limits that count every model, the one with least left. */
function tightestOf(dimension: LimitDimension, limits: readonly LimitStatus[]): LimitStatus | null {
  const candidates = limits.filter((limit) => limit.dimension === dimension && limit.models.includes('*'));
  return candidates.reduce<LimitStatus | null>((best, next) => (best === null || next.remaining < best.remaining ? next : best), null);
}
