import type { PoolRefusalReason, PoolSnapshot } from '../domain/pool.js';
import type { SimRequest } from './request.js';

/** What the pool looked like when something happened. */
export interface Situation {
  readonly nowMs: number;
  /** Slots of the engine, those in use, and requests inside its own queue. */
  readonly slots: number;
  readonly running: number;
  readonly engineQueued: number;
  /** Held at the gate. */
  readonly waiting: number;
}

/** Watches a run, for questions that the report does not answer. Each method may be left out. */
export interface SimObserver {
  dispatched?(request: SimRequest, situation: Situation): void;
  refused?(request: SimRequest, reason: PoolRefusalReason, situation: Situation): void;
  /** Every attempt, however it ended (see `endedWhy`). */
  ended?(request: SimRequest, situation: Situation): void;
  /** At every point of the series; `snapshot` is null for policies without one. */
  sampled?(snapshot: PoolSnapshot | null, situation: Situation): void;
}
