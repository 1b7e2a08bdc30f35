import { clamp } from './amounts.js';
import type { EntitlementState, PoolState, Rates } from './state.js';

/** The SLO that counts as 1. */
const PLAIN_SLO_MS = 2_000;
/** A debt of so many seconds of baseline doubles the weight. */
const DEBT_S = 4;
/** Who begins to wait may be so many seconds of its baseline behind the others. */
const CREDIT_S = 2;

export interface Weight {
  readonly weight: number;
  readonly sloFactor: number;
  readonly burstFactor: number;
  readonly debtFactor: number;
}

/** f(SLO) = clamp((2 s / SLO)^½, ¼, 4). */
export function sloFactorOf(sloMs: number): number {
  return sloMs > 0 ? clamp(Math.sqrt(PLAIN_SLO_MS / sloMs), 0.25, 4) : 1;
}

/** f(Burst) = 1 / (1 + B). */
export function burstFactorOf(s: PoolState, e: EntitlementState, rates: Readonly<Rates>): number {
  return hasRates(s, e) ? 1 / (1 + rates.overuse) : 1;
}

/** f(Debt) = 1 + D / (baseline · 4 s). */
export function debtFactorOf(s: PoolState, e: EntitlementState, rates: Readonly<Rates>): number {
  return hasRates(s, e) && e.config.serviceClass === 'elastic' ? 1 + rates.debt / (e.basePerSecond * DEBT_S) : 1;
}

/** w by rates that were brought to now. */
export function weightOf(s: PoolState, e: EntitlementState, rates: Readonly<Rates> = e.rates): number {
  return e.config.classWeight * e.sloFactor * burstFactorOf(s, e, rates) * debtFactorOf(s, e, rates);
}

/** w and its factors; spot has no w. */
export function explainWeight(s: PoolState, e: EntitlementState, rates: Readonly<Rates>): Weight {
  if (e.config.serviceClass === 'spot') return { weight: 0, sloFactor: 1, burstFactor: 1, debtFactor: 1 };
  return {
    weight: weightOf(s, e, rates),
    sloFactor: e.sloFactor,
    burstFactor: burstFactorOf(s, e, rates),
    debtFactor: debtFactorOf(s, e, rates),
  };
}

/** How far in v an entitlement that begins to wait may be behind those that wait. */
export function creditOf(e: EntitlementState, weight: number): number {
  return (CREDIT_S * e.basePerSecond) / weight;
}

function hasRates(s: PoolState, e: EntitlementState): boolean {
  return s.capPerSecond > 0 && e.basePerSecond > 0;
}
