import type { Random } from './random.js';

/** When the requests of a tenant come. */
export type Arrivals =
  /** Independent of each other. */
  | { readonly kind: 'poisson'; readonly perSecond: number }
  /** At equal distances. */
  | { readonly kind: 'regular'; readonly perSecond: number }
  /**
   * On and off (a Markov-modulated Poisson process of two states): exponential times with these means in each, Poisson within. The mean
   * rate is (on · onSeconds + off · offSeconds) / (onSeconds + offSeconds).
   */
  | { readonly kind: 'bursts'; readonly onPerSecond: number; readonly offPerSecond: number; readonly onSeconds: number; readonly offSeconds: number }
  /** So many clients, each of which asks again a while after it has its answer; thinking times are exponential. Who got nothing waits for `Retry-After` before that. */
  | { readonly kind: 'closed'; readonly clients: number; readonly thinkSeconds: number }
  /** Rows of the trace: those that name it, and of the others its share by weight. */
  | { readonly kind: 'trace'; readonly weight: number };

/** Gives the times of an open process one after the other. */
export type NextArrival = (afterMs: number) => number;

/** @param rateFactor multiplies the rates. Not for closed loops and traces, which have no process of their own. */
export function openArrivals(arrivals: Arrivals, random: Random, rateFactor: number): NextArrival | null {
  switch (arrivals.kind) {
    case 'poisson': {
      const perMs = (arrivals.perSecond * rateFactor) / 1000;
      return (afterMs) => (perMs > 0 ? afterMs + random.exponential(1 / perMs) : Infinity);
    }
    case 'regular': {
      const perMs = (arrivals.perSecond * rateFactor) / 1000;
      return (afterMs) => (perMs > 0 ? afterMs + 1 / perMs : Infinity);
    }
    case 'bursts':
      return burstArrivals(arrivals, random, rateFactor);
    case 'closed':
    case 'trace':
      return null;
  }
}

function burstArrivals(arrivals: Extract<Arrivals, { kind: 'bursts' }>, random: Random, rateFactor: number): NextArrival {
  const { onSeconds, offSeconds } = arrivals;
  if (rateFactor * (arrivals.onPerSecond + arrivals.offPerSecond) <= 0) return () => Infinity;
  let on = random.uniform() * (onSeconds + offSeconds) < onSeconds;
  let untilMs = random.exponential((on ? onSeconds : offSeconds) * 1000);
  return (afterMs) => {
    let fromMs = afterMs;
    for (;;) {
      const perMs = ((on ? arrivals.onPerSecond : arrivals.offPerSecond) * rateFactor) / 1000;
      const at = perMs > 0 ? fromMs + random.exponential(1 / perMs) : Infinity;
      if (at < untilMs) return at;
      // Poisson processes have no memory: the rest of the gap is drawn afresh in the next state.
      fromMs = Math.max(fromMs, untilMs);
      on = !on;
      untilMs = fromMs + random.exponential((on ? onSeconds : offSeconds) * 1000);
    }
  };
}

/** Mean rate of an open process; null for closed loops and traces. */
export function meanPerSecond(arrivals: Arrivals): number | null {
  switch (arrivals.kind) {
    case 'poisson':
    case 'regular':
      return arrivals.perSecond;
    case 'bursts': {
      const { onPerSecond, offPerSecond, onSeconds, offSeconds } = arrivals;
      return (onPerSecond * onSeconds + offPerSecond * offSeconds) / (onSeconds + offSeconds);
    }
    case 'closed':
    case 'trace':
      return null;
  }
}
