import type { PoolAnswer, PoolAsk, PoolEnd, PoolEvent, PoolRenewal, PoolSettings, PoolSnapshot } from '../domain/pool.js';
import { answerAgain, decide } from './asking.js';
import { dropIdle } from './idle.js';
import { advanceClock, CLAIM_MS, endLease, expire, refuseWaiter, renewAll } from './leases.js';
import { pump } from './pump.js';
import { endSpot, reclaim } from './reclaim.js';
import { applySettings } from './settings.js';
import { snapshotOf } from './snapshot.js';
import { newPool, type PoolState } from './state.js';

export interface SchedulerOptions {
  /** At most so many waiters are dispatched by one call; when there are more, `nextAtMs` is now. */
  readonly dispatchesPerCall?: number;
}

/** What is told to a processor. */
export interface OwnedEvent {
  readonly owner: string;
  readonly event: PoolEvent;
}

/**
 * One pool: who is served, who waits, who is refused. Deterministic: time comes with each call, and only calls change anything. The reference
 * for stores that decide elsewhere.
 */
export class PoolScheduler {
  /** All there is to it. For tests that watch over invariants; nobody else looks in here. */
  readonly state: PoolState;

  constructor(poolId: string, { dispatchesPerCall = Infinity }: SchedulerOptions = {}) {
    this.state = newPool(poolId, dispatchesPerCall);
  }

  /** Dispatches, queues or refuses. The same lease id again answers as it stands now. */
  ask(ask: PoolAsk): PoolAnswer {
    const s = this.state;
    this.#begin(ask.nowMs, ask.pool);
    const again = answerAgain(s, ask.leaseId);
    if (again !== null) pump(s);
    const answer = again ?? decide(s, ask);
    this.#finish();
    return answer.kind === 'unavailable' ? answer : { ...answer, nextAtMs: this.nextAtMs(ask.nowMs) };
  }

  /** A dispatched request is over; `work` is what it truly took, in tokens. */
  settle(leaseId: string, work: number, nowMs: number): PoolEnd {
    return this.#end(leaseId, work, nowMs);
  }

  /** As if it had never been. */
  cancel(leaseId: string, nowMs: number): PoolEnd {
    return this.#end(leaseId, null, nowMs);
  }

  /** Signs of life. Of a running lease they tell work or KV above 0; the first of these takes a grant up. */
  renew(owner: string, renewals: readonly PoolRenewal[], nowMs: number): void {
    this.#begin(nowMs, null);
    renewAll(this.state, owner, renewals);
    pump(this.state);
    this.#finish();
  }

  /** Does what has come due by time alone, with settings that may have changed. */
  tick(settings: PoolSettings, nowMs: number): void {
    this.#begin(nowMs, settings);
    pump(this.state);
    this.#finish();
  }

  /** When something happens by time alone; null: nothing does. */
  nextAtMs(nowMs: number): number | null {
    const s = this.state;
    const now = Math.max(Math.floor(nowMs), s.nowMs);
    if (s.more) return now;
    let next = Math.min(s.deadlines.first()?.key ?? Infinity, s.ripening.first()?.key ?? Infinity, s.rateReadyMs, s.reclaimMs);
    const granted = s.granted.first();
    if (granted !== null) next = Math.min(next, s.nowMs + CLAIM_MS - (s.clockMs - granted.key));
    return next === Infinity ? null : Math.max(now, next);
  }

  /** What owners are to be told since this was asked last, in order. */
  takeEvents(): OwnedEvent[] {
    const { events } = this.state;
    if (events.length === 0) return [];
    this.state.events = [];
    return events;
  }

  snapshot(nowMs: number): PoolSnapshot {
    return snapshotOf(this.state, nowMs);
  }

  #end(leaseId: string, work: number | null, nowMs: number): PoolEnd {
    this.#begin(nowMs, null);
    const end = endLease(this.state, leaseId, work);
    pump(this.state);
    this.#finish();
    return end;
  }

  #begin(nowMs: number, settings: PoolSettings | null): void {
    const s = this.state;
    advanceClock(s, nowMs);
    const before = s.pressure;
    if (settings !== null) applySettings(s, settings);
    if (s.pressure === 'critical' && before !== 'critical') refuseBackground(s);
    expire(s);
  }

  #finish(): void {
    const s = this.state;
    if (s.pressure === 'critical') endSpot(s);
    reclaim(s);
    dropIdle(s);
  }
}

/** Memory is critical: what waits in the background is refused. */
function refuseBackground(s: PoolState): void {
  for (const e of [...s.entitlements.values()]) {
    for (let lease = e.waiting.first; lease !== null; ) {
      const next = lease.after;
      if (lease.background) refuseWaiter(s, lease, 'pool_busy');
      lease = next;
    }
  }
}
