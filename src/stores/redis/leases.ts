import type { Consumption, LedgerEvent, ReserveRequest, ReserveResult, SettleResult } from '../../domain/lease.js';
import type { Renewal } from '../../domain/store.js';
import { wholeTokens } from '../../quota/bucket.js';
import { packCharges, reserveResult } from './buckets.js';
import { cancellationEntry, settlementEntry } from './entries.js';
import { groupBy } from './group.js';
import type { Keys } from './keys.js';
import { KnownLeases, type KnownLease } from './known-leases.js';
import { overRoots, type Roots } from './roots.js';
import type { Argument, Ended, RedisClient, Scripts } from './scripts.js';
import type { Tenants } from './tenants.js';

export interface LeaseParts {
  readonly client: RedisClient;
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly roots: Roots;
  readonly tenants: Tenants;
  /** A caller's time as scripts take it. */
  readonly timeOf: (nowMs: number) => Argument;
  readonly keepEvents: boolean;
  readonly recentEvents: number;
  /** Events of one root that wait for a sink, at most, about. */
  readonly queuedEvents: number;
  /** So many gave way. */
  readonly onEventsLost: (events: number) => void;
  readonly onFault: (error: unknown) => void;
}

/** Leases renewed in one call, so that none holds up the store for long. */
const RENEWED_AT_ONCE = 50;
/** How many roots are asked for a lease that this processor does not know. */
const ROOTS_ASKED = 256;
/** Between two tries of one end somebody else may have booked again; never often. */
const TRIES = 5;

type Ending = (booked: string) => Promise<Ended>;

/** Begins, renews and ends the leases of this processor. */
export class RedisLeases {
  readonly #known = new KnownLeases();

  constructor(private readonly parts: LeaseParts) {}

  async reserve(request: ReserveRequest): Promise<ReserveResult> {
    const first = this.#known.resultOf(request.leaseId);
    if (first !== null) return this.#again(request, first);
    const { roots, tenants } = this.parts;
    tenants.learn(request);
    roots.use(request.rootId, request.nowMs);
    // Of one that ended nothing begins again.
    const lease = this.#known.hasEnded(request.leaseId) ? null : this.#known.begin(request);
    const result = reserveResult(request, await this.#reserve(request, request.nowMs, false));
    if (lease !== null && result?.kind === 'reserved') lease.result = result;
    else if (lease !== null) this.#known.forget(request.leaseId);
    if (result === null) throw new Error('the lease was cancelled before it began');
    return result;
  }

  async renew(renewals: readonly Renewal[], nowMs: number): Promise<void> {
    const found = await Promise.all(renewals.map(async (renewal) => ({ renewal, rootId: await this.#rootOf(renewal.leaseId) })));
    const byRoot = groupBy(found.filter(isPlaced), ({ rootId }) => rootId);
    await overRoots([...byRoot], ([rootId, some]) => this.#renewRoot(rootId, some.map(({ renewal }) => renewal), nowMs));
  }

  settle(leaseId: string, consumed: Consumption, event: LedgerEvent, nowMs: number): Promise<SettleResult> {
    return this.#end(leaseId, event.tenantId, nowMs, (rootId) => (booked) => {
      const args = [leaseId, ...this.#eventSettings(), booked];
      if (this.parts.keepEvents) this.parts.roots.queue(rootId, nowMs);
      return this.parts.scripts.twSettle(this.parts.keys.clock(rootId), this.parts.timeOf(nowMs), ...args, ...settlementEntry(event, consumed, booked));
    });
  }

  cancel(leaseId: string, nowMs: number): Promise<SettleResult> {
    const isDoubtful = this.#known.running(leaseId)?.result === null;
    return this.#end(leaseId, null, nowMs, (rootId) => (booked) => {
      const args = [leaseId, isDoubtful ? 1 : 0, ...this.#eventSettings(), booked];
      if (this.parts.keepEvents && booked !== '') this.parts.roots.queue(rootId, nowMs);
      return this.parts.scripts.twCancel(this.parts.keys.clock(rootId), this.parts.timeOf(nowMs), ...args, ...cancellationEntry(booked, nowMs));
    });
  }

  /** Ends a lease; one that the store lost is brought back first, so that nothing of it is lost. */
  async #end(leaseId: string, tenantId: string | null, nowMs: number, endingIn: (rootId: string) => Ending): Promise<SettleResult> {
    const rootId = await this.#rootOf(leaseId, tenantId);
    if (rootId === null) return 'unknown';
    const end = endingIn(rootId);
    const known = this.#known.running(leaseId);
    let result = await this.#endWithBooked(end);
    if (result === 'unknown' && known?.result) {
      await this.#bringBack(known, nowMs);
      result = await this.#endWithBooked(end);
    }
    this.#known.end(leaseId, nowMs);
    return result;
  }

  /** Where others booked a lease, the end needs to know what. */
  async #endWithBooked(end: Ending): Promise<SettleResult> {
    let booked = '';
    for (let i = 0; i < TRIES; i++) {
      const [kind, found = '', lostEvents = 0] = await end(booked);
      if (lostEvents > 0) this.parts.onEventsLost(lostEvents);
      switch (kind) {
        case 'settled':
        case 'corrected':
        case 'already_ended':
        case 'unknown':
          return kind;
      }
      booked = found;
    }
    throw new Error('the store books this lease again and again');
  }

  async #renewRoot(rootId: string, renewals: readonly Renewal[], nowMs: number): Promise<void> {
    this.parts.roots.use(rootId, nowMs);
    for (let i = 0; i < renewals.length; i += RENEWED_AT_ONCE) {
      const some = renewals.slice(i, i + RENEWED_AT_ONCE);
      const lost = new Set(await this.#renewSome(rootId, some, nowMs));
      const back = some.filter(({ leaseId }) => lost.has(leaseId) && this.#known.running(leaseId)?.result);
      if (back.length === 0) continue;
      for (const { leaseId } of back) await this.#bringBack(this.#known.running(leaseId), nowMs);
      await this.#renewSome(rootId, back, nowMs);
    }
  }

  #renewSome(rootId: string, renewals: readonly Renewal[], nowMs: number): Promise<string[]> {
    const args = renewals.flatMap(({ leaseId, outputTokens, held }) => [leaseId, held === true ? -1 : wholeTokens(outputTokens)]);
    return this.parts.scripts.twRenew(this.parts.keys.clock(rootId), this.parts.timeOf(nowMs), ...args);
  }

  /** The store lost a lease that runs (it came back empty, or a replica took over that did not know): it begins again, whatever it takes. */
  async #bringBack(lease: KnownLease | undefined, nowMs: number): Promise<void> {
    if (lease === undefined) return;
    const { roots, tenants } = this.parts;
    const { rootId } = lease.request;
    tenants.lost(lease.request);
    tenants.learn({ ...lease.request, nowMs });
    roots.lost(rootId);
    roots.use(rootId, nowMs);
    await this.#reserve(lease.request, nowMs, true);
  }

  #reserve({ leaseId, tenantId, rootId, draft, enforced, shadowed }: ReserveRequest, nowMs: number, force: boolean): Promise<Buffer> {
    const charges = shadowed.length === 0 ? enforced : [...enforced, ...shadowed];
    const args = [leaseId, tenantId, JSON.stringify(draft), force ? 1 : 0, charges.length, enforced.length, packCharges(charges)];
    return this.parts.scripts.twReserveBuffer(this.parts.keys.clock(rootId), this.parts.timeOf(nowMs), ...args);
  }

  #eventSettings(): readonly Argument[] {
    return [this.parts.keepEvents ? this.parts.queuedEvents : 0, this.parts.recentEvents];
  }

  /** What was answered before holds; the call counts for the clock of the root as any other. */
  async #again({ rootId, nowMs }: ReserveRequest, first: ReserveResult): Promise<ReserveResult> {
    await this.parts.scripts.twExpired(this.parts.keys.clock(rootId), this.parts.timeOf(nowMs), 0);
    return first;
  }

  /**
   * Where a lease is kept. Of one that is not ours (this processor was started anew, and has its journal to book) the root of its tenant is
   * asked, then the roots used last.
   */
  async #rootOf(leaseId: string, tenantId: string | null = null): Promise<string | null> {
    const known = this.#known.rootOf(leaseId);
    if (known !== null) return known;
    const { client, keys, roots, tenants } = this.parts;
    const holds = async (rootId: string): Promise<string[]> => ((await client.exists(keys.lease(rootId, leaseId))) === 1 ? [rootId] : []);
    const likely = tenantId === null ? [] : [...(await tenants.rootsOf([tenantId])).values()];
    const [found] = (await overRoots(likely, holds)).flat();
    return found ?? (await overRoots(await roots.latest(ROOTS_ASKED), holds)).flat()[0] ?? null;
  }
}

interface Placed {
  readonly renewal: Renewal;
  readonly rootId: string;
}

function isPlaced(found: { readonly renewal: Renewal; readonly rootId: string | null }): found is Placed {
  return found.rootId !== null;
}

