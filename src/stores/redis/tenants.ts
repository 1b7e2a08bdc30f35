import type { BucketCharge, ReserveRequest } from '../../domain/lease.js';
import { Generations } from '../generations.js';
import { parseBucket, type KeptBucket } from './buckets.js';
import type { Keys } from './keys.js';
import type { RedisClient } from './scripts.js';

interface KnownTenant {
  readonly rootId: string;
  /** Its buckets of which the store was told. */
  readonly bucketKeys: Set<string>;
  /** When the store was told. */
  readonly toldMs: number;
}

/** What is shared is told again after this, in case the store lost it. */
const AGAIN_MS = 60_000;
/** Names of buckets that nobody tells again are forgotten after this, in seconds. */
const NAMES_KEPT_S = 86_400;
const TRIMMED_AT_ONCE = 10_000;
const KEPT = 50_000;
const KEPT_MS = 3_600_000;

/**
 * Under which root the tenants are kept, and which buckets they have: later questions name only tenants. Known here, or from what all processors
 * write beside the scripts.
 */
export class Tenants {
  readonly #known = new Generations<KnownTenant>({ entries: KEPT, ageMs: KEPT_MS });

  constructor(
    private readonly client: RedisClient,
    private readonly keys: Keys,
    /** So many are written down. */
    private readonly kept: number,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /** Takes in the tenants of a request and their buckets. */
  learn({ tenantId, rootId, enforced, shadowed, nowMs }: ReserveRequest): void {
    this.#learn(tenantId, rootId, nowMs);
    this.#learnCharges(enforced, rootId, nowMs);
    this.#learnCharges(shadowed, rootId, nowMs);
  }

  /** The store lost what it was told of the tenants of a request: it is told again with the next. */
  lost({ tenantId, enforced, shadowed }: ReserveRequest): void {
    for (const id of [tenantId, ...[...enforced, ...shadowed].map((charge) => charge.tenantId)]) this.#known.delete(id);
  }

  /** Of those that nobody ever saw: themselves. */
  async rootsOf(tenantIds: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const roots = new Map<string, string>();
    const unknown: string[] = [];
    for (const id of new Set(tenantIds)) {
      const rootId = this.#known.get(id)?.rootId;
      roots.set(id, rootId ?? id);
      if (rootId === undefined) unknown.push(id);
    }
    if (unknown.length === 0) return roots;
    const found = await this.client.hmget(this.keys.shared('tenants'), ...unknown);
    for (const [i, id] of unknown.entries()) roots.set(id, found[i] ?? id);
    return roots;
  }

  /** Some of those beyond the bound are forgotten, whichever: who uses one tells of it again. */
  async trim(): Promise<void> {
    const key = this.keys.shared('tenants');
    const tooMany = Math.min(TRIMMED_AT_ONCE, (await this.client.hlen(key)) - this.kept);
    if (tooMany <= 0) return;
    const some = (await this.client.hrandfield(key, tooMany)) as string[];
    for (const id of some) this.#known.delete(id);
    await this.client.hdel(key, ...some);
  }

  /** What a tenant holds: its leases that run, and its buckets. */
  async holdingsOf(tenantId: string): Promise<{ readonly leases: number; readonly buckets: readonly (KeptBucket | null)[] }> {
    const rootId = (await this.rootsOf([tenantId])).get(tenantId) ?? tenantId;
    const [leases, names] = await Promise.all([
      this.client.hget(this.keys.leaseCounts(rootId), tenantId),
      this.client.smembers(this.keys.tenantBuckets(rootId, tenantId)),
    ]);
    const packed = names.length === 0 ? [] : await this.client.mgetBuffer(...names.map((name) => this.keys.bucket(rootId, name)));
    return { leases: Number(leases ?? 0), buckets: packed.map(parseBucket) };
  }

  #learnCharges(charges: readonly BucketCharge[], rootId: string, nowMs: number): void {
    for (const { tenantId, key } of charges) {
      const known = this.#learn(tenantId, rootId, nowMs);
      if (known.bucketKeys.has(key)) continue;
      known.bucketKeys.add(key);
      this.#tell(tenantId, () => this.#tellBuckets(tenantId, known));
    }
  }

  #learn(tenantId: string, rootId: string, nowMs: number): KnownTenant {
    const before = this.#known.get(tenantId);
    if (before?.rootId === rootId && Math.abs(nowMs - before.toldMs) < AGAIN_MS) return before;
    const known: KnownTenant = { rootId, bucketKeys: new Set(), toldMs: nowMs };
    this.#known.set(tenantId, known, nowMs);
    this.#tell(tenantId, () => [this.#tellRoot(tenantId, rootId)]);
    return known;
  }

  /** One that is its own root is not written down: of such tenants clients may make up any number. */
  #tellRoot(tenantId: string, rootId: string): Promise<unknown> {
    const key = this.keys.shared('tenants');
    return rootId === tenantId ? this.client.hdel(key, tenantId) : this.client.hset(key, tenantId, rootId);
  }

  #tellBuckets(tenantId: string, { rootId, bucketKeys }: KnownTenant): readonly Promise<unknown>[] {
    const key = this.keys.tenantBuckets(rootId, tenantId);
    return [this.client.sadd(key, ...bucketKeys), this.client.expire(key, NAMES_KEPT_S)];
  }

  #tell(tenantId: string, tell: () => readonly Promise<unknown>[]): void {
    Promise.all(tell()).catch((error: unknown) => {
      this.#known.delete(tenantId);
      this.onFault(error);
    });
  }
}
