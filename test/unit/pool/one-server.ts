import { PoolScheduler } from '../../../src/pool/scheduler.js';
import type { PoolSettings } from '../../../src/domain/pool.js';
import { ask, T0, type AskParts } from '../../conformance/pool-builders.js';

/** An arrival: at milliseconds from the start, with what it truly takes. */
export interface Arrival extends AskParts {
  readonly id: string;
  readonly at: number;
  readonly serviceMs: number;
}

export interface Outcome {
  readonly id: string;
  readonly what: 'served' | 'refused';
  /** Milliseconds after the start: when it was dispatched, or refused. */
  readonly at: number;
}

/** Plays arrivals through one pool whose streams run for exactly their service time, until `untilMs`. What each of them came to, in order. */
export function playArrivals(settings: PoolSettings, arrivals: readonly Arrival[], untilMs: number): readonly Outcome[] {
  const pool = new PoolScheduler(settings.id);
  const outcomes: Outcome[] = [];
  const byId = new Map(arrivals.map((one) => [one.id, one]));
  const running: { id: string; endMs: number }[] = [];
  const coming = [...arrivals].sort((a, b) => a.at - b.at);

  const start = (id: string, at: number): void => {
    outcomes.push({ id, what: 'served', at });
    running.push({ id, endMs: at + byId.get(id)!.serviceMs });
    running.sort((a, b) => a.endMs - b.endMs);
  };
  const hear = (at: number): void => {
    for (const { event } of pool.takeEvents()) {
      if (event.kind === 'granted') start(event.leaseId, at);
      else if (event.kind === 'refused') outcomes.push({ id: event.leaseId, what: 'refused', at });
    }
  };
  let beatMs = 1_000;
  for (;;) {
    const pending = [running[0]?.endMs ?? Infinity, coming[0]?.at ?? Infinity, beatMs];
    const at = Math.min(...pending);
    if (at >= untilMs) return outcomes;
    if (running[0]?.endMs === at) {
      const { id } = running.shift()!;
      pool.settle(id, byId.get(id)!.demand?.work ?? 100, T0 + at);
    } else if (coming[0]?.at === at) {
      const { id, demand, entitlement, maxWaitMs } = coming.shift()!;
      const answer = pool.ask({ ...ask(id, { ...(demand && { demand }), pool: settings, at }), ...(entitlement && { entitlement }), ...(maxWaitMs !== undefined && { maxWaitMs }) });
      if (answer.kind === 'dispatched') start(id, at);
      if (answer.kind === 'refused') outcomes.push({ id, what: 'refused', at });
    } else {
      const live = [...pool.state.leases.keys()].map((leaseId) => ({ leaseId, work: running.some(({ id }) => id === leaseId) ? 1 : 0, kvBytes: 0 }));
      pool.renew('p1', live, T0 + at);
      pool.tick(settings, T0 + at);
      beatMs += 1_000;
    }
    hear(at);
  }
}
