import type { Entitlement, PoolAmounts, PoolSettings } from '../domain/pool.js';
import { boundOf } from './amounts.js';
import { refill } from './bucket.js';
import { relend, updateVictim } from './lending.js';
import { classify } from './order.js';
import { touchRates } from './rates.js';
import { sloFactorOf } from './weights.js';
import type { EntitlementState, PoolState } from './state.js';

/** Takes over what the latest call brought. Settings that are the same change nothing. */
export function applySettings(s: PoolState, settings: PoolSettings): void {
  if (s.settings === settings) return;
  const { capacity, burstSeconds, lentToNone, lentToSpot } = settings;
  const before = { shrink: s.shrink, burstSeconds: s.settings?.burstSeconds };
  refill(s.workBucket, s.capPerSecond, s.nowMs);
  refill(s.requestBucket, s.capRequestsPerSecond, s.nowMs);
  s.settings = settings;
  s.pressure = settings.pressure;
  s.capSlots = boundOf(capacity.slots);
  s.capKv = boundOf(capacity.kvBytes);
  s.capPerSecond = capacity.tokensPerSecond ?? 0;
  s.capRequestsPerSecond = capacity.requestsPerSecond ?? 0;
  s.workBucketSize = s.capPerSecond * burstSeconds;
  s.requestBucketSize = Math.max(1, s.capRequestsPerSecond * burstSeconds);
  s.shrink = shrinkOf(settings);
  s.noneSlots = Math.floor(lentToNone.slots * s.shrink);
  s.noneKv = Math.floor(lentToNone.kvBytes * s.shrink);
  s.spotSlots = Math.floor(lentToSpot.slots * s.shrink);
  s.spotKv = Math.floor(lentToSpot.kvBytes * s.shrink);
  if (s.shrink === before.shrink && burstSeconds === before.burstSeconds) return;
  for (const e of s.entitlements.values()) configure(s, e, e.config);
}

/** The factor by which the baselines of tier 0 shrink to what the pool has, at most 1. */
function shrinkOf({ capacity, tier0Baselines }: PoolSettings): number {
  const factor = (has: number | null, assured: number) => (has === null || !(assured > has) ? 1 : has / assured);
  const dimensions: readonly (keyof PoolAmounts)[] = ['tokensPerSecond', 'kvBytes', 'slots'];
  return dimensions.reduce((least, name) => Math.min(least, factor(capacity[name], tier0Baselines[name])), 1);
}

/** What an entitlement is now, by its latest configuration and the pool's. */
export function configure(s: PoolState, e: EntitlementState, config: Entitlement): void {
  touchRates(s, e);
  refill(e.bucket, e.basePerSecond, s.nowMs);
  const { baseline, serviceClass } = config;
  const assurable = serviceClass === 'dedicated' || serviceClass === 'guaranteed';
  e.config = config;
  e.sloFactor = sloFactorOf(config.sloMs);
  e.assured = assurable && (baseline.slots !== null || baseline.kvBytes !== null || baseline.tokensPerSecond !== null);
  e.baseSlots = baseline.slots === null ? Infinity : Math.floor(baseline.slots * s.shrink);
  e.baseKv = baseline.kvBytes === null ? Infinity : Math.floor(baseline.kvBytes * s.shrink);
  e.basePerSecond = (baseline.tokensPerSecond ?? 0) * (assurable ? s.shrink : 1);
  relend(s, e);
  updateVictim(s, e);
  classify(s, e);
}
