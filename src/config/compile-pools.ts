import type { PoolEntitlement, PoolPolicy } from '../domain/policy.js';
import { UNBOUNDED, type Capacity, type PoolAmounts, type PoolSettings, type ServiceClass } from '../domain/pool.js';
import { globMatcher } from '../lib/glob.js';
import { DEFAULTS } from './defaults.js';
import { amountsOf, baselineOf, isAssured, lowestClass, sumOf, type FileAmounts } from './pool-amounts.js';
import type { Document, EntitlementDocument, PoolDocument } from './schema.js';
import { parseSize } from './size.js';

const PREFILL_WEIGHT = { 'self-hosted': 0.25, provider: 1 } as const;

/** Turns the pools of a document without problems, and the entitlements in them, into what the second gate works by. */
export function compilePools({ pools, entitlements }: Pick<Document, 'pools' | 'entitlements'>): PoolPolicy[] {
  return pools.map((pool) => compilePool(pool, entitlements.filter((entitlement) => entitlement.pool === pool.id)));
}

function compilePool(pool: PoolDocument, documents: readonly EntitlementDocument[]): PoolPolicy {
  const capacity = amountsOf(pool.kind, capacityAmounts(pool));
  const entitlements = documents.map((document) => compileEntitlement(pool, document, capacity));
  return {
    settings: settingsOf(pool, capacity, entitlements),
    kind: pool.kind,
    matches: globMatcher(pool.models),
    prefillWeight: pool.prefillWeight ?? PREFILL_WEIGHT[pool.kind],
    kvBytesPerToken: bytesPerToken(pool),
    holdMs: { interactive: pool.hold.interactiveMs, background: pool.hold.backgroundMs },
    entitlements: new Map(entitlements.map((entitlement) => [entitlement.id, entitlement])),
    implicit: implicitEntitlement(pool, lowestClass(entitlements.map(({ serviceClass }) => serviceClass))),
  };
}

function capacityAmounts({ capacity, limits }: PoolDocument): FileAmounts {
  const { requestsPerMinute = null, tokensPerMinute = null } = limits ?? {};
  return { ...capacity, kvBytes: bytesOf(capacity.kvBytes), requestsPerMinute, tokensPerMinute };
}

function bytesOf(size: string | number | null): number | null {
  return size === null ? null : parseSize(size);
}

function compileEntitlement(pool: PoolDocument, document: EntitlementDocument, capacity: Capacity): PoolEntitlement {
  const { tenant, class: serviceClass, baseline, sloMs, work, lend, preemptible } = document;
  const amounts = { ...baseline, kvBytes: bytesOf(baseline.kvBytes) };
  return {
    id: tenant,
    serviceClass,
    baseline: serviceClass === 'spot' ? UNBOUNDED : baselineOf(pool.kind, amounts, capacity),
    classWeight: weightOf(pool, serviceClass),
    sloMs,
    lend,
    preemptible: preemptible ?? serviceClass === 'spot',
    defaultWork: work,
  };
}

/** Spot has no weight: it never competes. The field has that of elastic then. */
function weightOf({ classWeights }: PoolDocument, serviceClass: ServiceClass): number {
  return serviceClass === 'spot' ? classWeights.elastic : classWeights[serviceClass];
}

function implicitEntitlement(pool: PoolDocument, serviceClass: ServiceClass): PoolPolicy['implicit'] {
  const shared = {
    serviceClass,
    baseline: UNBOUNDED,
    classWeight: weightOf(pool, serviceClass),
    sloMs: DEFAULTS.sloMs.value,
    lend: DEFAULTS.lend.value,
    preemptible: serviceClass === 'spot',
    defaultWork: DEFAULTS.work.value,
  };
  return (tenantId) => ({ id: tenantId, ...shared });
}

function settingsOf(pool: PoolDocument, capacity: Capacity, entitlements: readonly PoolEntitlement[]): PoolSettings {
  const sums = (counts: (entitlement: PoolEntitlement) => boolean): PoolAmounts => {
    const baselines = entitlements.filter(counts).map(({ baseline }) => baseline);
    return { tokensPerSecond: sumOf(baselines, 'tokensPerSecond'), kvBytes: sumOf(baselines, 'kvBytes'), slots: sumOf(baselines, 'slots') };
  };
  return {
    id: pool.id,
    capacity,
    burstSeconds: pool.burstSeconds,
    tier0Baselines: sums(({ serviceClass }) => isAssured(serviceClass)),
    elasticTokensPerSecond: sums(({ serviceClass }) => serviceClass === 'elastic').tokensPerSecond,
    lentToNone: sums(({ lend }) => lend === 'none'),
    lentToSpot: sums(({ lend }) => lend === 'spot'),
    maxWaiting: pool.hold.maxRequests,
    maxWaitingBytes: parseSize(pool.hold.maxBytes) ?? 0,
    reclaimMs: pool.reclaimMs,
    pressure: 'normal',
  };
}

function bytesPerToken({ kvBytesPerToken: given }: PoolDocument): PoolPolicy['kvBytesPerToken'] {
  if (typeof given === 'number') return () => given;
  const entries = given.map(({ models, bytes }) => ({ matches: globMatcher(models), bytes }));
  const largest = Math.max(...entries.map(({ bytes }) => bytes));
  return (model) => entries.find(({ matches }) => matches(model))?.bytes ?? largest;
}
