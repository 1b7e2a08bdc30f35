import type { Consumption, LedgerEvent, ReserveRequest, ReserveResult, SettleResult } from '../../domain/lease.js';
import type { Renewal } from '../../domain/store.js';
import { Generations } from '../generations.js';
import { saneConsumption } from '../ledger-entries.js';
import { heldAmount, trueAmount } from './amounts.js';
import { AwayView } from './away-view.js';
import { book, ledgerOf, trueCharges } from './booking.js';
import { Circuit } from './circuit.js';
import type { FallbackParts, FallbackStore, StoreHealth } from './fallback-parts.js';
import { Homecoming } from './homecoming.js';
import type { JournalEntry, JournalSize, SettleEntry } from './journal.js';
import { KnownLevels } from './known-levels.js';
import { OwnLeases, type AtStore, type OwnLease } from './own-leases.js';
import { OwnShare } from './own-share.js';
import { BACKGROUND_MS, Reads } from './reads.js';
import { within } from './within.js';

/** After a failure that is not yet an outage. */
const SETTLE_SOON_MS = 250;
const CLOSE_WITHIN_MS = 2_000;
/** Without any word of how many processors there are (started while the store is away), so many are thought of: see decision 006. */
const UNKNOWN_PROCESSORS = 4;
const ENDED = { entries: 10_000, ageMs: 600_000 };

/**
 * The shared store while it answers, and what `onStoreFailure` says while it does not. No request waits for the store longer than `timeoutMs`,
 * and after a few failures not at all; settlements that it did not take wait in the journal, and are booked, once each, when it is back.
 */
export function createFallbackStore(parts: FallbackParts): FallbackStore {
  return new Fallback(parts);
}

class Fallback extends Reads implements FallbackStore {
  readonly #leases: OwnLeases;
  readonly #levels: KnownLevels;
  readonly #share: OwnShare;
  /** Of those that the store knows nothing is kept: there are as many as requests. */
  readonly #ended = new Generations<ReserveResult | 'at_store'>(ENDED);
  readonly #circuit: Circuit;
  readonly #homecoming: Homecoming;
  readonly #freed = new Set<() => void>();
  readonly #health = new Set<(health: StoreHealth) => void>();

  constructor(private readonly parts: FallbackParts) {
    const { store, clock, random, owner, timeoutMs, journal } = parts;
    const leases = new OwnLeases();
    const levels = new KnownLevels();
    const share = new OwnShare({ levels, leases });
    super({ store, clock, view: new AwayView(leases, share, journal), isAway: () => this.#circuit.isOpen });
    this.#leases = leases;
    this.#levels = levels;
    this.#share = share;
    this.#circuit = new Circuit({
      clock,
      random,
      probe: () => within(clock, timeoutMs, () => store.heartbeat(owner, clock.nowMs())),
      onOpen: (error) => { this.#opened(error); },
      onClose: (awayMs) => { this.#closedAgain(awayMs); },
    });
    this.#homecoming = new Homecoming({
      store, clock, journal, leases, share, levels,
      bounded: (call) => this.#counted(BACKGROUND_MS, call),
      isAway: () => this.#circuit.isOpen,
      onFault: (error) => { parts.observer.storeFault(error); },
      onJournal: () => { parts.observer.journal(journal.size); },
    });
    if (!journal.isEmpty) this.#homecoming.soon(0);
  }

  health(): StoreHealth {
    return this.#circuit.isOpen ? 'away' : 'up';
  }

  onHealth(listener: (health: StoreHealth) => void): () => void {
    this.#health.add(listener);
    return () => {
      this.#health.delete(listener);
    };
  }

  awaySinceMs(): number | null {
    return this.#circuit.openSinceMs;
  }

  journalSize(): JournalSize {
    return this.parts.journal.size;
  }

  async reserve(request: ReserveRequest): Promise<ReserveResult> {
    const first = this.#leases.get(request.leaseId)?.result ?? this.#ended.get(request.leaseId);
    if (first === 'at_store') return this.#endedThere(request);
    if (first !== undefined) return first;
    if (this.#circuit.isOpen) return this.#decideAway(request, 'no');
    try {
      const result = await this.#counted(this.parts.timeoutMs, () => this.parts.store.reserve(request));
      this.#levels.learn(result.levels, request.nowMs);
      if (result.kind === 'reserved') this.#began(request, result, 'yes', false);
      // A cancellation that waits would end what has begun now.
      this.#unjournal(request.leaseId);
      return result;
    } catch {
      const result = this.#decideAway(request, 'maybe');
      this.#homecoming.soon(SETTLE_SOON_MS);
      return result;
    }
  }

  async renew(renewals: readonly Renewal[], nowMs: number): Promise<void> {
    const atStore: Renewal[] = [];
    for (const renewal of renewals) {
      const lease = this.#leases.get(renewal.leaseId);
      if (lease !== undefined && renewal.held !== true) lease.outputTokens = Math.max(lease.outputTokens ?? 0, renewal.outputTokens);
      if (lease?.local === true) this.#share.renew(renewal.leaseId, lease.outputTokens ?? 0, nowMs);
      else atStore.push(renewal);
    }
    if (atStore.length > 0 && !this.#circuit.isOpen) await this.#counted(BACKGROUND_MS, () => this.parts.store.renew(atStore, nowMs));
  }

  async settle(leaseId: string, consumed: Consumption, event: LedgerEvent, nowMs: number): Promise<SettleResult> {
    const lease = this.#took(leaseId, nowMs);
    if (lease === undefined) return this.#endUnknown(leaseId, () => this.parts.store.settle(leaseId, consumed, event, nowMs));
    const truth = saneConsumption(consumed);
    const entry = entryOf(lease, truth, event);
    this.#forget(lease, truth, nowMs);
    return this.#book(entry, 'settled', lease.local, nowMs);
  }

  async cancel(leaseId: string, nowMs: number): Promise<SettleResult> {
    const lease = this.#took(leaseId, nowMs);
    if (lease === undefined) return this.#endUnknown(leaseId, () => this.parts.store.cancel(leaseId, nowMs));
    this.#forget(lease, null, nowMs);
    if (lease.atStore === 'no') return 'settled';
    return this.#book({ kind: 'cancel', leaseId }, 'settled', false, nowMs);
  }

  onCapacityFreed(listener: () => void): () => void {
    const stop = this.parts.store.onCapacityFreed(listener);
    this.#freed.add(listener);
    return () => {
      stop();
      this.#freed.delete(listener);
    };
  }

  /** Books what waits, for two seconds at most; what is left stays in the journal's file, if there is one. */
  async close(): Promise<void> {
    const { clock, store, journal, observer } = this.parts;
    const tell = (error: unknown): void => { observer.storeFault(error); };
    await within(clock, CLOSE_WITHIN_MS, () => this.#homecoming.now()).catch(tell);
    this.#homecoming.stop();
    this.#circuit.stop();
    this.#freed.clear();
    this.#health.clear();
    await journal.close();
    observer.journal(journal.size);
    await within(clock, CLOSE_WITHIN_MS, () => store.close()).catch(tell);
  }

  #opened(error: unknown): void {
    this.parts.observer.storeAway(error);
    for (const listener of this.#health) listener('away');
  }

  #closedAgain(awayMs: number): void {
    this.parts.observer.storeBack(awayMs);
    for (const listener of this.#health) listener('up');
    void this.#homecoming.now();
  }

  /** What was answered to a lease that ended the store says. */
  async #endedThere(request: ReserveRequest): Promise<ReserveResult> {
    if (this.#circuit.isOpen) return { kind: 'unavailable', levels: [] };
    return this.#counted(BACKGROUND_MS, () => this.parts.store.reserve(request));
  }

  /** Decides without the store. One that may be there and must not be is cancelled when it is back: only its answer may have been lost. */
  #decideAway(request: ReserveRequest, atStore: AtStore): ReserveResult {
    const { mode, processors, observer } = this.parts;
    observer.decidedAway(mode);
    const result = this.#resultAway(request, processors() ?? UNKNOWN_PROCESSORS);
    if (result.kind === 'reserved') this.#began(request, result, atStore, mode === 'local');
    else if (atStore === 'maybe') this.#journal({ kind: 'cancel', leaseId: request.leaseId });
    return result;
  }

  #resultAway(request: ReserveRequest, processors: number): ReserveResult {
    switch (this.parts.mode) {
      case 'closed':
        return { kind: 'unavailable', levels: [] };
      case 'open':
        return { kind: 'reserved', levels: [], wouldRefuse: null };
      case 'local':
        this.#homecoming.useShare(processors, request.nowMs);
        return this.#share.reserve(request, request.nowMs);
    }
  }

  #began(request: ReserveRequest, result: OwnLease['result'], atStore: AtStore, local: boolean): void {
    const charges = result.wouldRefuse === null ? [...request.enforced, ...request.shadowed] : request.enforced;
    this.#leases.add({ request, result, charges, counted: atStore === 'yes' || local, atStore, local, outputTokens: null });
  }

  #took(leaseId: string, nowMs: number): OwnLease | undefined {
    const lease = this.#leases.take(leaseId);
    if (lease !== undefined) this.#ended.set(leaseId, lease.atStore === 'yes' ? 'at_store' : lease.result, nowMs);
    return lease;
  }

  /** Ends a lease in the own share, or notes what its end at the store gives back there. `truth` null: it is cancelled. */
  #forget({ request, charges, counted, local, outputTokens }: OwnLease, truth: Consumption | null, nowMs: number): void {
    if (!local) {
      for (const charge of counted ? charges : []) {
        this.#levels.ended(charge, heldAmount(charge, outputTokens ?? 0) - (truth === null ? 0 : trueAmount(charge, truth)), nowMs);
      }
      return;
    }
    this.#share.end(request.leaseId, truth, nowMs);
    for (const listener of this.#freed) listener();
  }

  /** A lease that this processor did not begin, or that ended. */
  async #endUnknown(leaseId: string, end: () => Promise<SettleResult>): Promise<SettleResult> {
    if (!this.#circuit.isOpen) return this.#counted(BACKGROUND_MS, end);
    return this.#ended.get(leaseId) === undefined ? 'unknown' : 'already_ended';
  }

  /** At the store if that answers, else into the journal. */
  async #book(entry: JournalEntry, journalled: SettleResult, inShare: boolean, nowMs: number): Promise<SettleResult> {
    if (!inShare && !this.#circuit.isOpen) {
      try {
        return await this.#counted(entry.kind === 'cancel' ? this.parts.timeoutMs : BACKGROUND_MS, () => book(this.parts.store, entry, ledgerOf(this.parts.store), nowMs));
      } catch {
        this.#homecoming.soon(SETTLE_SOON_MS);
      }
    }
    this.#journal(entry);
    return journalled;
  }

  #unjournal(leaseId: string): void {
    const { journal, observer } = this.parts;
    if (!journal.has(leaseId)) return;
    journal.done(leaseId);
    observer.journal(journal.size);
  }

  #journal(entry: JournalEntry): void {
    const { journal, observer } = this.parts;
    journal.add(entry);
    observer.journal(journal.size);
  }

  /** A call that tells whether the store is there. */
  async #counted<T>(ms: number, call: () => Promise<T>): Promise<T> {
    try {
      const answer = await within(this.parts.clock, ms, call);
      this.#circuit.succeeded();
      return answer;
    } catch (error) {
      this.parts.observer.storeFault(error);
      this.#circuit.failed(error);
      throw error;
    }
  }
}

function entryOf({ request, charges, counted, atStore, local }: OwnLease, consumed: Consumption, event: LedgerEvent): SettleEntry {
  const { leaseId, tenantId, rootId, owner } = request;
  const charged = counted ? trueCharges(charges, consumed) : [];
  return { kind: 'settle', leaseId, tenantId, rootId, owner, held: charges, consumed, event, atStore, inShare: local, charged, triedMs: null };
}
