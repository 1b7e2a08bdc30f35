import type { BucketCharge, TenantTotals } from '../domain/lease.js';
import { bringBack } from '../quota/bucket.js';
import type { Figures } from './ledger-entries.js';
import { isForgettable, isUncharged } from './memory-buckets.js';
import type { Bucket } from './memory-buckets.js';
import { addTo, noTotals, type MutableTotals } from './period-totals.js';

/** What is kept of a tenant. */
interface TenantState {
  readonly buckets: Map<string, Bucket>;
  leases: number;
  readonly totals: MutableTotals;
}

/**
 * Buckets and totals, tenant by tenant. Memory stays level: each `sweep` looks at the next few buckets and tenants in
 * turn and forgets what holds nothing, so no timer and no long pause is needed.
 */
export class TenantTable {
  readonly #tenants = new Map<string, TenantState>();
  readonly #buckets = new Map<string, Bucket>();
  #bucketSweep = this.#buckets.values();
  #tenantSweep = this.#tenants.entries();

  /** Above `maxTenants`, totals of tenants that hold nothing are forgotten too. */
  constructor(private readonly maxTenants: number) {}

  bucket(key: string): Bucket | undefined {
    return this.#buckets.get(key);
  }

  /** The bucket of a charge; a new one is full. */
  openBucket(charge: BucketCharge, nowMs: number): Bucket {
    const known = this.#buckets.get(charge.key);
    if (known !== undefined) return known;
    const { key, tenantId, dimension, limit } = charge;
    const bucket: Bucket = { key, tenantId, dimension, limit, deficitUnits: 0, updatedMs: nowMs, held: 0, holdEighths: 0 };
    return this.#keep(bucket);
  }

  /** The bucket that stands where `bucket` stood: another one, full at first, if it was forgotten since. */
  currentBucket(bucket: Bucket, nowMs: number): Bucket {
    const current = this.#buckets.get(bucket.key) ?? this.#keep({ ...bucket, deficitUnits: 0, updatedMs: 0, held: 0, holdEighths: 0 });
    bringBack(current, nowMs);
    return current;
  }

  /** What a reservation does first, also one that is refused: buckets of a time that is still far ahead refill from now on. */
  bringBack(charges: readonly BucketCharge[], nowMs: number): void {
    for (const { key } of charges) {
      const bucket = this.#buckets.get(key);
      if (bucket !== undefined) bringBack(bucket, nowMs);
    }
  }

  leaseBegan(tenantId: string): void {
    this.#tenant(tenantId).leases++;
  }

  leaseEnded(tenantId: string): void {
    this.#tenant(tenantId).leases--;
  }

  /** Books a settled request, or the difference to one, to a tenant. */
  addTotals(tenantId: string, requests: number, figures: Figures): void {
    addTo(this.#tenant(tenantId).totals, requests, figures);
  }

  /** Copies of the totals of all tenants that settled anything. */
  totals(): ReadonlyMap<string, TenantTotals> {
    const copy = new Map<string, TenantTotals>();
    for (const [id, { totals }] of this.#tenants) if (totals.requests > 0) copy.set(id, { ...totals });
    return copy;
  }

  isIdle(tenantId: string, nowMs: number): boolean {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) return true;
    if (tenant.leases > 0) return false;
    for (const bucket of tenant.buckets.values()) if (!isUncharged(bucket, nowMs)) return false;
    return true;
  }

  /** Looks at the next `count` buckets and tenants; starts over when it is through. */
  sweep(count: number, nowMs: number): void {
    for (let i = 0; i < count; i++) {
      if (!this.#sweepBucket(nowMs)) break;
    }
    for (let i = 0; i < count; i++) {
      if (!this.#sweepTenant()) break;
    }
  }

  get size(): { readonly tenants: number; readonly buckets: number } {
    return { tenants: this.#tenants.size, buckets: this.#buckets.size };
  }

  #tenant(id: string): TenantState {
    const known = this.#tenants.get(id);
    if (known !== undefined) return known;
    const tenant: TenantState = { buckets: new Map(), leases: 0, totals: noTotals() };
    this.#tenants.set(id, tenant);
    return tenant;
  }

  #keep(bucket: Bucket): Bucket {
    this.#buckets.set(bucket.key, bucket);
    this.#tenant(bucket.tenantId).buckets.set(bucket.key, bucket);
    return bucket;
  }

  #sweepBucket(nowMs: number): boolean {
    const { value: bucket, done } = this.#bucketSweep.next();
    if (done === true) {
      this.#bucketSweep = this.#buckets.values();
      return false;
    }
    if (isForgettable(bucket, nowMs)) {
      this.#buckets.delete(bucket.key);
      this.#tenants.get(bucket.tenantId)?.buckets.delete(bucket.key);
    }
    return true;
  }

  #sweepTenant(): boolean {
    const { value, done } = this.#tenantSweep.next();
    if (done === true) {
      this.#tenantSweep = this.#tenants.entries();
      return false;
    }
    const [id, tenant] = value;
    const holdsNothing = tenant.leases === 0 && tenant.buckets.size === 0;
    if (holdsNothing && (tenant.totals.requests === 0 || this.#tenants.size > this.maxTenants)) this.#tenants.delete(id);
    return true;
  }
}
