import { UNBOUNDED, type Capacity, type EntitlementSnapshot, type PoolAmounts, type PoolSnapshot } from '../domain/pool.js';

/** What waits is to be gone within so many seconds … */
const DRAIN_S = 10;
/** … and no sooner than in these, where what is asked for is served besides: about what a node takes to start. */
const SLOW_DRAIN_S = 60;
/** A debt fades by itself in this time (τ of debt): so fast is it to be paid. */
const DEBT_S = 30;
/** Time constants in milliseconds: of the way up, of the way down, and of what is held for each token a second. */
const UP_MS = 5_000;
const DOWN_MS = 120_000;
const HELD_MS = 60_000;
/** With less than this served a second, nothing in flight, nothing waiting and no debt, an entitlement is idle. */
const IDLE_PER_SECOND = 1;
/** More than so many times too small is no better to know. */
const MAX_UTILISATION = 1_000;

/** What a pool needs, against what it has. */
export interface ScalingSignal {
  readonly atMs: number;
  /** λ, χ and r that the pool should have now, smoothed. */
  readonly needed: PoolAmounts;
  /** needed / capacity; null where the pool counts none of it. Above 1: too small. */
  readonly utilisation: { readonly [Dimension in keyof PoolAmounts]: number | null };
  /** Averages of what is in use: their quotients are what is held for each token a second. */
  readonly inUse: PoolAmounts;
}

/**
 * The signal for an autoscaler, from the pool as it stands and the signal before. It rises within seconds and falls within minutes, so that
 * a node is not stopped in a lull and missed after it. Steps are weighted by the time between them: any scrape interval will do.
 */
export function scalingSignal(snapshot: PoolSnapshot, previous: ScalingSignal | null, nowMs: number): ScalingSignal {
  const elapsedMs = Math.max(0, nowMs - (previous?.atMs ?? nowMs));
  const inUse = smooth(previous?.inUse ?? snapshot.inUse, snapshot.inUse, elapsedMs, HELD_MS, HELD_MS);
  const now = neededNow(snapshot, inUse);
  const needed = smooth(previous?.needed ?? now, now, elapsedMs, UP_MS, DOWN_MS);
  return { atMs: Math.max(nowMs, previous?.atMs ?? nowMs), needed, utilisation: utilisationOf(needed, snapshot.capacity), inUse };
}

/**
 * What the pool should have at this moment: the sum over its entitlements of
 *
 * - elastic: min(in use + backlog / 10 s, asked for + backlog / 60 s) + debt / 30 s.
 * - dedicated, guaranteed: the same without debt, and at least the baseline. Once it is in use, all of it may be called for sooner than a node starts.
 * - spot: nothing. It takes what is left; were it counted, it would fill each new node and call for the next.
 *
 * The first of the two: what is served, and what waits besides. But in a queue that is full everybody waits as long as may be, also those who
 * are served in the end, and are counted twice; and a pool that drains its queue is full however large it is. So no more than what is asked
 * for (all asks, refused ones too), with longer to drain. Asks alone would count who asks again at once as often as it does.
 *
 * Slots and memory for a rate are in the proportion of what was held and served lately (Little's law), at most one request's worth for each that
 * waits; for debts in that of the pool's capacities. No term grows with the pool, so what a scaler does does not feed back.
 *
 * @param lately averages of what is in use.
 */
export function neededNow(snapshot: PoolSnapshot, lately: PoolAmounts = snapshot.inUse): PoolAmounts {
  const terms = { perRequest: perRequestOf(snapshot), perRate: perRateOf(lately), owed: owedRatesOf(snapshot.capacity) };
  return snapshot.entitlements.map((e) => neededBy(e, terms)).reduce(add, NOTHING);
}

type Held = Pick<PoolAmounts, 'kvBytes' | 'slots'>;

interface Terms {
  /** What a request holds that runs. */
  readonly perRequest: Held;
  /** What is held for each token a second: of what ran lately, and of the pool's capacity. */
  readonly perRate: Held;
  readonly owed: Held;
}

const NOTHING: PoolAmounts = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };

function neededBy(e: EntitlementSnapshot, { perRequest, perRate, owed }: Terms): PoolAmounts {
  if (e.serviceClass === 'spot' || isIdle(e)) return NOTHING;
  const elastic = e.serviceClass === 'elastic';
  const assured = elastic ? UNBOUNDED : e.baseline;
  const debt = elastic ? e.debtTokens / DEBT_S : 0;
  const backlog = e.waitingWork / DRAIN_S;
  const asked = e.demandTokensPerSecond + e.waitingWork / SLOW_DRAIN_S;
  const held = (of: keyof Held): number => {
    const waiting = Math.min(e.waiting * perRequest[of], product(backlog, perRate[of]));
    return Math.max(assured[of] ?? 0, Math.min(e.inUse[of] + waiting, product(asked, perRate[of])) + debt * owed[of]);
  };
  const rate = Math.min(e.servedTokensPerSecond + backlog, asked) + debt;
  return { tokensPerSecond: Math.max(assured.tokensPerSecond ?? 0, rate), kvBytes: held('kvBytes'), slots: held('slots') };
}

function isIdle(e: EntitlementSnapshot): boolean {
  return e.inFlight === 0 && e.waiting === 0 && e.debtTokens === 0 && e.servedTokensPerSecond < IDLE_PER_SECOND;
}

/** Where nothing runs, one slot, and of memory nothing is known. */
function perRequestOf({ inFlight, inUse }: PoolSnapshot): Held {
  return inFlight === 0 ? { kvBytes: 0, slots: 1 } : { kvBytes: inUse.kvBytes / inFlight, slots: inUse.slots / inFlight };
}

/** Infinite where nothing was served lately: then it bounds nothing. */
function perRateOf({ tokensPerSecond, kvBytes, slots }: PoolAmounts): Held {
  return tokensPerSecond < IDLE_PER_SECOND ? { kvBytes: Infinity, slots: Infinity } : { kvBytes: kvBytes / tokensPerSecond, slots: slots / tokensPerSecond };
}

/** There is debt only where the pool has a rate. */
function owedRatesOf({ tokensPerSecond, kvBytes, slots }: Capacity): Held {
  if (tokensPerSecond === null || tokensPerSecond <= 0) return { kvBytes: 0, slots: 0 };
  return { kvBytes: (kvBytes ?? 0) / tokensPerSecond, slots: (slots ?? 0) / tokensPerSecond };
}

/** Of a rate that may be nothing, and a proportion that may be infinite. */
function product(rate: number, proportion: number): number {
  return rate > 0 ? rate * proportion : 0;
}

function add(a: PoolAmounts, b: PoolAmounts): PoolAmounts {
  return { tokensPerSecond: a.tokensPerSecond + b.tokensPerSecond, kvBytes: a.kvBytes + b.kvBytes, slots: a.slots + b.slots };
}

function smooth(before: PoolAmounts, now: PoolAmounts, elapsedMs: number, upMs: number, downMs: number): PoolAmounts {
  const of = (dimension: keyof PoolAmounts): number => {
    const left = Math.exp(-elapsedMs / (now[dimension] > before[dimension] ? upMs : downMs));
    return now[dimension] + (before[dimension] - now[dimension]) * left;
  };
  return { tokensPerSecond: of('tokensPerSecond'), kvBytes: of('kvBytes'), slots: of('slots') };
}

function utilisationOf(needed: PoolAmounts, capacity: Capacity): ScalingSignal['utilisation'] {
  const of = (dimension: keyof PoolAmounts): number | null => {
    const has = capacity[dimension];
    if (has === null) return null;
    if (needed[dimension] === 0) return 0;
    return has > 0 ? Math.min(MAX_UTILISATION, needed[dimension] / has) : MAX_UTILISATION;
  };
  return { tokensPerSecond: of('tokensPerSecond'), kvBytes: of('kvBytes'), slots: of('slots') };
}
