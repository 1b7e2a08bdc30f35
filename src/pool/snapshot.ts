import { UNBOUNDED, type EntitlementSnapshot, type PoolSnapshot } from '../domain/pool.js';
import { peekPlain, peekRates, phiOf, servedOf } from './rates.js';
import type { EntitlementState, PoolState } from './state.js';
import { explainWeight } from './weights.js';

/** A pool as it stands at `nowMs`, entitlements by id. To look changes nothing. */
export function snapshotOf(s: PoolState, nowMs: number): PoolSnapshot {
  const now = Math.max(Math.floor(nowMs), s.nowMs);
  const phi = phiOf(s, peekPlain(s.tier0Rates, now));
  const entitlements = [...s.entitlements.values()].map((e) => entitlementAt(s, e, phi, now));
  return {
    poolId: s.id,
    capacity: s.settings?.capacity ?? UNBOUNDED,
    pressure: s.pressure,
    waiting: s.waitingCount,
    waitingBytes: s.waitingBytes,
    inFlight: s.inFlight,
    inUse: { tokensPerSecond: servedOf(peekPlain(s.rates, now)), kvBytes: s.kvBytes, slots: s.slots },
    entitlements: entitlements.sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

function entitlementAt(s: PoolState, e: EntitlementState, phi: number, nowMs: number): EntitlementSnapshot {
  const rates = peekRates(s, e, phi, nowMs);
  const { weight, sloFactor, burstFactor, debtFactor } = explainWeight(s, e, rates);
  return {
    id: e.id,
    serviceClass: e.config.serviceClass,
    inFlight: e.inFlight,
    inUse: { tokensPerSecond: servedOf(rates), kvBytes: e.kvBytes, slots: e.slots },
    baseline: e.config.baseline,
    waiting: e.waiting.count,
    waitingWork: e.waitingWork,
    servedTokensPerSecond: servedOf(rates),
    demandTokensPerSecond: Math.max(0, rates.demand),
    debtTokens: rates.debt,
    overuse: rates.overuse,
    weight,
    sloFactor,
    burstFactor,
    debtFactor,
    virtualTime: e.v,
  };
}
