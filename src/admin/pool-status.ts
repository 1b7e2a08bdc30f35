import type { PoolReading } from '../admission/pool-readings.js';
import type { Capacity, EntitlementSnapshot, PoolAmounts, Pressure, ServiceClass } from '../domain/pool.js';
import { priorityOf, shareOf } from '../pool/shown.js';

/** What a tenant has of a pool. Rates are averages of 10 s, in tokens of expected work. */
export interface EntitlementStatus {
  readonly class: ServiceClass;
  readonly inFlight: number;
  readonly waiting: number;
  /** Tokens. */
  readonly debt: number;
  /** 100: the weight of a class without any factor. What is within the baseline of dedicated and guaranteed goes before all of it. 0: spot. */
  readonly priority: number;
  readonly factors: { readonly slo: number; readonly burst: number; readonly debt: number };
  readonly baseline: Capacity;
  readonly inUse: Pick<PoolAmounts, 'kvBytes' | 'slots'>;
  /** Of what the pool serves, 0 to 1. */
  readonly share: number;
  readonly servedTokensPerSecond: number;
}

export interface PoolStatus {
  readonly waiting: number;
  readonly waitingLimit: number;
  readonly pressure: Pressure;
  readonly capacity: Capacity;
  readonly inUse: PoolAmounts;
  readonly inFlight: number;
  /** What the pool should have now, for an autoscaler. */
  readonly needed: PoolAmounts;
  readonly entitlements: Readonly<Record<string, EntitlementStatus>>;
  /** Entitlements beyond those shown. */
  readonly entitlementsOmitted: number;
  /** True: the pool did not answer, and this is how it was `ageMs` before; null: never known. */
  readonly stale: boolean;
  /** The store is away, or no processor keeps the pool: what this processor knows of the pool, not the whole. */
  readonly partial: boolean;
  readonly ageMs: number | null;
}

/** Entitlements of tenants without one of their own that are shown, those that wait or use most first. */
export const MAX_IMPLICIT_SHOWN = 200;

/** Pools as `GET /status` shows them, by id. */
export function poolStatuses(readings: readonly PoolReading[], nowMs: number): Readonly<Record<string, PoolStatus>> {
  return Object.fromEntries(readings.map((reading) => [reading.policy.settings.id, poolStatus(reading, nowMs)]));
}

function poolStatus({ policy, snapshot, entitlements, scaling, readAtMs, stale, partial }: PoolReading, nowMs: number): PoolStatus {
  const shown = entitlementsToShow(policy.entitlements, entitlements);
  const { waiting, pressure, capacity, inUse, inFlight } = snapshot;
  return {
    waiting,
    waitingLimit: policy.settings.maxWaiting,
    pressure,
    capacity,
    inUse: rounded(inUse),
    inFlight,
    needed: rounded(scaling.needed),
    entitlements: Object.fromEntries(shown.map((e) => [e.id, entitlementStatus(e, inUse.tokensPerSecond)])),
    entitlementsOmitted: entitlements.length - shown.length,
    stale,
    partial,
    ageMs: readAtMs === null ? null : Math.max(0, Math.round(nowMs - readAtMs)),
  };
}

function entitlementsToShow(configured: ReadonlyMap<string, unknown>, all: readonly EntitlementSnapshot[]): readonly EntitlementSnapshot[] {
  const implicit = all.filter(({ id }) => !configured.has(id)).sort((a, b) => b.waiting + b.inFlight - (a.waiting + a.inFlight));
  return [...all.filter(({ id }) => configured.has(id)), ...implicit.slice(0, MAX_IMPLICIT_SHOWN)];
}

function entitlementStatus(e: EntitlementSnapshot, servedByAll: number): EntitlementStatus {
  return {
    class: e.serviceClass,
    inFlight: e.inFlight,
    waiting: e.waiting,
    debt: Math.round(e.debtTokens),
    priority: Math.round(priorityOf(e)),
    factors: { slo: thousandths(e.sloFactor), burst: thousandths(e.burstFactor), debt: thousandths(e.debtFactor) },
    baseline: e.baseline,
    inUse: { kvBytes: e.inUse.kvBytes, slots: e.inUse.slots },
    share: thousandths(shareOf(e, servedByAll)),
    servedTokensPerSecond: thousandths(e.servedTokensPerSecond),
  };
}

function rounded({ tokensPerSecond, kvBytes, slots }: PoolAmounts): PoolAmounts {
  return { tokensPerSecond: thousandths(tokensPerSecond), kvBytes: Math.round(kvBytes), slots: thousandths(slots) };
}

function thousandths(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
