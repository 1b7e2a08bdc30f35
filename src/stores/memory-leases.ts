import type { LedgerEvent, ReserveResult } from '../domain/lease.js';
import { Generations } from './generations.js';
import { advance, hasExpired, startClock, type LeaseClock } from './lease-clock.js';
import type { Holding } from './memory-buckets.js';

/** A lease from its reservation until it is forgotten. */
export interface Lease {
  readonly id: string;
  readonly tenantId: string;
  readonly rootId: string;
  readonly startedMs: number;
  readonly holdings: readonly Holding[];
  /** What the reservation was answered with. */
  readonly result: ReserveResult;
  readonly draft: LedgerEvent;
  /** Its last sign of life, by the clock of its root. */
  aliveMs: number;
  /** Output as its last renewal told it; null while nobody renewed it, so that nothing was dispatched. */
  outputTokens: number | null;
  /** What is booked of it, corrections included: it was reaped, at least once; null if nothing is. */
  booked: LedgerEvent | null;
}

interface Root extends LeaseClock {
  /** Those that run, by their last sign of life. */
  readonly leases: Map<string, Lease>;
}

interface Ended {
  readonly rootId: string;
  readonly result: ReserveResult;
}

export type FoundLease =
  | { readonly kind: 'running'; readonly lease: Lease }
  | { readonly kind: 'reaped'; readonly lease: Lease }
  | { readonly kind: 'ended'; readonly result: ReserveResult };

export interface LeaseBounds {
  /** Ended leases are remembered until so many newer ones ended, or for `endedMs`; reaped ones likewise, for `reapedMs`. */
  readonly ended: number;
  readonly endedMs: number;
  readonly reapedMs: number;
}

/** Leases that run, those that others settled for dead, and what is remembered of the rest. */
export class LeaseTable {
  readonly #running = new Map<string, Lease>();
  readonly #roots = new Map<string, Root>();
  readonly #reaped: Generations<Lease>;
  readonly #ended: Generations<Ended>;

  constructor({ ended, endedMs, reapedMs }: LeaseBounds) {
    this.#ended = new Generations({ entries: ended, ageMs: endedMs });
    this.#reaped = new Generations({ entries: ended, ageMs: reapedMs });
  }

  get size(): number {
    return this.#running.size;
  }

  /** A call for a root: its clock moves on. A root without leases needs none. */
  touch(rootId: string, nowMs: number): void {
    const root = this.#roots.get(rootId);
    if (root !== undefined) advance(root, nowMs);
  }

  /** The lease of that id, if it is known. To look counts as a call for its root. */
  find(leaseId: string, nowMs: number): FoundLease | null {
    const running = this.#running.get(leaseId);
    const reaped = this.#reaped.get(leaseId);
    const ended = this.#ended.get(leaseId);
    const known = running ?? reaped ?? ended;
    if (known === undefined) return null;
    this.touch(known.rootId, nowMs);
    if (running !== undefined) return { kind: 'running', lease: running };
    return reaped === undefined ? { kind: 'ended', result: known.result } : { kind: 'reaped', lease: reaped };
  }

  /** A lease begins, or one that was taken for dead runs again. */
  start(lease: Lease, nowMs: number): void {
    const root = this.#roots.get(lease.rootId) ?? this.#newRoot(lease.rootId, nowMs);
    lease.aliveMs = root.clockMs;
    root.leases.set(lease.id, lease);
    this.#running.set(lease.id, lease);
    this.#reaped.delete(lease.id);
  }

  /** A running lease gave a sign of life. */
  keepAlive(lease: Lease): void {
    const root = this.#roots.get(lease.rootId);
    if (root === undefined) return;
    root.leases.delete(lease.id);
    root.leases.set(lease.id, lease);
    lease.aliveMs = root.clockMs;
  }

  /** Those that nobody renewed in time; within a root by their last sign of life, then by id. A call for every root. */
  expired(nowMs: number): readonly Lease[] {
    const dead: Lease[] = [];
    for (const root of this.#roots.values()) {
      advance(root, nowMs);
      dead.push(...expiredOf(root));
    }
    return dead;
  }

  /** A running lease is taken for dead. */
  reap(lease: Lease, nowMs: number): void {
    this.#remove(lease);
    this.#reaped.set(lease.id, lease, nowMs);
  }

  /** A lease has ended for good. */
  end(lease: Lease, nowMs: number): void {
    this.#remove(lease);
    this.#reaped.delete(lease.id);
    this.#ended.set(lease.id, { rootId: lease.rootId, result: lease.result }, nowMs);
  }

  #newRoot(rootId: string, nowMs: number): Root {
    const { clockMs, lastMs } = startClock(nowMs);
    const root = { clockMs, lastMs, leases: new Map<string, Lease>() };
    this.#roots.set(rootId, root);
    return root;
  }

  #remove({ id, rootId }: Lease): void {
    this.#running.delete(id);
    const root = this.#roots.get(rootId);
    root?.leases.delete(id);
    if (root?.leases.size === 0) this.#roots.delete(rootId);
  }
}

function expiredOf(root: Root): Lease[] {
  const dead: Lease[] = [];
  for (const lease of root.leases.values()) {
    if (!hasExpired(root, lease.aliveMs)) break;
    dead.push(lease);
  }
  return dead.sort((a, b) => a.aliveMs - b.aliveMs || (a.id < b.id ? -1 : 1));
}
