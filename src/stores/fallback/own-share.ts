import type { BucketCharge, Consumption, Level, ReserveRequest, ReserveResult, Shortage } from '../../domain/lease.js';
import type { BucketSpec } from '../../domain/store.js';
import { deficitAt, giveBack, laterMs, remainingTokens, resetMs, take, UNITS_PER_TOKEN, waitMs } from '../../quota/bucket.js';
import { heldAmount, trueAmount } from './amounts.js';
import { sharePlaces, type ShareSource } from './share-places.js';

/** How long a place is guessed to stay taken, in milliseconds. */
const PLACE_WAIT_MS = 1_000;
/** Buckets looked at beyond those that a call may create: forgetting must outrun what comes. */
const SWEEP_AHEAD = 2;

/**
 * A bucket as this processor uses it alone. It has the whole limit's numbers, and everything charged to it counts N times: that is a share
 * of 1/N of level and rate, without anything rounded away.
 */
interface ShareBucket {
  /** As the latest charge brought it: a reload may change its numbers. */
  spec: BucketSpec;
  deficitUnits: number;
  updatedMs: number;
  /** Leases that hold a charge here. */
  held: number;
  /** The outage that `before` is of. */
  outage: number;
  /** What the bucket lacked when this outage first used it. */
  before: { readonly deficitUnits: number; readonly updatedMs: number };
}

interface Holding {
  readonly bucket: ShareBucket;
  readonly charge: BucketCharge;
  /** Tokens charged, times N. */
  amount: number;
}

/** What an outage added to a bucket. */
export interface Excess {
  readonly spec: BucketSpec;
  /** What the bucket lacks, and what it would lack without the outage's own work: both of the whole limit, in units. */
  readonly deficitUnits: number;
  readonly withoutUnits: number;
}

type Answer = Exclude<ReserveResult, { kind: 'unavailable' }>;

/** This processor's share of every limit while the store is away. Decides in one step; keeps no totals. */
export class OwnShare {
  readonly #buckets = new Map<string, ShareBucket>();
  readonly #leases = new Map<string, readonly Holding[]>();
  #sweep = this.#buckets.values();
  #outage = 0;
  #sinceMs = 0;
  #processors = 1;

  constructor(private readonly source: ShareSource) {}

  /** The store went away, and so many processors share what remained. */
  begin(processors: number, nowMs: number): void {
    this.#outage++;
    this.#sinceMs = nowMs;
    this.source.leases.beginAway();
    this.#processors = Math.max(1, Math.floor(processors));
  }

  reserve({ leaseId, enforced, shadowed }: ReserveRequest, nowMs: number): Answer {
    this.#forget(enforced.length + shadowed.length + SWEEP_AHEAD, nowMs);
    const all = [...enforced, ...shadowed];
    const shortage = this.#longestShortage(enforced, nowMs);
    if (shortage !== null) return { kind: 'refused', shortage, levels: this.levels(all, nowMs) };
    const wouldRefuse = this.#longestShortage(shadowed, nowMs);
    const charges = wouldRefuse === null ? all : enforced;
    this.#leases.set(leaseId, charges.map((charge) => this.#hold(charge, nowMs)));
    return { kind: 'reserved', levels: this.levels(all, nowMs), wouldRefuse };
  }

  renew(leaseId: string, outputTokens: number, nowMs: number): void {
    for (const holding of this.#leases.get(leaseId) ?? []) {
      const amount = heldAmount(holding.charge, outputTokens) * this.#processors;
      if (amount > holding.amount) this.#adjust(holding, amount, nowMs);
    }
  }

  /** Ends a lease at its true figures, which must be sane; null: as if it had never been. */
  end(leaseId: string, consumed: Consumption | null, nowMs: number): void {
    for (const holding of this.#leases.get(leaseId) ?? []) {
      this.#adjust(holding, consumed === null ? 0 : trueAmount(holding.charge, consumed) * this.#processors, nowMs);
      holding.bucket.held--;
    }
    this.#leases.delete(leaseId);
  }

  levels(specs: readonly BucketSpec[], nowMs: number): readonly Level[] {
    return specs.map((spec) => this.#level(spec, nowMs));
  }

  /** What this outage's work added to each bucket that it used, in units of the whole limit. */
  excess(nowMs: number): readonly Excess[] {
    const used = [...this.#buckets.values()].filter(({ outage, spec }) => outage === this.#outage && spec.dimension !== 'concurrency');
    return used.map((bucket) => ({
      spec: bucket.spec,
      deficitUnits: deficitAt(bucket, bucket.spec.limit, nowMs),
      withoutUnits: deficitAt(bucket.before, bucket.spec.limit, nowMs),
    }));
  }

  get size(): number {
    return this.#buckets.size;
  }

  #level(spec: BucketSpec, nowMs: number): Level {
    const { key, tenantId, dimension, limit, capacity } = spec;
    if (dimension === 'concurrency') {
      const remaining = this.#places(spec, nowMs) - (this.#buckets.get(key)?.held ?? 0);
      return { key, tenantId, dimension, limit, capacity, remaining, resetMs: 0 };
    }
    const deficit = this.#deficit(spec, nowMs);
    const remaining = Math.floor(remainingTokens(deficit, capacity) / this.#processors);
    return { key, tenantId, dimension, limit, capacity, remaining, resetMs: resetMs(deficit, limit) };
  }

  /** A bucket is never fuller than the store told last, nor than this processor's own work in an outage left it. */
  #deficit(spec: BucketSpec, nowMs: number): number {
    const bucket = this.#buckets.get(spec.key);
    const own = deficitAt(bucket, spec.limit, nowMs);
    return bucket?.outage === this.#outage ? own : Math.max(own, this.source.levels.deficitUnits(spec, nowMs));
  }

  #places(spec: BucketSpec, nowMs: number): number {
    return sharePlaces(this.source, spec, this.#processors, nowMs - this.#sinceMs);
  }

  #hold(charge: BucketCharge, nowMs: number): Holding {
    const deficitUnits = this.#deficit(charge, nowMs);
    const bucket = this.#open(charge, deficitUnits, nowMs);
    const amount = heldAmount(charge, 0) * this.#processors;
    bucket.held++;
    bucket.updatedMs = laterMs(bucket, nowMs);
    bucket.deficitUnits = amount > 0 ? take(deficitUnits, amount) : deficitUnits;
    return { bucket, charge, amount };
  }

  #open(spec: BucketSpec, deficitUnits: number, nowMs: number): ShareBucket {
    const before = { deficitUnits, updatedMs: Math.floor(nowMs) };
    const known = this.#buckets.get(spec.key);
    if (known === undefined) {
      const bucket: ShareBucket = { spec, deficitUnits, updatedMs: before.updatedMs, held: 0, outage: this.#outage, before };
      this.#buckets.set(spec.key, bucket);
      return bucket;
    }
    known.spec = spec;
    if (known.outage !== this.#outage) Object.assign(known, { outage: this.#outage, before });
    return known;
  }

  #adjust(holding: Holding, amount: number, nowMs: number): void {
    const { bucket } = holding;
    const more = amount - holding.amount;
    holding.amount = amount;
    const deficit = deficitAt(bucket, bucket.spec.limit, nowMs);
    bucket.updatedMs = laterMs(bucket, nowMs);
    bucket.deficitUnits = more > 0 ? take(deficit, more) : giveBack(deficit, -more);
  }

  #longestShortage(charges: readonly BucketCharge[], nowMs: number): Shortage | null {
    let longest: Shortage | null = null;
    for (const charge of charges) {
      const wait = this.#waitMs(charge, nowMs);
      if (wait <= (longest?.waitMs ?? 0)) continue;
      longest = { level: this.#level(charge, nowMs), needed: charge.amount, waitMs: wait, exact: false };
    }
    return longest;
  }

  /** What is more than the share can ever hold waits until the share is full, and takes it into debt: nothing is refused for good here. */
  #waitMs(charge: BucketCharge, nowMs: number): number {
    if (charge.dimension !== 'concurrency') return waitMs(this.#deficit(charge, nowMs), charge, charge.amount * this.#processors);
    const held = this.#buckets.get(charge.key)?.held ?? 0;
    return held < this.#places(charge, nowMs) ? 0 : PLACE_WAIT_MS;
  }

  /** Looks at the next buckets in turn and forgets the full ones that nothing holds. */
  #forget(count: number, nowMs: number): void {
    for (let i = 0; i < count; i++) {
      const { value: bucket, done } = this.#sweep.next();
      if (done === true) {
        this.#sweep = this.#buckets.values();
        return;
      }
      if (bucket.held === 0 && deficitAt(bucket, bucket.spec.limit, nowMs) === 0) this.#buckets.delete(bucket.spec.key);
    }
  }
}

/** What of a bucket's excess this processor has to charge at the store, in whole tokens of its own. */
export function ownTokens({ deficitUnits, withoutUnits }: Excess, storeDeficitUnits: number, processors: number): number {
  const already = Math.min(withoutUnits, storeDeficitUnits);
  return Math.ceil(Math.max(0, deficitUnits - already) / (UNITS_PER_TOKEN * processors));
}
