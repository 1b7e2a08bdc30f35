import type { Store } from '../../domain/store.js';
import type { CancelTimer, Clock } from '../../lib/clock.js';
import { UNITS_PER_TOKEN } from '../../quota/bucket.js';
import { heldAmount, unrefusable } from './amounts.js';
import { book, chooseCharged } from './booking.js';
import type { Journal, JournalEntry } from './journal.js';
import type { KnownLevels } from './known-levels.js';
import type { OwnLease, OwnLeases } from './own-leases.js';
import { ownTokens, type Excess, type OwnShare } from './own-share.js';
import { inParallel } from './within.js';

/** Calls at one time: a journal of hours must not be what keeps the store from serving. */
const WIDTH = 16;
const RENEW_AT_ONCE = 500;
const RETRY_MS = 1_000;

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
  #running = false;
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
    if (this.#cancelTimer !== null || this.#running || this.#stopped) return;
    this.#cancelTimer = this.parts.clock.after(ms, () => {
      this.#cancelTimer = null;
      void this.now();
    });
  }

  /** Comes home now, if the store is not away. Never rejects; what fails is tried again. */
  async now(): Promise<void> {
    if (this.#running || this.parts.isAway()) return;
    this.#running = true;
    let done = false;
    try {
      await this.#leaveShare();
      await this.#moveLeases();
      await this.#tellRenewals();
      await this.#bookAll();
      done = true;
    } catch (error) {
      this.parts.onFault(error);
    } finally {
      this.#running = false;
    }
    if (!done || this.#sharedBy !== null || !this.parts.journal.isEmpty) this.soon(RETRY_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  async #leaveShare(): Promise<void> {
    const { share, leases, clock, journal } = this.parts;
    const processors = this.#sharedBy;
    if (processors === null) return;
    this.#sharedBy = null;
    // All of this is one step: from here on new leases are the store's, and what stays in the share is the work of leases that ended.
    const nowMs = clock.nowMs();
    for (const lease of leases.all()) {
      if (!lease.local) continue;
      share.end(lease.request.leaseId, null, nowMs);
      leases.leftShare(lease);
    }
    const excess = share.excess(nowMs);
    const ended = journal.entries().filter((entry) => entry.kind === 'settle');
    chooseCharged(ended, await this.#ownTokens(excess, processors));
  }

  /** Those that passed uncounted stay so. */
  async #moveLeases(): Promise<void> {
    const movers = this.parts.leases.all().filter(({ local, atStore, counted }) => !local && atStore !== 'yes' && counted);
    await inParallel(movers, WIDTH, (lease) => this.#move(lease));
  }

  /** Should the store not tell its levels, they are taken to be what they were, refilled since. */
  async #ownTokens(excess: readonly Excess[], processors: number): Promise<Map<string, number>> {
    const { store, clock, bounded, onFault } = this.parts;
    const specs = excess.map(({ spec }) => spec);
    const levels = await bounded(async () => (await store.snapshot(specs, clock.nowMs())).levels).catch((error: unknown) => {
      onFault(error);
      return [];
    });
    return new Map(excess.map((one, i) => {
      const level = levels[i];
      const missing = level === undefined ? Infinity : (level.capacity - level.remaining) * UNITS_PER_TOKEN;
      return [one.spec.key, ownTokens(one, missing, processors)];
    }));
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

  /** Signs of life that the store missed, before anybody settles these leases for dead. */
  async #tellRenewals(): Promise<void> {
    const { store, clock, leases, bounded } = this.parts;
    const renewals = leases.all().flatMap(({ request: { leaseId }, outputTokens }) => (outputTokens === null ? [] : [{ leaseId, outputTokens }]));
    for (let i = 0; i < renewals.length; i += RENEW_AT_ONCE) {
      await bounded(() => store.renew(renewals.slice(i, i + RENEW_AT_ONCE), clock.nowMs()));
    }
  }

  /** What charges buckets first, then the rest as it came. */
  async #bookAll(): Promise<void> {
    const charges = (entry: JournalEntry): boolean => entry.kind === 'settle' && entry.charged.length > 0;
    for (let entries = this.#bookable(); entries.length > 0; entries = this.#bookable()) {
      await inParallel(entries.filter(charges), WIDTH, (entry) => this.#book(entry));
      await inParallel(entries.filter((entry) => !charges(entry)), WIDTH, (entry) => this.#book(entry));
    }
  }

  /** Of what came in a new outage it is not yet chosen what is charged. */
  #bookable(): readonly JournalEntry[] {
    if (this.parts.isAway()) return [];
    return this.parts.journal.entries().filter((entry) => entry.kind === 'cancel' || !entry.inShare);
  }

  async #book(entry: JournalEntry): Promise<void> {
    const { store, clock, journal, bounded, onJournal } = this.parts;
    if (!journal.has(entry.leaseId)) return;
    await bounded(() => book(store, entry, clock.nowMs()));
    journal.done(entry.leaseId);
    onJournal();
  }
}
