import type { LearnedState } from '../../domain/estimate.js';
import type { Consumption, Level, LedgerEvent, ReserveRequest, ReserveResult, SettleResult, TenantTotals } from '../../domain/lease.js';
import { PROCESSOR_MS, LEASE_MS, type BucketSpec, type Renewal, type Store, type StoredEvent, type StoreSnapshot } from '../../domain/store.js';
import { isUncharged, levelOf, parseBucket } from './buckets.js';
import { groupBy } from './group.js';
import { Keys } from './keys.js';
import { RedisLearned } from './learned.js';
import { RedisLeases } from './leases.js';
import { RedisLedger } from './ledger.js';
import { Reaping } from './reaping.js';
import { overRoots, Roots } from './roots.js';
import { defineScripts, type Argument, type RedisClient, type Scripts } from './scripts.js';
import { Tenants } from './tenants.js';

export interface RedisStoreOptions {
  readonly client: RedisClient;
  /** Whose time counts: the server's, so that processors need not agree; or the caller's, for tests. */
  readonly time: 'server' | 'caller';
  /** Something failed that no caller waits for; what it should have written is written again later. */
  readonly onFault: (error: unknown) => void;
  /** Sets several stores apart that share a server. */
  readonly keyPrefix?: string;
  /** Events stay until a sink acknowledged them. */
  readonly keepEvents?: boolean;
  /** So many of one root, about, wait for the sink at most; if it stays away for longer, the oldest are lost … */
  readonly queuedEvents?: number;
  /** … which is told. */
  readonly onEventsLost?: (events: number) => void;
  /** Latest events that are kept of each root, about. */
  readonly recentEvents?: number;
  readonly learnedKeys?: number;
  /** Roots that are known at all; of more those used longest ago are left out of what is shown, and their totals go after a day without use. */
  readonly roots?: number;
  /** Tenants below others of which is known at which root they are. */
  readonly tenants?: number;
  /** How much of what was learned is kept in all, in UTF-16 units. */
  readonly learnedLength?: number;
}

const DEFAULTS = {
  keyPrefix: '',
  keepEvents: false,
  queuedEvents: 100_000,
  onEventsLost: () => undefined,
  recentEvents: 200,
  roots: 100_000,
  tenants: 100_000,
  learnedKeys: 2_000,
  learnedLength: 16 * 1024 * 1024,
} as const satisfies Partial<RedisStoreOptions>;

/**
 * The quotas of many processors, in Redis or Valkey (7 or later), standalone, behind Sentinels or as a cluster. A decision is one script on one
 * node: what it touches is kept under the root of the tenant's hierarchy. Rejects with the client's errors; every call may then be made again.
 *
 * The client is the caller's: `close` does not end it. `onCapacityFreed` tells of leases that end through this processor; those that others
 * end are found by asking again.
 */
export function createRedisStore(options: RedisStoreOptions): Store {
  return new RedisStore({ ...DEFAULTS, ...options });
}

class RedisStore implements Store {
  readonly #client: RedisClient;
  readonly #scripts: Scripts;
  readonly #keys: Keys;
  readonly #roots: Roots;
  readonly #tenants: Tenants;
  readonly #leases: RedisLeases;
  readonly #reaping: Reaping;
  readonly #ledger: RedisLedger;
  readonly #learned: RedisLearned;
  readonly #listeners = new Set<() => void>();

  constructor(private readonly options: Required<RedisStoreOptions>) {
    const { client, onFault, keyPrefix } = options;
    this.#client = client;
    this.#scripts = defineScripts(client);
    this.#keys = new Keys(keyPrefix);
    const timeOf = (nowMs: number): Argument => this.#timeOf(nowMs);
    this.#roots = new Roots({ client, scripts: this.#scripts, keys: this.#keys, timeOf, onFault }, options.roots);
    this.#tenants = new Tenants(client, this.#keys, options.tenants, onFault);
    const parts = { client, scripts: this.#scripts, keys: this.#keys, roots: this.#roots, tenants: this.#tenants };
    const { keepEvents, queuedEvents, onEventsLost, recentEvents } = options;
    const settings = { timeOf, keepEvents, queuedEvents, onEventsLost, recentEvents, onFault };
    this.#leases = new RedisLeases({ ...parts, ...settings });
    this.#reaping = new Reaping({ ...parts, ...settings });
    this.#ledger = new RedisLedger(client, this.#scripts, this.#keys, this.#roots);
    this.#learned = new RedisLearned(client, this.#scripts, this.#keys, { maxKeys: options.learnedKeys, maxLength: options.learnedLength });
  }

  reserve(request: ReserveRequest): Promise<ReserveResult> {
    return this.#leases.reserve(request);
  }

  renew(renewals: readonly Renewal[], nowMs: number): Promise<void> {
    return this.#leases.renew(renewals, nowMs);
  }

  async settle(leaseId: string, consumed: Consumption, event: LedgerEvent, nowMs: number): Promise<SettleResult> {
    return this.#ended(await this.#leases.settle(leaseId, consumed, event, nowMs));
  }

  async cancel(leaseId: string, nowMs: number): Promise<SettleResult> {
    return this.#ended(await this.#leases.cancel(leaseId, nowMs));
  }

  async reap(nowMs: number): Promise<number> {
    const leases = await this.#reaping.reap(nowMs);
    if (await this.#roots.trim(nowMs)) await this.#tenants.trim();
    if (leases > 0) this.#tellListeners();
    return leases;
  }

  heartbeat(owner: string, nowMs: number): Promise<number> {
    return this.#scripts.twHeartbeat(this.#keys.shared('processors'), this.#timeOf(nowMs), owner, PROCESSOR_MS);
  }

  async claimExport(owner: string, nowMs: number): Promise<boolean> {
    return (await this.#scripts.twClaim(this.#keys.shared('export'), this.#timeOf(nowMs), owner, LEASE_MS)) === 1;
  }

  async snapshot(buckets: readonly BucketSpec[], nowMs: number): Promise<StoreSnapshot> {
    const live = await this.#roots.in('live');
    const [counts, levels, totals] = await Promise.all([
      overRoots(live, (rootId) => this.#client.zcard(this.#keys.leases(rootId))),
      this.#levels(buckets, nowMs),
      this.#ledger.totals('all'),
    ]);
    return { leases: counts.reduce((sum, count) => sum + count, 0), levels, totals };
  }

  async isIdle(tenantId: string, nowMs: number): Promise<boolean> {
    const [{ leases, buckets }, atMs] = await Promise.all([this.#tenants.holdingsOf(tenantId), this.#nowMs(nowMs)]);
    return leases === 0 && buckets.every((bucket) => isUncharged(bucket, atMs));
  }

  recentEvents(limit: number): Promise<readonly LedgerEvent[]> {
    return this.#ledger.recent(limit);
  }

  totalsIn(period: string): Promise<ReadonlyMap<string, TenantTotals>> {
    return this.#ledger.totals(period);
  }

  pendingEvents(limit: number): Promise<readonly StoredEvent[]> {
    return this.#ledger.pending(limit);
  }

  acknowledgeEvents(events: readonly StoredEvent[]): Promise<void> {
    return this.#ledger.acknowledge(events);
  }

  saveLearned(states: readonly LearnedState[]): Promise<void> {
    return this.#learned.save(states);
  }

  loadLearned(): Promise<readonly LearnedState[]> {
    return this.#learned.load();
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

  /** Buckets are read root by root, in the order asked. */
  async #levels(specs: readonly BucketSpec[], nowMs: number): Promise<readonly Level[]> {
    const [roots, atMs] = await Promise.all([this.#tenants.rootsOf(specs.map(({ tenantId }) => tenantId)), this.#nowMs(nowMs)]);
    const byRoot = groupBy(specs, ({ tenantId }) => roots.get(tenantId) ?? tenantId);
    const levels = new Map<BucketSpec, Level>();
    await overRoots([...byRoot], async ([rootId, some]) => {
      const packed = await this.#client.mgetBuffer(...some.map(({ key }) => this.#keys.bucket(rootId, key)));
      for (const [i, spec] of some.entries()) levels.set(spec, levelOf(parseBucket(packed[i] ?? null), spec, atMs));
    });
    return specs.flatMap((spec) => levels.get(spec) ?? []);
  }

  /** The time as scripts take it: '' for their server's. */
  #timeOf(nowMs: number): number | '' {
    return this.options.time === 'server' ? '' : Math.floor(nowMs);
  }

  async #nowMs(nowMs: number): Promise<number> {
    if (this.options.time === 'caller') return Math.floor(nowMs);
    const [seconds, micros] = await this.#client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  #ended(result: SettleResult): SettleResult {
    if (result === 'settled' || result === 'corrected') this.#tellListeners();
    return result;
  }

  #tellListeners(): void {
    for (const listener of this.#listeners) listener();
  }
}
