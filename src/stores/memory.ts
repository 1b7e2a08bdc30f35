import type { BucketCharge, Consumption, Level, LedgerEvent, ReserveRequest, ReserveResult, SettleResult, Shortage, TenantTotals } from '../domain/lease.js';
import type { LearnedState } from '../domain/estimate.js';
import { ENDED_MS, PROCESSOR_MS, type BucketSpec, type Renewal, type Store, type StoredEvent, type StoreSnapshot } from '../domain/store.js';
import { NO_FIGURES, abandonedEvent, correctionEvent, figuresBetween, figuresOf, takingBackEvent, type Figures } from './ledger-entries.js';
import { LearnedTable } from './memory-learned.js';
import { adjust, chargeWaitMs, extend, hold, holdAgain, learnHold, levelOf, release, shortageOf, trueAmount } from './memory-buckets.js';
import type { Holding } from './memory-buckets.js';
import { LeaseTable, type Lease } from './memory-leases.js';
import { MemoryLedger } from './memory-ledger.js';
import { TenantTable } from './memory-tenants.js';

export interface MemoryStoreOptions {
  /** How many settled requests `recentEvents` can tell. */
  readonly recentEvents?: number;
  /** Whether events are kept for a sink until it acknowledges them. Without a sink nothing is kept beyond the recent ones. */
  readonly keepEvents?: boolean;
  /** So many are kept for a sink; if it stays away for longer, the oldest are lost. */
  readonly maxPendingEvents?: number;
  readonly onEventLost?: (event: StoredEvent) => void;
  /** Ended leases, and as many that others settled for dead, are remembered until this many newer ones ended … */
  readonly endedLeases?: number;
  /** … or for this long, in milliseconds. */
  readonly endedLeaseMs?: number;
  /** As `endedLeaseMs`, of those that were settled for dead. */
  readonly reapedLeaseMs?: number;
  /** Above this many tenants the totals of those that hold nothing are forgotten. */
  readonly maxTenants?: number;
  /** Totals of a tenant in a period that are kept in all. */
  readonly maxPeriodTotals?: number;
  /** Models and the like of which what was learned is kept. */
  readonly learnedKeys?: number;
  /** How much of it in all, in UTF-16 units. */
  readonly learnedLength?: number;
}

const DEFAULTS: Required<MemoryStoreOptions> = {
  recentEvents: 1_000,
  keepEvents: false,
  maxPendingEvents: 100_000,
  onEventLost: () => undefined,
  endedLeases: 10_000,
  endedLeaseMs: ENDED_MS,
  reapedLeaseMs: 86_400_000,
  maxTenants: 10_000,
  maxPeriodTotals: 500_000,
  learnedKeys: 2_000,
  learnedLength: 16 * 1024 * 1024,
};

/** Buckets looked at beyond those that a call may create: the sweep must outrun what comes. */
const SWEEP_AHEAD = 2;

/**
 * Quotas of one process, in its memory; all is lost with it. Every call decides before it returns, in one step, so
 * nothing can come between. Buckets of one request must have different keys. Listeners must not throw.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore({ ...DEFAULTS, ...options });
}

class MemoryStore implements Store {
  readonly #leases: LeaseTable;
  readonly #tenants: TenantTable;
  readonly #ledger: MemoryLedger;
  readonly #learned: LearnedTable;
  readonly #processors = new Map<string, number>();
  readonly #listeners = new Set<() => void>();

  constructor(options: Required<MemoryStoreOptions>) {
    this.#leases = new LeaseTable({ ended: options.endedLeases, endedMs: options.endedLeaseMs, reapedMs: options.reapedLeaseMs });
    this.#tenants = new TenantTable(options.maxTenants);
    this.#ledger = new MemoryLedger(options);
    this.#learned = new LearnedTable({ maxKeys: options.learnedKeys, maxLength: options.learnedLength });
  }

  async reserve(request: ReserveRequest): Promise<ReserveResult> {
    const { leaseId, rootId, enforced, shadowed } = request;
    const nowMs = Math.floor(request.nowMs);
    const known = this.#leases.find(leaseId, nowMs);
    if (known !== null) return known.kind === 'ended' ? known.result : known.lease.result;
    this.#leases.touch(rootId, nowMs);
    this.#tenants.sweep(enforced.length + shadowed.length + SWEEP_AHEAD, nowMs);
    for (const charges of [enforced, shadowed]) this.#tenants.bringBack(charges, nowMs);
    const shortage = this.#longestShortage(enforced, nowMs);
    if (shortage !== null) return { kind: 'refused', shortage, levels: this.#levels([enforced, shadowed], nowMs) };
    return this.#begin(request, nowMs);
  }

  async renew(renewals: readonly Renewal[], nowMs: number): Promise<void> {
    for (const { leaseId, outputTokens, held } of renewals) {
      const known = this.#leases.find(leaseId, nowMs);
      if (known === null || known.kind === 'ended') continue;
      const { lease } = known;
      if (held !== true) lease.outputTokens = outputTokens;
      if (known.kind === 'reaped') this.#reopen(lease, outputTokens, nowMs);
      else this.#keepAlive(lease, outputTokens, nowMs);
    }
  }

  async settle(leaseId: string, consumed: Consumption, event: LedgerEvent, nowMs: number): Promise<SettleResult> {
    const known = this.#leases.find(leaseId, nowMs);
    if (known === null) return 'unknown';
    if (known.kind === 'ended') return 'already_ended';
    const { kind, lease } = known;
    const corrected = kind === 'reaped' || lease.booked !== null;
    this.#bringTo(lease, figuresOf(consumed, event), nowMs);
    this.#book(lease, event, figuresOf(consumed, event), nowMs);
    if (kind === 'running') for (const { bucket } of lease.holdings) learnHold(bucket, Math.max(0, Math.floor(nowMs) - lease.startedMs));
    this.#end(kind, lease, nowMs);
    return corrected ? 'corrected' : 'settled';
  }

  async cancel(leaseId: string, nowMs: number): Promise<SettleResult> {
    const known = this.#leases.find(leaseId, nowMs);
    if (known === null) return 'unknown';
    if (known.kind === 'ended') return 'already_ended';
    const { kind, lease } = known;
    // Others have given everything back already.
    if (kind === 'reaped' && lease.booked === null) return 'already_ended';
    this.#bringTo(lease, null, nowMs);
    if (lease.booked !== null) this.#enter(lease, takingBackEvent(lease.booked, nowMs), 0, figuresBetween(NO_FIGURES, lease.booked), nowMs);
    this.#end(kind, lease, nowMs);
    return lease.booked === null ? 'settled' : 'corrected';
  }

  async reap(nowMs: number): Promise<number> {
    const dead = this.#leases.expired(nowMs);
    for (const lease of dead) {
      this.#settleForDead(lease, nowMs);
      this.#release(lease, nowMs);
      this.#leases.reap(lease, nowMs);
    }
    if (dead.length > 0) this.#tellListeners();
    return dead.length;
  }

  async heartbeat(owner: string, nowMs: number): Promise<number> {
    this.#processors.set(owner, nowMs);
    for (const [id, toldMs] of this.#processors) {
      if (nowMs - toldMs >= PROCESSOR_MS) this.#processors.delete(id);
      else if (toldMs > nowMs) this.#processors.set(id, nowMs);
    }
    return this.#processors.size;
  }

  async snapshot(buckets: readonly BucketSpec[], nowMs: number): Promise<StoreSnapshot> {
    return { leases: this.#leases.size, levels: this.#levels([buckets], nowMs), totals: this.#tenants.totals() };
  }

  async isIdle(tenantId: string, nowMs: number): Promise<boolean> {
    return this.#tenants.isIdle(tenantId, nowMs);
  }

  async recentEvents(limit: number): Promise<readonly LedgerEvent[]> {
    return this.#ledger.recent(limit);
  }

  async totalsIn(period: string): Promise<ReadonlyMap<string, TenantTotals>> {
    return this.#ledger.totalsIn(period);
  }

  async pendingEvents(limit: number): Promise<readonly StoredEvent[]> {
    return this.#ledger.pending(limit);
  }

  async acknowledgeEvents(events: readonly StoredEvent[]): Promise<void> {
    this.#ledger.acknowledge(events);
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
    const { leaseId: id, tenantId, rootId, enforced, shadowed, draft } = request;
    const holdings: Holding[] = [];
    this.#hold(enforced, holdings, nowMs);
    const wouldRefuse = this.#longestShortage(shadowed, nowMs);
    if (wouldRefuse === null) this.#hold(shadowed, holdings, nowMs);
    const result: ReserveResult = { kind: 'reserved', levels: this.#levels([enforced, shadowed], nowMs), wouldRefuse };
    this.#start({ id, tenantId, rootId, startedMs: nowMs, holdings, result, draft, aliveMs: 0, outputTokens: null, booked: null }, nowMs);
    return result;
  }

  #hold(charges: readonly BucketCharge[], holdings: Holding[], nowMs: number): void {
    for (const charge of charges) holdings.push(hold(this.#tenants.openBucket(charge, nowMs), charge, nowMs));
  }

  #start(lease: Lease, nowMs: number): void {
    this.#leases.start(lease, nowMs);
    this.#tenants.leaseBegan(lease.tenantId);
  }

  #keepAlive(lease: Lease, outputTokens: number, nowMs: number): void {
    this.#leases.keepAlive(lease);
    for (const holding of lease.holdings) extend(holding, outputTokens, nowMs);
  }

  /** A lease that others settled for dead runs again, with its reservation. What was booked of it stays until it ends. */
  #reopen(lease: Lease, outputTokens: number, nowMs: number): void {
    for (const holding of lease.holdings) {
      holding.bucket = this.#tenants.currentBucket(holding.bucket, nowMs);
      holdAgain(holding, outputTokens, nowMs);
    }
    this.#start(lease, nowMs);
  }

  /** Nobody renewed a lease: what it told last counts as true. One that was never renewed was never dispatched. */
  #settleForDead(lease: Lease, nowMs: number): void {
    if (lease.outputTokens === null) {
      this.#bringTo(lease, null, nowMs);
      return;
    }
    const event = abandonedEvent(lease.draft, lease.outputTokens, nowMs);
    this.#bringTo(lease, event, nowMs);
    this.#book(lease, event, event, nowMs);
    lease.booked = event;
  }

  /** Charges what a lease truly consumed in place of what is charged for it; null: as if it had never been. */
  #bringTo(lease: Lease, truth: Figures | null, nowMs: number): void {
    for (const holding of lease.holdings) {
      holding.bucket = this.#tenants.currentBucket(holding.bucket, nowMs);
      adjust(holding, truth === null ? 0 : trueAmount(holding, truth), nowMs);
    }
  }

  /** Books the end of a lease, or the difference to what is booked of it. */
  #book(lease: Lease, event: LedgerEvent, truth: Figures, nowMs: number): void {
    const { booked } = lease;
    if (booked === null) this.#enter(lease, event, 1, truth, nowMs);
    else this.#enter(lease, correctionEvent({ ...event, ...truth }, booked), 0, figuresBetween(truth, booked), nowMs);
  }

  #enter({ rootId, tenantId, holdings }: Lease, event: LedgerEvent, requests: number, figures: Figures, nowMs: number): void {
    const billed = new Set([tenantId]);
    if (event.parentId !== null) billed.add(event.parentId);
    for (const { bucket } of holdings) billed.add(bucket.tenantId);
    for (const id of billed) this.#tenants.addTotals(id, requests, figures);
    this.#ledger.book({ rootId, event, requests, figures, billed }, nowMs);
  }

  #end(kind: 'running' | 'reaped', lease: Lease, nowMs: number): void {
    if (kind === 'running') this.#release(lease, nowMs);
    this.#leases.end(lease, nowMs);
    this.#tellListeners();
  }

  #release(lease: Lease, nowMs: number): void {
    for (const { bucket } of lease.holdings) release(bucket, nowMs);
    this.#tenants.leaseEnded(lease.tenantId);
  }

  #tellListeners(): void {
    for (const listener of this.#listeners) listener();
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
