import type { PoolRefusalReason, PoolSettings, PoolSnapshot } from '../domain/pool.js';
import type { SimRequest } from './request.js';

/** Whom a policy tells what becomes of requests. It only takes note: it must not call the policy from within. */
export interface PolicyHost {
  dispatch(request: SimRequest): void;
  /** @param neededWaitMs an estimate of when it would have been served, from now. */
  refuse(request: SimRequest, reason: PoolRefusalReason, neededWaitMs: number): void;
  endStream(request: SimRequest, why: 'reclaimed' | 'pressure'): void;
  /** Work of a running request until now, in tokens. */
  workOf(request: SimRequest, nowMs: number): number;
}

/** Who decides what goes to the engine, and when. */
export interface SimPolicy {
  /** The host is told now or later. */
  ask(request: SimRequest, nowMs: number): void;
  /** A dispatched request is over: so much did it truly take. */
  settle(request: SimRequest, work: number, nowMs: number): void;
  /** The client of a waiting request is gone. */
  leave(request: SimRequest, nowMs: number): void;
  /** Requests of a processor that wait or run. */
  renew(processor: number, requests: ReadonlySet<SimRequest>, nowMs: number): void;
  /** The pool changed. */
  configure(settings: PoolSettings, nowMs: number): void;
  /** To be called at `nextAtMs`. */
  tick(nowMs: number): void;
  /** When something happens by time alone; Infinity: never. */
  readonly nextAtMs: number;
  readonly waiting: number;
  /** Null for those that have nothing of the kind. */
  snapshot(nowMs: number): PoolSnapshot | null;
}
