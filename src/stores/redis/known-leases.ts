import type { ReserveRequest, ReserveResult } from '../../domain/lease.js';
import { ENDED_MS } from '../../domain/store.js';
import { Generations } from '../generations.js';

/** What this processor knows of a lease that it asked for. */
export interface KnownLease {
  readonly request: ReserveRequest;
  /** Null while no answer came: nobody knows whether the lease began. */
  result: ReserveResult | null;
}

const ENDED_KEPT = 20_000;

/**
 * Leases of this processor: where each is kept, since later calls name only the lease, and with what it began, so that it can be brought back
 * into a store that lost it. Ended ones are remembered for a while.
 */
export class KnownLeases {
  readonly #running = new Map<string, KnownLease>();
  /** Their roots, and nothing more: what they were answered the store knows. */
  readonly #ended = new Generations<string>({ entries: ENDED_KEPT, ageMs: ENDED_MS });

  running(leaseId: string): KnownLease | undefined {
    return this.#running.get(leaseId);
  }

  /** Under which root the lease is or was; null if it is none of ours. */
  rootOf(leaseId: string): string | null {
    return this.#running.get(leaseId)?.request.rootId ?? this.#ended.get(leaseId) ?? null;
  }

  /** What the reservation of one that runs was answered with; null if unknown. */
  resultOf(leaseId: string): ReserveResult | null {
    return this.#running.get(leaseId)?.result ?? null;
  }

  /** It ran here, and ended. */
  hasEnded(leaseId: string): boolean {
    return this.#ended.get(leaseId) !== undefined;
  }

  begin(request: ReserveRequest): KnownLease {
    const known = this.#running.get(request.leaseId);
    if (known !== undefined) return known;
    const lease: KnownLease = { request, result: null };
    this.#running.set(request.leaseId, lease);
    return lease;
  }

  /** It never began. */
  forget(leaseId: string): void {
    this.#running.delete(leaseId);
  }

  end(leaseId: string, nowMs: number): void {
    const lease = this.#running.get(leaseId);
    if (lease === undefined) return;
    this.#running.delete(leaseId);
    this.#ended.set(leaseId, lease.request.rootId, nowMs);
  }
}
