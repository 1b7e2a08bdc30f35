import type { BucketCharge, Consumption, Level, LedgerEvent, ReserveRequest, ReserveResult, SettleResult, TenantTotals } from '../../src/domain/lease.js';
import type { BucketSpec, Renewal } from '../../src/domain/store.js';
import { ModelBucket, levelOf, shortageOf } from './model-buckets.js';

type Figures = Omit<TenantTotals, 'requests'>;

interface Entry {
  readonly charge: BucketCharge;
  readonly bucket: ModelBucket;
  amount: number;
}

export interface ModelLease {
  readonly request: ReserveRequest;
  readonly startedMs: number;
  readonly entries: readonly Entry[];
  readonly result: ReserveResult;
  state: 'running' | 'reaped' | 'ended';
  aliveMs: number;
  outputTokens: number | null;
  /** What others booked of it. */
  booked: Figures | null;
}

/** An event as far as it is compared. */
export type Booked = Figures & Pick<LedgerEvent, 'leaseId' | 'corrects' | 'outcome' | 'estimated' | 'settledAtMs'> & { readonly rootId: string };

const NOTHING: Figures = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

/**
 * What a store must answer, written from the contract and the design, not from any store's code: nothing is ever forgotten, and each
 * bucket keeps books.
 */
export class StoreModel {
  readonly leases = new Map<string, ModelLease>();
  readonly running = new Set<ModelLease>();
  readonly buckets = new Map<string, ModelBucket>();
  readonly events: Booked[] = [];
  readonly #totals = new Map<string, Map<string, TenantTotals>>();
  readonly #clocks = new Map<string, { clockMs: number; lastMs: number }>();

  reserve(request: ReserveRequest): ReserveResult {
    const nowMs = Math.floor(request.nowMs);
    this.#touch(request.rootId, nowMs);
    const known = this.leases.get(request.leaseId);
    if (known !== undefined) return known.result;
    const { enforced, shadowed } = request;
    for (const { key } of [...enforced, ...shadowed]) this.buckets.get(key)?.comeBack(nowMs);
    const shortage = shortageOf(this.buckets, enforced, nowMs);
    if (shortage !== null) return { kind: 'refused', shortage, levels: this.levels([...enforced, ...shadowed], nowMs) };
    const entries = enforced.map((charge) => this.#hold(charge, nowMs));
    const wouldRefuse = shortageOf(this.buckets, shadowed, nowMs);
    if (wouldRefuse === null) entries.push(...shadowed.map((charge) => this.#hold(charge, nowMs)));
    const result: ReserveResult = { kind: 'reserved', levels: this.levels([...enforced, ...shadowed], nowMs), wouldRefuse };
    const aliveMs = this.#touch(request.rootId, nowMs);
    const lease: ModelLease = { request, startedMs: nowMs, entries, result, state: 'running', aliveMs, outputTokens: null, booked: null };
    this.leases.set(request.leaseId, lease);
    this.running.add(lease);
    return result;
  }

  renew(renewals: readonly Renewal[], atMs: number): void {
    const nowMs = Math.floor(atMs);
    for (const { leaseId, outputTokens } of renewals) {
      const lease = this.#known(leaseId, nowMs);
      if (lease === undefined || lease.state === 'ended') continue;
      const again = lease.state === 'reaped';
      for (const entry of lease.entries) this.#extend(entry, again, outputTokens, nowMs);
      lease.state = 'running';
      lease.outputTokens = outputTokens;
      lease.aliveMs = this.#touch(lease.request.rootId, nowMs);
      this.running.add(lease);
    }
  }

  settle(leaseId: string, consumed: Consumption, event: LedgerEvent, atMs: number): SettleResult {
    const nowMs = Math.floor(atMs);
    const lease = this.#known(leaseId, nowMs);
    if (lease === undefined) return 'unknown';
    if (lease.state === 'ended') return 'already_ended';
    const wasRunning = lease.state === 'running';
    const corrected = !wasRunning || lease.booked !== null;
    const truth = { ...sane(consumed), reasoningTokens: event.reasoningTokens };
    this.#end(lease, truth, nowMs);
    this.#book(lease, truth, event);
    if (wasRunning) for (const { bucket } of lease.entries) bucket.learn(Math.max(0, nowMs - lease.startedMs));
    lease.state = 'ended';
    return corrected ? 'corrected' : 'settled';
  }

  cancel(leaseId: string, atMs: number): SettleResult {
    const nowMs = Math.floor(atMs);
    const lease = this.#known(leaseId, nowMs);
    if (lease === undefined) return 'unknown';
    if (lease.state === 'ended' || (lease.state === 'reaped' && lease.booked === null)) return 'already_ended';
    this.#end(lease, null, nowMs);
    const { booked } = lease;
    if (booked !== null) this.#book(lease, NOTHING, { outcome: 'abandoned', estimated: true, settledAtMs: nowMs, parentId: lease.request.draft.parentId });
    lease.state = 'ended';
    return booked === null ? 'settled' : 'corrected';
  }

  reap(atMs: number): readonly ModelLease[] {
    const nowMs = Math.floor(atMs);
    const dead = [...this.running].filter((lease) => this.#touch(lease.request.rootId, nowMs) - lease.aliveMs >= 10_000);
    dead.sort((a, b) => a.aliveMs - b.aliveMs || (a.request.leaseId < b.request.leaseId ? -1 : 1));
    for (const lease of dead) {
      const { draft } = lease.request;
      const truth = lease.outputTokens === null ? null : { ...sane({ ...draft, outputTokens: lease.outputTokens }), reasoningTokens: 0 };
      this.#end(lease, truth, nowMs);
      if (truth !== null) {
        this.#book(lease, truth, { outcome: 'abandoned', estimated: true, settledAtMs: nowMs, parentId: draft.parentId });
        lease.booked = truth;
      }
      lease.state = 'reaped';
    }
    return dead;
  }

  levels(specs: readonly BucketSpec[], atMs: number): readonly Level[] {
    return specs.map((spec) => levelOf(this.buckets.get(spec.key), spec, Math.floor(atMs)));
  }

  isIdle(tenantId: string, atMs: number): boolean {
    for (const { request } of this.running) if (request.tenantId === tenantId) return false;
    for (const bucket of this.buckets.values()) {
      if (bucket.tenantId === tenantId && (bucket.held > 0 || bucket.deficitAt(bucket.limit, Math.floor(atMs)) > 0)) return false;
    }
    return true;
  }

  /** Totals of a day, a month, or `all`. */
  totals(period: string): ReadonlyMap<string, TenantTotals> {
    return this.#totals.get(period) ?? new Map<string, TenantTotals>();
  }

  /** Invariant 1, and that what leases hold is what the buckets say. */
  check(): void {
    const held = new Map<ModelBucket, number>();
    for (const { entries } of this.running) for (const { bucket, amount } of entries) held.set(bucket, (held.get(bucket) ?? 0) + amount);
    for (const [key, bucket] of this.buckets) {
      bucket.check(key);
      if (bucket.inHand !== (held.get(bucket) ?? 0)) throw new Error(`${key}: leases do not hold what the books say`);
    }
  }

  /** A call for a root: its clock moves on, by a second at most. */
  #touch(rootId: string, nowMs: number): number {
    const clock = this.#clocks.get(rootId) ?? { clockMs: 0, lastMs: nowMs };
    clock.clockMs += Math.min(1_000, Math.max(0, nowMs - clock.lastMs));
    clock.lastMs = nowMs;
    this.#clocks.set(rootId, clock);
    return clock.clockMs;
  }

  #known(leaseId: string, nowMs: number): ModelLease | undefined {
    const lease = this.leases.get(leaseId);
    if (lease !== undefined) this.#touch(lease.request.rootId, nowMs);
    return lease;
  }

  #hold(charge: BucketCharge, nowMs: number): Entry {
    const bucket = this.buckets.get(charge.key) ?? new ModelBucket(charge.tenantId, charge.dimension === 'concurrency', charge.limit, nowMs);
    this.buckets.set(charge.key, bucket);
    bucket.occupy(nowMs);
    bucket.passTo(nowMs, charge.limit);
    bucket.limit = charge.limit;
    const entry: Entry = { charge, bucket, amount: 0 };
    this.#bring(entry, reservedOf(charge), nowMs);
    return entry;
  }

  #extend(entry: Entry, again: boolean, outputTokens: number, nowMs: number): void {
    const { charge, bucket } = entry;
    const least = again ? reservedOf(charge) : entry.amount;
    const grows = charge.dimension === 'tokens' || charge.dimension === 'outputTokens';
    if (again) {
      bucket.comeBack(nowMs);
      bucket.occupy(nowMs);
      // What others had settled is in hand again.
      bucket.settled -= entry.amount;
      bucket.inHand += entry.amount;
    }
    this.#bring(entry, grows ? Math.max(least, charge.inputAmount + outputTokens) : least, nowMs);
  }

  /** The lease has so much of a bucket. */
  #bring(entry: Entry, amount: number, nowMs: number): void {
    const more = amount - entry.amount;
    entry.bucket.change(more, nowMs);
    entry.bucket.inHand += more;
    entry.amount = amount;
  }

  /** Charges the truth (null: nothing) in place of what was charged; the lease runs no more. */
  #end(lease: ModelLease, truth: Figures | null, nowMs: number): void {
    const wasRunning = this.running.delete(lease);
    for (const entry of lease.entries) {
      const { bucket } = entry;
      bucket.comeBack(nowMs);
      if (!wasRunning) {
        bucket.settled -= entry.amount;
        bucket.inHand += entry.amount;
      }
      this.#bring(entry, truth === null ? 0 : truthOf(entry.charge, truth), nowMs);
      bucket.inHand -= entry.amount;
      bucket.settled += entry.amount;
      if (wasRunning) bucket.leave(nowMs);
    }
  }

  #book(lease: ModelLease, truth: Figures, { outcome, estimated, settledAtMs, parentId }: Pick<LedgerEvent, 'outcome' | 'estimated' | 'settledAtMs' | 'parentId'>): void {
    const { leaseId, rootId, tenantId } = lease.request;
    const figures = minus(truth, lease.booked ?? NOTHING);
    const corrects = lease.booked !== null;
    this.events.push({ rootId, leaseId, corrects, outcome, estimated, settledAtMs, ...figures });
    const day = new Date(settledAtMs).toISOString().slice(0, 10);
    const billed = new Set([tenantId, ...(parentId === null ? [] : [parentId]), ...lease.entries.map(({ bucket }) => bucket.tenantId)]);
    for (const id of billed) for (const period of ['all', day, day.slice(0, 7)]) this.#add(period, id, corrects ? 0 : 1, figures);
  }

  #add(period: string, tenantId: string, requests: number, figures: Figures): void {
    const tenants = this.#totals.get(period) ?? new Map<string, TenantTotals>();
    this.#totals.set(period, tenants);
    const before = tenants.get(tenantId) ?? { requests: 0, ...NOTHING };
    const less = minus(NOTHING, figures);
    tenants.set(tenantId, { requests: before.requests + requests, ...minus(before, less) });
  }
}

function reservedOf({ dimension, amount }: BucketCharge): number {
  return dimension === 'concurrency' ? 0 : amount;
}

function truthOf({ dimension, amount, countCachedInput }: BucketCharge, { inputTokens, cachedInputTokens, outputTokens }: Figures): number {
  const input = countCachedInput ? inputTokens : inputTokens - cachedInputTokens;
  const truths = { requests: amount, concurrency: 0, inputTokens: input, outputTokens, tokens: input + outputTokens };
  return truths[dimension];
}

function sane({ inputTokens, cachedInputTokens, outputTokens }: Consumption): Omit<Figures, 'reasoningTokens'> {
  const whole = (n: number): number => (n > 0 ? Math.floor(n) : 0);
  return { inputTokens: whole(inputTokens), cachedInputTokens: Math.min(whole(inputTokens), whole(cachedInputTokens)), outputTokens: whole(outputTokens) };
}

function minus(a: Figures, b: Figures): Figures {
  return {
    inputTokens: a.inputTokens - b.inputTokens,
    cachedInputTokens: a.cachedInputTokens - b.cachedInputTokens,
    outputTokens: a.outputTokens - b.outputTokens,
    reasoningTokens: a.reasoningTokens - b.reasoningTokens,
  };
}
