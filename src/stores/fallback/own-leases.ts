import type { BucketCharge, ReserveRequest, ReserveResult } from '../../domain/lease.js';

/** Whether the store has a lease: `maybe` where only its answer may have been lost. */
export type AtStore = 'yes' | 'maybe' | 'no';

/** A lease of this processor that runs. */
export interface OwnLease {
  readonly request: ReserveRequest;
  readonly result: Extract<ReserveResult, { kind: 'reserved' }>;
  /** What it holds. */
  readonly charges: readonly BucketCharge[];
  /** False: it was let pass while the store was away, and no limit counts it. */
  readonly counted: boolean;
  atStore: AtStore;
  /** It is counted in this processor's own share. */
  local: boolean;
  /** Output as the last renewal told; null before the first one. */
  outputTokens: number | null;
}

/** The leases that this processor runs, and how many places of each concurrency limit they take at the store. */
export class OwnLeases {
  readonly #running = new Map<string, OwnLease>();
  readonly #places = new Map<string, number>();
  /** Places at the store that came free since the store was last there to give them to others. */
  readonly #kept = new Map<string, number>();

  get size(): number {
    return this.#running.size;
  }

  get(leaseId: string): OwnLease | undefined {
    return this.#running.get(leaseId);
  }

  all(): readonly OwnLease[] {
    return [...this.#running.values()];
  }

  /** Places of a concurrency limit that leases take which are not counted in the own share. */
  placesAtStore(key: string): number {
    return this.#places.get(key) ?? 0;
  }

  /** Of those: that came free since `beginAway`. Nobody else can have taken them. */
  placesKept(key: string): number {
    return this.#kept.get(key) ?? 0;
  }

  /** The store went away. */
  beginAway(): void {
    this.#kept.clear();
  }

  add(lease: OwnLease): void {
    this.#running.set(lease.request.leaseId, lease);
    if (!lease.local) this.#place(lease, 1);
  }

  /** The lease, which from now on is nobody's. */
  take(leaseId: string): OwnLease | undefined {
    const lease = this.#running.get(leaseId);
    if (lease === undefined) return undefined;
    this.#running.delete(leaseId);
    if (!lease.local) this.#place(lease, -1);
    return lease;
  }

  /** A lease is not in the own share any longer: the store is to have it. */
  leftShare(lease: OwnLease): void {
    lease.local = false;
    lease.atStore = 'maybe';
    this.#place(lease, 1);
  }

  #place({ charges, counted }: OwnLease, by: 1 | -1): void {
    if (!counted) return;
    for (const { key, dimension } of charges) {
      if (dimension !== 'concurrency') continue;
      const places = this.placesAtStore(key) + by;
      if (places > 0) this.#places.set(key, places);
      else this.#places.delete(key);
      if (by < 0) this.#kept.set(key, this.placesKept(key) + 1);
    }
  }
}
