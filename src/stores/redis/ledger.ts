import type { LedgerEvent, TenantTotals } from '../../domain/lease.js';
import type { StoredEvent } from '../../domain/store.js';
import { parseEvent } from './entries.js';
import { groupBy } from './group.js';
import type { Keys } from './keys.js';
import { overRoots, type Roots } from './roots.js';
import type { RedisClient, Scripts } from './scripts.js';
import { currentTotals, parseTotals, sumOf } from './totals.js';

const NONE: Readonly<Record<string, Buffer>> = {};

/** From more roots than this, each is asked for fewer events than all together may be. */
const WHOLE_ROOTS = 32;

/** Reads what settlements booked: events and totals, over all roots. */
export class RedisLedger {
  constructor(
    private readonly client: RedisClient,
    private readonly scripts: Scripts,
    private readonly keys: Keys,
    private readonly roots: Roots,
  ) {}

  /** Oldest first. Of the roots only those used last are asked: events that are among the latest are of one of them. */
  async recent(limit: number): Promise<readonly LedgerEvent[]> {
    if (limit <= 0) return [];
    const rootIds = await this.roots.latest(limit);
    const streams = await overRoots(rootIds, (rootId) => this.client.xrevrange(this.keys.recentEvents(rootId), '+', '-', 'COUNT', limit));
    const events = streams.flat().map(([id, fields]) => ({ id, event: eventOf(fields) }));
    events.sort((a, b) => compareIds(b.id, a.id, b.event.settledAtMs, a.event.settledAtMs));
    return events.slice(0, limit).reverse().map(({ event }) => event);
  }

  /** On the way roots that have none are taken from the list. */
  async pending(limit: number): Promise<readonly StoredEvent[]> {
    if (limit <= 0) return [];
    const rootIds = await this.roots.in('queued');
    const each = rootIds.length <= WHOLE_ROOTS ? limit : Math.ceil((limit * WHOLE_ROOTS) / rootIds.length);
    const queues = await overRoots(rootIds, (rootId) => this.#queued(rootId, each));
    await this.roots.prune('queued', rootIds.filter((_, i) => queues[i]?.length === 0));
    return queues.flat().sort((a, b) => compareIds(a.id, b.id)).slice(0, limit);
  }

  async acknowledge(events: readonly StoredEvent[]): Promise<void> {
    await overRoots([...groupBy(events, ({ rootId }) => rootId)], async ([rootId, some]) => {
      const ids = some.map(({ id }) => id).filter(isStreamId);
      if (ids.length > 0) await this.scripts.twAcknowledge(this.keys.queuedEvents(rootId), ...ids);
    });
  }

  /** Of all tenants of the roots used last. `period`: `all`, a day or a month. */
  async totals(period: string): Promise<ReadonlyMap<string, TenantTotals>> {
    const rootIds = await this.roots.latest();
    const maps = await overRoots(rootIds, (rootId) => this.#totalsOf(rootId, period));
    return new Map(maps.flatMap((map) => [...map]));
  }

  /** A period may be over for some tenants of a root and not for others, and late events go to periods that are over. */
  async #totalsOf(rootId: string, period: string): Promise<ReadonlyMap<string, TenantTotals>> {
    const [current, before] = await Promise.all([
      this.client.hgetallBuffer(this.keys.totals(rootId)),
      period === 'all' ? NONE : this.client.hgetallBuffer(this.keys.totalsBefore(rootId, period)),
    ]);
    const totals = new Map(Object.entries(before).map(([tenantId, packed]) => [tenantId, parseTotals(packed)]));
    for (const [tenantId, packed] of Object.entries(current)) {
      const more = currentTotals(packed, period);
      if (more !== null) totals.set(tenantId, sumOf(more, totals.get(tenantId)));
    }
    return totals;
  }

  async #queued(rootId: string, limit: number): Promise<readonly StoredEvent[]> {
    const entries = await this.client.xrange(this.keys.queuedEvents(rootId), '-', '+', 'COUNT', limit);
    return entries.map(([id, fields]) => ({ id, rootId, event: eventOf(fields) }));
  }
}

function eventOf(fields: readonly string[]): LedgerEvent {
  return parseEvent(fields[1] ?? 'null');
}

function isStreamId(id: string): boolean {
  return /^\d{1,19}-\d{1,19}$/.test(id);
}

/** By time; those of one millisecond, which may be of different roots, by their times of settlement if these are given, then by number. */
function compareIds(a: string, b: string, aSettledMs = 0, bSettledMs = 0): number {
  const [aMs = 0, aNumber = 0] = a.split('-').map(Number);
  const [bMs = 0, bNumber = 0] = b.split('-').map(Number);
  return aMs - bMs || aSettledMs - bSettledMs || aNumber - bNumber;
}
