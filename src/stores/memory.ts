import type { BucketCharge, Consumption, Level, LedgerEvent, ReserveRequest, ReserveResult, SettleResult, Shortage } from '../domain/lease.js';
import type { LearnedState } from '../domain/estimate.js';
import type { BucketSpec, Renewal, Store, StoreSnapshot } from '../domain/store.js';
import { EventRing } from './event-ring.js';
import { Generations } from './generations.js';
import { LearnedTable } from './memory-learned.js';
import { adjust, chargeWaitMs, extendedAmount, hold, learnHold, levelOf, release, shortageOf, trueAmount } from './memory-buckets.js';
import type { Holding } from './memory-buckets.js';
import { TenantTable, saneConsumption } from './memory-tenants.js';

export interface MemoryStoreOptions {
  /** How many settled requests `recentEvents` can tell. */
  readonly recentEvents?: number;
  /** Ended leases are remembered until this many newer ones ended … */
  readonly endedLeases?: number;
  /** … or for this long, in milliseconds. */
  readonly endedLeaseMs?: number;
  /** Above this many tenants the totals of those that hold nothing are forgotten. */
  readonly maxTenants?: number;
  /** Models and the like of which what was learned is kept. */
  readonly learnedKeys?: number;
  /** How much of it in all, in UTF-16 units. */
  readonly learnedLength?: number;
}

const DEFAULTS: Required<MemoryStoreOptions> = {
  recentEvents: 1_000,
  endedLeases: 10_000,
  endedLeaseMs: 600_000,
  maxTenants: 10_000,
  learnedKeys: 2_000,
  learnedLength: 16 * 1024 * 1024,
};

/** Buckets looked at beyond those that a call may create: the sweep must outrun what comes. */
const SWEEP_AHEAD = 2;

interface Lease {
  readonly tenantId: string;
  readonly startedMs: number;
  readonly holdings: readonly Holding[];
  readonly result: ReserveResult;
}

/**
 * Quotas of one process, in its memory; all is lost with it. Every call decides before it returns, in one step, so
 * nothing can come between. Buckets of one request must have different keys. Listeners must not throw.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore({ ...DEFAULTS, ...options });
}

class MemoryStore implements Store {
  readonly #leases = new Map<string, Lease>();
  readonly #ended: Generations<ReserveResult>;
  readonly #tenants: TenantTable;
  readonly #events: EventRing;
  readonly #learned: LearnedTable;
  readonly #listeners = new Set<() => void>();

  constructor(options: Required<MemoryStoreOptions>) {
    this.#ended = new Generations({ entries: options.endedLeases, ageMs: options.endedLeaseMs });
    this.#tenants = new TenantTable(options.maxTenants);
    this.#events = new EventRing(options.recentEvents);
    this.#learned = new LearnedTable({ maxKeys: options.learnedKeys, maxLength: options.learnedLength });
  }

  async reserve(request: ReserveRequest): Promise<ReserveResult> {
    const first = this.#leases.get(request.leaseId)?.result ?? this.#ended.get(request.leaseId);
    if (first !== undefined) return first;
    const { enforced, shadowed } = request;
    const nowMs = Math.floor(request.nowMs);
    this.#tenants.sweep(enforced.length + shadowed.length + SWEEP_AHEAD, nowMs);
    const shortage = this.#longestShortage(enforced, nowMs);
    if (shortage !== null) return { kind: 'refused', shortage, levels: this.#levels([enforced, shadowed], nowMs) };
    return this.#begin(request, nowMs);
  }

  async renew(renewals: readonly Renewal[], nowMs: number): Promise<void> {
    for (const { leaseId, outputTokens } of renewals) {
      const lease = this.#leases.get(leaseId);
      if (lease === undefined) continue;
      for (const holding of lease.holdings) adjust(holding, extendedAmount(holding, outputTokens), nowMs);
    }
  }

  async settle(leaseId: string, consumed: Consumption, event: LedgerEvent, nowMs: number): Promise<SettleResult> {
    const lease = this.#leases.get(leaseId);
    if (lease === undefined) return this.#notRunning(leaseId);
    const truth = saneConsumption(consumed);
    const billed = new Set([lease.tenantId]);
    if (event.parentId !== null) billed.add(event.parentId);
    for (const holding of lease.holdings) {
      adjust(holding, trueAmount(holding, truth), nowMs);
      learnHold(holding.bucket, Math.max(0, Math.floor(nowMs) - lease.startedMs));
      billed.add(holding.bucket.tenantId);
    }
    for (const tenantId of billed) this.#tenants.addTotals(tenantId, truth, event);
    this.#events.add(event);
    this.#end(leaseId, lease, nowMs);
    return 'settled';
  }

  async cancel(leaseId: string, nowMs: number): Promise<SettleResult> {
    const lease = this.#leases.get(leaseId);
    if (lease === undefined) return this.#notRunning(leaseId);
    for (const holding of lease.holdings) adjust(holding, 0, nowMs);
    this.#end(leaseId, lease, nowMs);
    return 'settled';
  }

  async snapshot(buckets: readonly BucketSpec[], nowMs: number): Promise<StoreSnapshot> {
    return { leases: this.#leases.size, levels: this.#levels([buckets], nowMs), totals: this.#tenants.totals() };
  }

  async isIdle(tenantId: string, nowMs: number): Promise<boolean> {
    return this.#tenants.isIdle(tenantId, nowMs);
  }

  async recentEvents(limit: number): Promise<readonly LedgerEvent[]> {
    return this.#events.latest(limit);
  }

  async saveLearned(states: readonly LearnedState[]): Promise<void> {
    for (const state of states) this.#learned.save(state);
  }

  async loadLearned(): Promise<readonly LearnedState[]> {
    return this.#learned.all();
  }

  onCapacityFreed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  #begin(request: ReserveRequest, nowMs: number): ReserveResult {
    const { leaseId, tenantId, enforced, shadowed } = request;
    const holdings: Holding[] = [];
    this.#hold(enforced, holdings, nowMs);
    const wouldRefuse = this.#longestShortage(shadowed, nowMs);
    if (wouldRefuse === null) this.#hold(shadowed, holdings, nowMs);
    const result: ReserveResult = { kind: 'reserved', levels: this.#levels([enforced, shadowed], nowMs), wouldRefuse };
    this.#leases.set(leaseId, { tenantId, startedMs: nowMs, holdings, result });
    this.#tenants.leaseBegan(tenantId);
    return result;
  }

  #hold(charges: readonly BucketCharge[], holdings: Holding[], nowMs: number): void {
    for (const charge of charges) holdings.push(hold(this.#tenants.openBucket(charge, nowMs), charge, nowMs));
  }

  #end(leaseId: string, lease: Lease, nowMs: number): void {
    for (const { bucket } of lease.holdings) release(bucket, nowMs);
    this.#leases.delete(leaseId);
    this.#ended.set(leaseId, lease.result, nowMs);
    this.#tenants.leaseEnded(lease.tenantId);
    for (const listener of this.#listeners) listener();
  }

  #notRunning(leaseId: string): SettleResult {
    return this.#ended.get(leaseId) === undefined ? 'unknown' : 'already_ended';
  }

  #longestShortage(charges: readonly BucketCharge[], nowMs: number): Shortage | null {
    let longest: BucketCharge | null = null;
    let longestMs = 0;
    for (const charge of charges) {
      const wait = chargeWaitMs(this.#tenants.bucket(charge.key), charge, nowMs);
      if (wait <= longestMs) continue;
      longest = charge;
      longestMs = wait;
    }
    return longest && shortageOf(this.#tenants.bucket(longest.key), longest, longestMs, nowMs);
  }

  #levels(groups: readonly (readonly BucketSpec[])[], nowMs: number): readonly Level[] {
    const levels: Level[] = [];
    for (const group of groups) {
      for (const spec of group) levels.push(levelOf(this.#tenants.bucket(spec.key), spec, nowMs));
    }
    return levels;
  }
}
