import { decay10, decay30 } from './decay.js';
import type { EntitlementState, PoolState, Rates } from './state.js';

/** Averages are over so long. */
export const AVERAGE_S = 10;
/** A debt is at most so many seconds of baseline. */
const MAX_DEBT_S = 60;
/** A debt below this many tokens is forgotten when it decays. */
const LEAST_DEBT = 1;
const STEP_MS = 1_000;
const MAX_STEPS = 60;

/** What overuse and debt depend on. */
export interface RateTerms {
  /** λ of the baseline; 0: neither overuse nor debt. */
  readonly basePerSecond: number;
  /** φ · baseline, below which debt grows while somebody waits; 0: no debt. */
  readonly duePerSecond: number;
  readonly waits: boolean;
}

const PLAIN: RateTerms = { basePerSecond: 0, duePerSecond: 0, waits: false };

export function servedOf(rates: Readonly<Rates>): number {
  return Math.max(0, rates.served);
}

/** Brings rates to `nowMs` in steps of a second; after a minute the rest is one step. */
export function advanceRates(rates: Rates, terms: RateTerms, nowMs: number): void {
  let left = nowMs - rates.updatedMs;
  for (let step = 0; left > 0; step++) {
    const ms = step < MAX_STEPS ? Math.min(STEP_MS, left) : left;
    stepRates(rates, terms, ms);
    left -= ms;
  }
  rates.updatedMs = Math.max(rates.updatedMs, nowMs);
}

function stepRates(rates: Rates, { basePerSecond, duePerSecond, waits }: RateTerms, ms: number): void {
  const keep = decay10(ms);
  const served = servedOf(rates);
  if (basePerSecond > 0) rates.overuse = rates.overuse * keep + (1 - keep) * Math.max(0, served / basePerSecond - 1);
  else rates.overuse = 0;
  if (waits && served < duePerSecond) {
    rates.debt = Math.min(MAX_DEBT_S * basePerSecond, rates.debt + ((duePerSecond - served) * ms) / 1_000);
  } else if (rates.debt > 0) {
    const debt = rates.debt * decay30(ms);
    rates.debt = basePerSecond > 0 && debt >= LEAST_DEBT ? debt : 0;
  }
  rates.served *= keep;
  rates.demand *= keep;
}

/** φ: what of the elastic baselines the pool can serve beside tier 0. */
export function phiOf(s: PoolState, tier0Rates: Readonly<Rates> = s.tier0Rates): number {
  const elastic = s.settings?.elasticTokensPerSecond ?? 0;
  if (!(elastic > 0)) return 1;
  return Math.min(1, Math.max(0, s.capPerSecond - servedOf(tier0Rates)) / elastic);
}

/** Pools without λ and entitlements without one have neither overuse nor debt; only elastic ones have debt. */
export function termsOf(s: PoolState, e: EntitlementState, phi = phiOf(s)): RateTerms {
  if (s.capPerSecond === 0 || e.basePerSecond === 0) return PLAIN;
  const duePerSecond = e.config.serviceClass === 'elastic' ? phi * e.basePerSecond : 0;
  return { basePerSecond: e.basePerSecond, duePerSecond, waits: e.waiting.count > 0 };
}

/** To be called before anything of an entitlement changes that its rates depend on. */
export function touchRates(s: PoolState, e: EntitlementState): void {
  if (s.rates.updatedMs < s.nowMs) {
    advanceRates(s.rates, PLAIN, s.nowMs);
    advanceRates(s.tier0Rates, PLAIN, s.nowMs);
  }
  if (e.rates.updatedMs < s.nowMs) advanceRates(e.rates, termsOf(s, e), s.nowMs);
}

/** What is left of rates at `nowMs`, for those who only look. */
export function peekRates(rates: Readonly<Rates>, terms: RateTerms, nowMs: number): Rates {
  const copy = { ...rates };
  advanceRates(copy, terms, nowMs);
  return copy;
}

export function peekPlain(rates: Readonly<Rates>, nowMs: number): Rates {
  return peekRates(rates, PLAIN, nowMs);
}

/** Books so much work (or takes it back, if negative) as served now. */
export function addServed(rates: Rates, work: number): void {
  rates.served += work / AVERAGE_S;
}

export function addDemand(rates: Rates, work: number): void {
  rates.demand += work / AVERAGE_S;
}
