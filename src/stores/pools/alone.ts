import type { PoolAnswer, PoolRenewal, PoolSettings, PoolSnapshot } from '../../domain/pool.js';
import type { OwnedEvent } from '../../pool/scheduler.js';
import { LocalShare } from './local-share.js';
import type { OwnLease, OwnLeases } from './own-leases.js';
import type { MemberParts } from './parts.js';
import { uncounted, uncountedLate } from './share.js';

/** Without any word of how many processors there are, so many are thought of: as in decision 006. */
const UNKNOWN_PROCESSORS = 4;

export interface AloneParts extends Pick<MemberParts, 'poolId' | 'clock' | 'time' | 'mode' | 'observer'> {
  readonly leases: OwnLeases;
  /** The time to go by. */
  readonly nowMs: () => number;
  /** How many processors used the pool when that was last known; 0: never. */
  readonly processors: () => number;
  readonly onEvents: (events: readonly OwnedEvent[]) => void;
}

/** What a processor decides while no keeper answers: by its share of the pool, or as it is configured. */
export class Alone {
  #share: LocalShare | null = null;
  /** Something was decided here that a keeper is to know. */
  #hasDecided = false;

  constructor(private readonly parts: AloneParts) {}

  get hasDecided(): boolean {
    return this.#hasDecided;
  }

  decide({ ask }: OwnLease): PoolAnswer {
    const { mode, observer, poolId, nowMs } = this.parts;
    observer.poolDecidedAway(poolId, mode);
    if (mode === 'closed') return { kind: 'unavailable' };
    return mode === 'open' ? uncounted(ask) : this.#use().ask({ ...ask, nowMs: nowMs() });
  }

  /** A lease is in the share until a keeper knows it. */
  holds(lease: OwnLease): void {
    lease.inShare = true;
    this.#hasDecided = true;
  }

  /** `work` null: as if it had never been. */
  end({ ask, inShare }: OwnLease, work: number | null): void {
    if (inShare) this.#share?.end(ask.leaseId, work, this.parts.nowMs());
  }

  renew(owner: string, renewals: readonly PoolRenewal[]): void {
    this.#share?.renew(owner, renewals, this.parts.nowMs());
  }

  tick(settings: PoolSettings, nowMs: number): number | null {
    return this.#share?.tick(settings, nowMs) ?? null;
  }

  snapshot(nowMs: number): PoolSnapshot | null {
    return this.#share?.snapshot(nowMs) ?? null;
  }

  /** Who waits may be served from the share, or passes, if that is how it is. With `closed` it goes on waiting. */
  adoptWaiters(waiters: readonly OwnLease[]): void {
    const { mode, onEvents } = this.parts;
    if (mode === 'closed') return;
    const nowMs = this.parts.nowMs();
    for (const lease of waiters) {
      if (mode === 'local') this.#use().adopt(lease, nowMs);
      this.holds(lease);
    }
    if (mode === 'open') onEvents(waiters.map(({ ask, askedMs }) => ({ owner: ask.owner, event: uncountedLate(ask, nowMs - askedMs) })));
    this.#share?.look(nowMs);
  }

  /** A keeper decides again. */
  stop(): void {
    this.#share?.stop();
    this.#share = null;
    this.#hasDecided = false;
  }

  #use(): LocalShare {
    if (this.#share !== null) return this.#share;
    const { poolId, clock, time, onEvents, leases, processors, nowMs } = this.parts;
    const share = new LocalShare({ poolId, clock, time, onEvents }, processors() || UNKNOWN_PROCESSORS);
    this.#share = share;
    // What runs here already is part of the share.
    const atMs = nowMs();
    for (const lease of leases.values()) if (lease.state === 'running' && !lease.inShare) share.adopt(lease, atMs);
    return share;
  }
}
