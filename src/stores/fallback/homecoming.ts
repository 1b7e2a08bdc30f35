import type { Store } from '../../domain/store.js';
import type { CancelTimer, Clock } from '../../lib/clock.js';
import { UNITS_PER_TOKEN } from '../../quota/bucket.js';
import { heldAmount, unrefusable } from './amounts.js';
import { book, chooseCharged, ledgerOf, type Ledger } from './booking.js';
import type { Journal, JournalEntry, SettleEntry } from './journal.js';
import type { KnownLevels } from './known-levels.js';
import type { OwnLease, OwnLeases } from './own-leases.js';
import { ownTokens, type Excess, type OwnShare } from './own-share.js';
import { READ_MS } from './reads.js';
import { inParallel, within } from './within.js';

/** Calls at one time: a journal of hours must not be what keeps the store from serving. */
const WIDTH = 16;
const RENEW_AT_ONCE = 500;
const RETRY_MS = 1_000;
/** What is left of a use of the own share. */
interface Outage {
  readonly processors: number;
  readonly excess: readonly Excess[];
  readonly ended: readonly SettleEntry[];
}

export interface HomecomingParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly leases: OwnLeases;
  readonly share: OwnShare;
  readonly levels: KnownLevels;
  /** Runs a call in bounded time, and counts whether it was answered. */
  readonly bounded: <T>(call: () => Promise<T>) => Promise<T>;
  readonly isAway: () => boolean;
  readonly onFault: (error: unknown) => void;
  readonly onJournal: () => void;
}

/**
 * What follows when the store is back: leases that run are told to it (those of the own share move there, with all that they hold), what the
 * outage used of the buckets is charged, and the journal is booked. Begun again until all of it is done.
 */
export class Homecoming {
  /** How many processors share the limits in this outage; null: the own share is not in use. */
  #sharedBy: number | null = null;
  #running: Promise<void> | null = null;
  #failed = false;
  /** Entries that could not be booked in this run though the store is there. */
  readonly #refused = new Set<string>();
  #stopped = false;
  #cancelTimer: CancelTimer | null = null;

  constructor(private readonly parts: HomecomingParts) {}

  /** The own share is used from now on, until this comes home. */
  useShare(processors: number, nowMs: number): void {
    if (this.#sharedBy !== null) return;
    this.#sharedBy = processors;
    this.parts.share.begin(processors, nowMs);
  }

  /** Comes home in `ms`, unless that is under way. */
  soon(ms: number): void {
    if (this.#cancelTimer !== null || this.#running !== null || this.#stopped) return;
    this.#cancelTimer = this.parts.clock.after(ms, () => {
      this.#cancelTimer = null;
      void this.now();
    });
  }

  /** Comes home now, if the store is not away; resolves when that has ended. Never rejects; what fails is tried again. */
  async now(): Promise<void> {
    if (this.parts.isAway()) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#sharedBy !== null || this.#failed || !this.parts.journal.isEmpty) this.soon(RETRY_MS);
    });
    await this.#running;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  async #run(): Promise<void> {
    this.#failed = true;
    this.#refused.clear();
    try {
      const outage = this.#leaveShare();
      await this.#tellLeases().finally(() => this.#choose(outage));
      await this.#bookAll();
      this.#failed = this.#refused.size > 0;
    } catch {
      // Told where it failed.
    }
  }

  /** One step: from here on new leases are the store's, and what stays in the share is the work of leases that ended. */
  #leaveShare(): Outage | null {
    const { share, leases, clock, journal } = this.parts;
    const processors = this.#sharedBy;
    if (processors === null) return null;
    this.#sharedBy = null;
    const nowMs = clock.nowMs();
    for (const lease of leases.all()) {
      if (!lease.local) continue;
      share.end(lease.request.leaseId, null, nowMs);
      leases.leftShare(lease);
    }
    return { processors, excess: share.excess(nowMs), ended: journal.entries().filter((entry) => entry.kind === 'settle') };
  }

  /** Leases of the share move, but those that passed uncounted stay so. Then signs of life, before anybody settles them for dead. */
  async #tellLeases(): Promise<void> {
    const { store, clock, leases, bounded } = this.parts;
    const movers = leases.all().filter(({ local, atStore, counted }) => !local && atStore !== 'yes' && counted);
    await inParallel(movers, WIDTH, (lease) => this.#move(lease));
    const renewals = leases.all().flatMap(({ request: { leaseId }, outputTokens }) => (outputTokens === null ? [] : [{ leaseId, outputTokens }]));
    for (let i = 0; i < renewals.length; i += RENEW_AT_ONCE) {
      await bounded(() => store.renew(renewals.slice(i, i + RENEW_AT_ONCE), clock.nowMs()));
    }
  }

  /** What of an outage the store charges. Should it not tell its levels, they are taken to be what they were, refilled since. Never rejects. */
  async #choose(outage: Outage | null): Promise<void> {
    if (outage === null) return;
    const { store, clock, onFault } = this.parts;
    const { excess, processors, ended } = outage;
    const specs = excess.map(({ spec }) => spec);
    const levels = await within(clock, READ_MS, async () => (await store.snapshot(specs, clock.nowMs())).levels).catch((error: unknown) => {
      onFault(error);
      return [];
    });
    const own = excess.map((one, i): [string, number] => {
      const level = levels[i];
      const missing = level === undefined ? Infinity : (level.capacity - level.remaining) * UNITS_PER_TOKEN;
      return [one.spec.key, ownTokens(one, missing, processors)];
    });
    chooseCharged(ended, new Map(own));
  }

  /** One that ends before it moved is booked as one that the store does not know. */
  async #move(lease: OwnLease): Promise<void> {
    const { store, clock, leases, levels, bounded } = this.parts;
    const { request, charges, outputTokens } = lease;
    if (leases.get(request.leaseId) === undefined) return;
    const held = charges.map((charge) => unrefusable({ ...charge, amount: charge.dimension === 'concurrency' ? charge.amount : heldAmount(charge, outputTokens ?? 0) }));
    const nowMs = clock.nowMs();
    const { levels: told } = await bounded(() => store.reserve({ ...request, nowMs, enforced: held, shadowed: [] }));
    levels.learn(told, nowMs);
    lease.atStore = 'yes';
  }

  /** First what may be booked already, as long as the ledger reaches back to it, and what charges buckets; then the rest as it came. */
  async #bookAll(): Promise<void> {
    const isUrgent = (entry: JournalEntry): boolean => entry.kind === 'settle' && (entry.triedMs !== null || entry.charged.length > 0);
    const ledger = ledgerOf(this.parts.store);
    for (let entries = this.#bookable(); entries.length > 0; entries = this.#bookable()) {
      const urgent = new Set(entries.filter(isUrgent));
      await inParallel([...urgent], WIDTH, (entry) => this.#book(entry, ledger));
      await inParallel(entries.filter((entry) => !urgent.has(entry)), WIDTH, (entry) => this.#book(entry, ledger));
    }
  }

  /** Of what came in a new outage it is not yet chosen what is charged. */
  #bookable(): readonly JournalEntry[] {
    if (this.parts.isAway() || this.#stopped) return [];
    return this.parts.journal.entries().filter((entry) => (entry.kind === 'cancel' || !entry.inShare) && !this.#refused.has(entry.leaseId));
  }

  /** One entry that the store does not take keeps no other from being booked; it is tried again with the next run. */
  async #book(entry: JournalEntry, ledger: Ledger): Promise<void> {
    const { store, clock, journal, bounded, isAway, onJournal } = this.parts;
    if (!journal.has(entry.leaseId)) return;
    try {
      await bounded(() => book(store, entry, ledger, clock.nowMs()));
    } catch (error) {
      if (isAway()) throw error;
      this.#refused.add(entry.leaseId);
      return;
    }
    journal.done(entry.leaseId);
    onJournal();
  }
}
