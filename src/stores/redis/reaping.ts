import { abandonedEvent } from '../ledger-entries.js';
import { parseEvent, settlementEntry } from './entries.js';
import type { LeaseParts } from './leases.js';
import { overRoots } from './roots.js';
import type { Argument } from './scripts.js';

/** Leases of one root that are ended in one call; the rest in the next. */
const AT_ONCE = 50;
/** What the leases of a root hold is counted anew so often, in case the store lost something, in milliseconds; at once where it shows. */
const AUDIT_MS = 60_000;
/** Above so many leases of one root it is not counted: 1,000 hold up the store for about 10 ms, 10,000 for 100 ms. The more where a loss shows: that is rare. */
const AUDITED_LEASES = 1_000;
const AUDITED_LEASES_AFTER_LOSS = 10_000;
/** Values that a script tells of, or takes for, a lease. */
const TOLD = 5;
const NOTHING_BOOKED: readonly Argument[] = Array<Argument>(6).fill('');

/** Settles what dead processors left. Any number may do so at the same time. */
export class Reaping {
  /** When the roots with leases were audited last, by this processor. */
  #audited = new Map<string, number>();

  constructor(private readonly parts: LeaseParts) {}

  /** Looks at all roots that have leases; takes those that have none from the list. */
  async reap(nowMs: number): Promise<number> {
    this.parts.roots.tick(nowMs);
    const rootIds = await this.parts.roots.in('live');
    this.#audited = new Map(rootIds.map((rootId) => [rootId, this.#audited.get(rootId) ?? nowMs]));
    const found = await overRoots(rootIds, (rootId) => this.#reapRoot(rootId, nowMs));
    await this.parts.roots.prune('live', rootIds.filter((_, i) => found[i]?.empty));
    return found.reduce((sum, { ended }) => sum + ended, 0);
  }

  async #reapRoot(rootId: string, nowMs: number): Promise<{ readonly ended: number; readonly empty: boolean }> {
    const { scripts, keys, timeOf } = this.parts;
    let ended = 0;
    for (;;) {
      const [atMs, running, lost = 0, ...told] = await scripts.twExpired(keys.clock(rootId), timeOf(nowMs), AT_ONCE);
      if (Number(lost) > 0) await this.#audit(rootId, AUDITED_LEASES_AFTER_LOSS, nowMs);
      else if (Math.abs(nowMs - (this.#audited.get(rootId) ?? nowMs)) >= AUDIT_MS) await this.#audit(rootId, AUDITED_LEASES, nowMs);
      if (told.length === 0) return { ended, empty: running === 0 };
      const now = await this.#end(rootId, told, Number(atMs), nowMs);
      ended += now;
      if (now < AT_ONCE) return { ended, empty: false };
    }
  }

  /** What was lost with a lease, or a bucket, is put right, and told. */
  async #audit(rootId: string, mostLeases: number, nowMs: number): Promise<void> {
    const { scripts, keys, timeOf, onFault } = this.parts;
    this.#audited.set(rootId, nowMs);
    const wrong = await scripts.twAudit(keys.clock(rootId), timeOf(nowMs), mostLeases);
    if (wrong > 0) onFault(new Error(`the store lost leases or buckets (is its maxmemory-policy noeviction?): ${wrong} count(s) of what is in use were put right`));
  }

  /** `told`: lease, renewed, output, draft, booked event; again and again. */
  async #end(rootId: string, told: readonly Argument[], atMs: number, nowMs: number): Promise<number> {
    const { scripts, keys, roots, timeOf, keepEvents, recentEvents } = this.parts;
    const args: Argument[] = [];
    for (let i = 0; i < told.length; i += TOLD) args.push(...ending(told.slice(i, i + TOLD), atMs));
    if (keepEvents) roots.queue(rootId, nowMs);
    const [ended, lostEvents] = await scripts.twReap(keys.clock(rootId), timeOf(nowMs), keepEvents ? this.parts.queuedEvents : 0, recentEvents, ...args);
    if (lostEvents > 0) this.parts.onEventsLost(lostEvents);
    return ended;
  }
}

/** What the `reap` script takes for a lease: as it comes to an end, and what is to be booked of that. */
function ending([leaseId = '', renewed, output = 0, draft, booked]: readonly Argument[], atMs: number): readonly Argument[] {
  if (renewed !== 1) return [leaseId, '', ...NOTHING_BOOKED];
  const event = abandonedEvent(parseEvent(String(draft)), Number(output), atMs);
  return [leaseId, output, JSON.stringify(event), ...settlementEntry(event, event, String(booked))];
}
