import type { PoolAnswer, PoolRenewal } from '../../domain/pool.js';
import type { CancelTimer, Clock } from '../../lib/clock.js';
import { adoptRunning, adoptWaiting, exportState, keepPlaces, restoreState, type MovedLease, type SavedPool } from '../../pool/moving.js';
import type { OwnedEvent, PoolScheduler } from '../../pool/scheduler.js';
import { DrivenScheduler, type PoolTime } from './driven.js';
import type { Reply, Request, Told, ToldLease } from './messages.js';
import { meet } from './meeting.js';

/** A new keeper waits so long for the processors to tell their leases, in milliseconds. */
const GATHER_MS = 1_000;

export interface KeeperParts {
  readonly poolId: string;
  readonly clock: Clock;
  readonly time: PoolTime;
  readonly dispatchesPerCall?: number | undefined;
  /** Whether its claim surely holds. */
  readonly mayDecide: () => boolean;
  /** Processors that are to register before anything is decided. */
  readonly expected: readonly string[];
  /** What the keeper before it saved. */
  readonly saved: SavedPool | null;
  /** Tells a processor, in order. */
  readonly tell: (processor: string, told: Told) => void;
  /** It decides from now on, so long after it began. */
  readonly onReady: (gatheredMs: number) => void;
}

type Decided = Exclude<Request, { kind: 'register' }>;

interface Asked {
  readonly from: string;
  readonly request: Decided;
}

interface Gathered {
  readonly waiters: MovedLease[];
  readonly asked: Asked[];
  readonly registered: { readonly processor: string; readonly all: number }[];
  latestMs: number;
}

/**
 * Decides for all processors of a pool, in the order in which they ask. It begins by gathering the leases that run and wait, and decides nothing
 * before it has them: what runs counts, above capacity if need be, and who waits keeps its place.
 */
export class Keeper {
  readonly #driven: DrivenScheduler;
  readonly #scheduler: PoolScheduler;
  readonly #processors = new Map<string, string>();
  readonly #expected: Set<string>;
  readonly #beganMs: number;
  /** Null: it decides. */
  #gathered: Gathered | null = { waiters: [], asked: [], registered: [], latestMs: 0 };
  #restored = false;
  readonly #cancelTimer: CancelTimer;

  constructor(private readonly parts: KeeperParts) {
    this.#driven = new DrivenScheduler({ ...parts, onEvents: (events) => { this.#tellEvents(events); } });
    this.#scheduler = this.#driven.scheduler;
    this.#expected = new Set(parts.expected);
    this.#beganMs = parts.clock.nowMs();
    this.#cancelTimer = parts.clock.after(GATHER_MS, () => { this.#decide(); });
  }

  /** How many leases it knows; while it gathers, some. */
  get leases(): number {
    return this.#scheduler.state.leases.size + (this.#gathered?.waiters.length ?? 0);
  }

  handle(from: string, requests: readonly Request[]): void {
    for (const request of requests) {
      if (request.kind === 'register') this.#register(from, request);
      else if (this.#gathered !== null) this.#gathered.asked.push({ from, request });
      else this.#answer(from, request);
    }
  }

  /** What the next keeper needs; null while there is nothing to tell. */
  save(): SavedPool | null {
    return this.#gathered !== null || this.#scheduler.state.settings === null ? null : exportState(this.#scheduler, this.#driven.nowMs(this.#scheduler.state.nowMs));
  }

  stop(): void {
    this.#cancelTimer();
    this.#driven.stop();
  }

  #register(from: string, { leases, all, nowMs }: Extract<Request, { kind: 'register' }>): void {
    const atMs = this.#driven.nowMs(nowMs);
    for (const lease of leases) this.#meet(from, lease, atMs);
    const gathered = this.#gathered;
    if (gathered === null) {
      if (leases.length > 0) this.#look(atMs);
      if (all !== null) this.parts.tell(from, { kind: 'registered', all });
      return;
    }
    gathered.latestMs = Math.max(gathered.latestMs, atMs);
    if (all === null) return;
    gathered.registered.push({ processor: from, all });
    this.#expected.delete(from);
    if (this.#expected.size === 0) this.#decide();
  }

  /** A lease as its owner knows it, beside what is known of it here. */
  #meet(from: string, told: ToldLease, nowMs: number): void {
    const { ask } = told;
    this.#processors.set(ask.owner, from);
    this.#restore(told, nowMs);
    const met = meet(this.#scheduler, told);
    const moved: MovedLease = {
      ask, work: told.work, kvBytes: told.kvBytes, askedMs: nowMs - told.askedAgoMs, ranMs: told.ranAgoMs === null ? null : nowMs - told.ranAgoMs,
    };
    switch (met.kind) {
      case 'nothing':
        return;
      case 'event':
        this.parts.tell(from, { kind: 'event', owner: ask.owner, event: met.event });
        return;
      case 'renew':
        this.#scheduler.renew(ask.owner, [{ leaseId: ask.leaseId, work: Math.max(told.ranAgoMs === null ? 0 : 1, told.work), kvBytes: told.kvBytes }], nowMs);
        return;
      case 'run':
        if (met.wasWaiting) this.#scheduler.cancel(ask.leaseId, nowMs);
        adoptRunning(this.#scheduler, moved, this.parts.saved?.atMs ?? -Infinity, nowMs);
        return;
      case 'wait':
        if (this.#gathered === null) adoptWaiting(this.#scheduler, moved, nowMs);
        else this.#gathered.waiters.push(moved);
    }
  }

  #restore({ ask }: ToldLease, nowMs: number): void {
    if (this.#restored || this.parts.saved === null) return;
    this.#restored = true;
    restoreState(this.#scheduler, this.parts.saved, ask.pool, nowMs);
  }

  /** Everybody told, or had the time to. */
  #decide(): void {
    const gathered = this.#gathered;
    if (gathered === null) return;
    this.#gathered = null;
    this.#cancelTimer();
    const nowMs = this.#driven.nowMs(gathered.latestMs);
    const waiters = gathered.waiters.sort((a, b) => a.askedMs - b.askedMs);
    const taken = new Set<string>();
    for (const waiter of waiters) {
      if (taken.has(waiter.ask.leaseId) || this.#scheduler.state.leases.has(waiter.ask.leaseId)) continue;
      taken.add(waiter.ask.leaseId);
      adoptWaiting(this.#scheduler, waiter, nowMs);
    }
    if (this.parts.saved !== null) keepPlaces(this.#scheduler, this.parts.saved);
    this.#look(nowMs);
    this.parts.onReady(this.parts.clock.nowMs() - this.#beganMs);
    for (const { processor, all } of gathered.registered) this.parts.tell(processor, { kind: 'registered', all });
    for (const { from, request } of gathered.asked) this.#answer(from, request);
  }

  /** Dispatches what may be, after leases came. */
  #look(nowMs: number): void {
    const { settings } = this.#scheduler.state;
    if (settings !== null) this.#scheduler.tick(settings, nowMs);
    this.#driven.settle();
  }

  #answer(from: string, request: Decided): void {
    this.parts.tell(from, { kind: 'reply', seq: request.seq, reply: this.#replyTo(from, request, this.#driven.nowMs(request.nowMs)) });
    this.#driven.settle();
    // After the events: one of them may have told what became of it.
    if (request.kind === 'renew') this.#tellMissing(from, request.renewals);
  }

  #replyTo(from: string, request: Decided, nowMs: number): Reply {
    const scheduler = this.#scheduler;
    switch (request.kind) {
      case 'ask':
        this.#processors.set(request.ask.owner, from);
        return this.#timed(scheduler.ask({ ...request.ask, nowMs }), nowMs);
      case 'settle':
        return { end: scheduler.settle(request.leaseId, request.work, nowMs), nextAtMs: this.#driven.nextAtMs(nowMs) };
      case 'cancel':
        return { end: scheduler.cancel(request.leaseId, nowMs), nextAtMs: this.#driven.nextAtMs(nowMs) };
      case 'renew':
        this.#processors.set(request.owner, from);
        scheduler.renew(request.owner, request.renewals, nowMs);
        return { nextAtMs: this.#driven.nextAtMs(nowMs) };
      case 'tick':
        scheduler.tick(request.settings, nowMs);
        return { nextAtMs: this.#driven.nextAtMs(nowMs) };
      case 'snapshot':
        return scheduler.state.settings === null ? null : scheduler.snapshot(nowMs);
    }
  }

  #tellMissing(from: string, renewals: readonly PoolRenewal[]): void {
    const leaseIds = renewals.map(({ leaseId }) => leaseId).filter((leaseId) => !this.#scheduler.state.leases.has(leaseId));
    if (leaseIds.length > 0) this.parts.tell(from, { kind: 'missing', leaseIds });
  }

  #timed(answer: PoolAnswer, nowMs: number): PoolAnswer {
    return answer.kind === 'unavailable' ? answer : { ...answer, nextAtMs: this.#driven.nextAtMs(nowMs) };
  }

  #tellEvents(events: readonly OwnedEvent[]): void {
    for (const { owner, event } of events) {
      const processor = this.#processors.get(owner);
      if (processor !== undefined) this.parts.tell(processor, { kind: 'event', owner, event });
    }
  }
}
