import { decay10, decay30 } from './decay.js';
import type { EntitlementState, PoolState, Rates } from './state.js';

/** Averages are over so long. */
export const AVERAGE_S = 10;
/** A debt is at most so many seconds of baseline. */
const MAX_DEBT_S = 60;
/** A debt below this many tokens is forgotten when it decays. */
const LEAST_DEBT = 1;
/** Who waits less than this waits for the next slot, as everybody does at high load, and not for its share. */
const OWED_AFTER_MS = 1_000;
const STEP_MS = 1_000;
const MAX_STEPS = 60;

/** What overuse and debt depend on. */
export interface RateTerms {
  /** λ of the baseline; 0: neither overuse nor debt. */
  readonly basePerSecond: number;
  /** φ · baseline, below which debt grows while somebody waits; 0: no debt. */
  readonly duePerSecond: number;
  readonly waits: boolean;
  /** Work that waits, in tokens. */
  readonly waitingWork: number;
}

const PLAIN: RateTerms = { basePerSecond: 0, duePerSecond: 0, waits: false, waitingWork: 0 };

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

/**
 * Nobody is owed more than it wants: what it asks for a second, or its backlog within the time of an average. (Without that, who wants a
 * quarter of its baseline and waits for slots now and then is owed the other three quarters for ever.)
 */
function stepRates(rates: Rates, { basePerSecond, duePerSecond: most, waits, waitingWork }: RateTerms, ms: number): void {
  const keep = decay10(ms);
  const served = servedOf(rates);
  const duePerSecond = Math.min(most, Math.max(rates.demand, served + waitingWork / AVERAGE_S));
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
function termsOf(s: PoolState, e: EntitlementState, phi: number, waits: boolean): RateTerms {
  if (s.capPerSecond === 0 || e.basePerSecond === 0) return PLAIN;
  const duePerSecond = e.config.serviceClass === 'elastic' ? phi * e.basePerSecond : 0;
  return { basePerSecond: e.basePerSecond, duePerSecond, waits, waitingWork: e.waitingWork };
}

/** Brings an entitlement's rates to `nowMs`: until its first waiter has waited long enough to be owed something, and from there on. */
function advanceEntitlement(s: PoolState, e: EntitlementState, rates: Rates, phi: number, nowMs: number): void {
  const owedFromMs = e.waiting.first === null ? Infinity : e.waiting.first.askedMs + OWED_AFTER_MS;
  if (rates.updatedMs < owedFromMs) advanceRates(rates, termsOf(s, e, phi, false), Math.min(owedFromMs, nowMs));
  if (rates.updatedMs < nowMs) advanceRates(rates, termsOf(s, e, phi, true), nowMs);
}

/** To be called before anything of an entitlement changes that its rates depend on. */
export function touchRates(s: PoolState, e: EntitlementState): void {
  if (s.rates.updatedMs < s.nowMs) {
    advanceRates(s.rates, PLAIN, s.nowMs);
    advanceRates(s.tier0Rates, PLAIN, s.nowMs);
  }
  if (e.rates.updatedMs < s.nowMs) advanceEntitlement(s, e, e.rates, phiOf(s), s.nowMs);
}

/** What is left of rates at `nowMs`, for those who only look. */
export function peekRates(s: PoolState, e: EntitlementState, phi: number, nowMs: number): Rates {
  const copy = { ...e.rates };
  advanceEntitlement(s, e, copy, phi, nowMs);
  return copy;
}

export function peekPlain(rates: Readonly<Rates>, nowMs: number): Rates {
  const copy = { ...rates };
  advanceRates(copy, PLAIN, nowMs);
  return copy;
}

/** Books so much work (or takes it back, if negative) as served now. */
export function addServed(rates: Rates, work: number): void {
  rates.served += work / AVERAGE_S;
}

export function addDemand(rates: Rates, work: number): void {
  rates.demand += work / AVERAGE_S;
}
