import type { PoolAnswer, PoolAsk, PoolRenewal, PoolSettings, PoolSnapshot } from '../../domain/pool.js';
import { adoptRunning, adoptWaiting } from '../../pool/moving.js';
import { DrivenScheduler, type DrivenParts } from './driven.js';
import type { OwnLease } from './own-leases.js';
import { poolShare, shareOf } from './share.js';

/** A processor's own part of a pool while no keeper answers: the same scheduler, with 1/N of everything. What already runs here counts. */
export class LocalShare {
  readonly #driven: DrivenScheduler;

  constructor(
    parts: Omit<DrivenParts, 'dispatchesPerCall'>,
    private readonly processors: number,
  ) {
    this.#driven = new DrivenScheduler(parts);
  }

  /** A lease that runs here counts; one that waits may be served here. */
  adopt(lease: OwnLease, nowMs: number): void {
    const { scheduler } = this.#driven;
    if (scheduler.state.leases.has(lease.ask.leaseId)) return;
    const atMs = this.#driven.nowMs(nowMs);
    const moved = { ...lease, ask: shareOf(lease.ask, this.processors) };
    if (lease.ranMs === null) adoptWaiting(scheduler, moved, atMs);
    else adoptRunning(scheduler, moved, Infinity, atMs);
    lease.inShare = true;
  }

  ask(ask: PoolAsk): PoolAnswer {
    const nowMs = this.#driven.nowMs(ask.nowMs);
    const answer = this.#driven.scheduler.ask({ ...shareOf(ask, this.processors), nowMs });
    this.#driven.settle();
    return answer.kind === 'unavailable' ? answer : { ...answer, nextAtMs: this.#driven.nextAtMs(nowMs) };
  }

  /** `work` null: as if it had never been. */
  end(leaseId: string, work: number | null, nowMs: number): void {
    const atMs = this.#driven.nowMs(nowMs);
    if (work === null) this.#driven.scheduler.cancel(leaseId, atMs);
    else this.#driven.scheduler.settle(leaseId, work, atMs);
    this.#driven.settle();
  }

  renew(owner: string, renewals: readonly PoolRenewal[], nowMs: number): void {
    this.#driven.scheduler.renew(owner, renewals, this.#driven.nowMs(nowMs));
    this.#driven.settle();
  }

  tick(settings: PoolSettings, nowMs: number): number | null {
    const atMs = this.#driven.nowMs(nowMs);
    this.#driven.scheduler.tick(poolShare(settings, this.processors), atMs);
    this.#driven.settle();
    return this.#driven.nextAtMs(atMs);
  }

  /** Dispatches what may be, after waiters were adopted. */
  look(nowMs: number): void {
    const { settings } = this.#driven.scheduler.state;
    if (settings !== null) this.#driven.scheduler.tick(settings, this.#driven.nowMs(nowMs));
    this.#driven.settle();
  }

  snapshot(nowMs: number): PoolSnapshot | null {
    const { scheduler } = this.#driven;
    return scheduler.state.settings === null ? null : scheduler.snapshot(this.#driven.nowMs(nowMs));
  }

  stop(): void {
    this.#driven.stop();
  }
}
