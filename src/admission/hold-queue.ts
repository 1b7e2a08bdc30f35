import type { PoolAnswer, PoolAsk, PoolEvent, PoolFactors, PoolRefusalReason, PoolRenewal, PoolSettings, PoolStore } from '../domain/pool.js';
import type { Renewal } from '../domain/store.js';
import type { Clock } from '../lib/clock.js';
import { NextTicks } from './next-ticks.js';
import type { Presence } from './presence.js';
import { Renewals, type RunningLease } from './renewals.js';
import type { Settlements } from './settlement.js';

/** A request that nobody told its end so long after its deadline is let go: the store was away, or lost it. */
const OVERDUE_MS = 5_000;
/** What such a one is told to wait. */
const UNKNOWN_WAIT_MS = 1_000;

/** What became of a request at its pool. */
export type HoldOutcome =
  | { readonly kind: 'dispatched'; readonly waitedMs: number; readonly factors: PoolFactors }
  | { readonly kind: 'refused'; readonly reason: PoolRefusalReason; readonly waitedMs: number; readonly neededWaitMs: number; readonly factors: PoolFactors }
  | { readonly kind: 'unavailable' }
  /** Its client left, or this processor stops: nothing is held. */
  | Withdrawn<'left'>
  | Withdrawn<'draining'>;

interface Withdrawn<Kind> {
  readonly kind: Kind;
  readonly waitedMs: number;
  readonly factors: PoolFactors;
}

/** Whose request it is. */
export interface Waiter {
  readonly presence: Presence;
  /** It was put into the queue. */
  began(factors: PoolFactors): void;
}

/** A request that was dispatched, and runs. */
export interface RunningShare extends RunningLease {
  /** What it has taken of its pool with so much output. */
  poolUse(outputTokens: number): Omit<PoolRenewal, 'leaseId'>;
  /** The pool needs its room. Told once or more. */
  endStream(why: 'reclaimed' | 'pressure'): void;
}

export interface HoldPorts {
  readonly pools: PoolStore;
  readonly clock: Clock;
  /** Any number from 0 up to 1. */
  readonly random: () => number;
  /** Name of this processor. */
  readonly owner: string;
  /** The settings of a pool in force now; null where it is not configured any more. */
  readonly settings: (poolId: string) => PoolSettings | null;
  readonly settlements: Settlements;
  readonly onFault: (error: unknown) => void;
}

type State = 'asking' | 'waiting' | 'dispatched' | 'running';

/** A lease of ours at a pool, from the question to its end. */
interface Entry {
  readonly ask: PoolAsk;
  state: State;
  /** An event that overtook the answer. */
  early: PoolEvent | null;
  factors: PoolFactors | null;
  resolve: ((outcome: HoldOutcome) => void) | null;
  running: RunningShare | null;
  /** It is to be ended, told before it was on its way. */
  endWhy: 'reclaimed' | 'pressure' | null;
}

/**
 * The requests of this processor at their pools: those that wait, and those that run. The queue itself is the store's; here is who is to be told,
 * what keeps its leases alive, and that each ends once, whoever comes first: its grant, its deadline, its client's leaving, our own stop.
 */
export class HoldQueue {
  readonly #entries = new Map<string, Entry>();
  /** How many wait, and the settings they were asked with, by pool. */
  readonly #waiting = new Map<string, { count: number; settings: PoolSettings }>();
  readonly #ticks: NextTicks;
  readonly #renewals: Renewals;
  readonly #stopListening: () => void;
  #draining = false;

  constructor(private readonly ports: HoldPorts) {
    const { pools, clock, random, owner, onFault } = ports;
    this.#renewals = new Renewals({ store: { renew: (renewals) => this.#renew(renewals) }, clock, random, onFault });
    this.#ticks = new NextTicks({
      pools, clock, random, onFault,
      settings: (poolId) => ports.settings(poolId) ?? this.#waiting.get(poolId)?.settings ?? null,
      hasWaiters: (poolId) => this.#waiting.has(poolId),
    });
    this.#stopListening = pools.onEvent(owner, (event) => {
      this.#take(event);
    });
  }

  /** How many requests of this processor wait. */
  get waiting(): number {
    let total = 0;
    for (const { count } of this.#waiting.values()) total += count;
    return total;
  }

  /** Asks the pool, and waits for as long as the request may. Rejects as the store does; then nothing is known, and `abandon` is to follow. */
  async ask(given: PoolAsk, waiter: Waiter): Promise<HoldOutcome> {
    // A request sees the policy of its beginning, but a pool is one for all: it must not go back to what it was before a reload.
    const pool = this.ports.settings(given.pool.id) ?? given.pool;
    const ask = pool === given.pool ? given : { ...given, pool };
    const entry: Entry = { ask, state: 'asking', early: null, factors: null, resolve: null, running: null, endWhy: null };
    this.#entries.set(ask.leaseId, entry);
    let answer: PoolAnswer;
    try {
      answer = await this.ports.pools.ask(ask);
    } catch (error) {
      this.#entries.delete(ask.leaseId);
      throw error;
    }
    switch (answer.kind) {
      case 'waiting':
        return this.#hold(entry, answer, waiter);
      case 'dispatched':
        entry.state = 'dispatched';
        this.#ticks.arm(ask.pool.id, answer.nextAtMs);
        return { kind: 'dispatched', waitedMs: 0, factors: answer.factors };
      case 'refused':
        this.#entries.delete(ask.leaseId);
        this.#ticks.arm(ask.pool.id, answer.nextAtMs);
        return { kind: 'refused', reason: answer.reason, waitedMs: 0, neededWaitMs: answer.neededWaitMs, factors: answer.factors };
      case 'unavailable':
        this.#entries.delete(ask.leaseId);
        return answer;
    }
  }

  /** A dispatched request goes on its way. */
  run(share: RunningShare): void {
    const entry = this.#entries.get(share.id);
    if (entry === undefined) return;
    entry.state = 'running';
    entry.running = share;
    this.#renewals.begin(share);
    if (entry.endWhy !== null) share.endStream(entry.endWhy);
  }

  /** It is over, and truly took so much work. */
  settle(poolId: string, leaseId: string, work: number): void {
    this.#end(poolId, leaseId, (nowMs) => this.ports.pools.settle(poolId, leaseId, work, nowMs));
  }

  /** As if it had never been asked. */
  cancel(poolId: string, leaseId: string): void {
    this.#end(poolId, leaseId, (nowMs) => this.ports.pools.cancel(poolId, leaseId, nowMs));
  }

  /** Nobody knows whether the store took it. Tried once. */
  abandon(poolId: string, leaseId: string): void {
    this.#forget(leaseId);
    this.ports.settlements.attempt(() => this.ports.pools.cancel(poolId, leaseId, this.#nowMs()));
  }

  /** The configuration may have changed: what waits is looked at with the new settings at once. */
  settingsChanged(): void {
    for (const poolId of this.#waiting.keys()) this.#ticks.now(poolId);
  }

  /** This processor stops: what waits goes back unserved, and nothing waits from now on. @returns how many waited. */
  drain(): number {
    this.#draining = true;
    const held = [...this.#entries.values()].filter(({ state }) => state === 'waiting');
    for (const entry of held) this.#withdraw(entry, 'draining');
    return held.length;
  }

  /** Tells and hears nothing more. */
  close(): void {
    this.#ticks.close();
    this.#renewals.close();
    this.#stopListening();
  }

  #hold(entry: Entry, { factors, nextAtMs }: Extract<PoolAnswer, { kind: 'waiting' }>, waiter: Waiter): Promise<HoldOutcome> {
    const { pool, leaseId } = entry.ask;
    const { presence } = waiter;
    entry.factors = factors;
    entry.state = 'waiting';
    this.#count(pool, 1);
    const outcome = new Promise<HoldOutcome>((resolve) => {
      entry.resolve = resolve;
    });
    if (entry.early !== null) this.#take(entry.early);
    else if (presence.gone || this.#draining) this.#withdraw(entry, presence.gone ? 'left' : 'draining');
    else {
      this.#renewals.begin({ id: leaseId, held: true, reservedOutputTokens: 0, outputSoFar: () => 0 });
      presence.onLeave(() => {
        this.#withdraw(entry, 'left');
      });
      this.#ticks.arm(pool.id, nextAtMs);
      waiter.began(factors);
    }
    return outcome.finally(() => {
      presence.onLeave(null);
    });
  }

  #take(event: PoolEvent): void {
    const entry = this.#entries.get(event.leaseId);
    if (entry === undefined) {
      // Perhaps it was granted in the moment in which its client left. Nobody takes it up.
      if (event.kind === 'granted') this.cancel(event.poolId, event.leaseId);
      return;
    }
    if (event.kind === 'end_stream') {
      entry.endWhy = event.why;
      entry.running?.endStream(event.why);
    } else if (entry.state === 'asking') entry.early = event;
    else if (entry.state === 'waiting') this.#told(entry, event);
    // Anything else was told before.
  }

  #told(entry: Entry, event: Extract<PoolEvent, { kind: 'granted' | 'refused' }>): void {
    const { waitedMs, factors } = event;
    this.#stopWaiting(entry);
    if (event.kind === 'granted') {
      entry.state = 'dispatched';
      entry.resolve?.({ kind: 'dispatched', waitedMs, factors });
      return;
    }
    this.#entries.delete(event.leaseId);
    entry.resolve?.({ kind: 'refused', reason: event.reason, waitedMs, neededWaitMs: event.neededWaitMs, factors });
  }

  /** Takes a waiting request out of the queue, in this step. */
  #withdraw(entry: Entry, kind: 'left' | 'draining'): void {
    if (entry.state !== 'waiting') return;
    const { ask, factors } = entry;
    this.cancel(ask.pool.id, ask.leaseId);
    entry.resolve?.({ kind, waitedMs: this.#waitedMs(entry), factors: factors! });
  }

  #end(poolId: string, leaseId: string, call: (nowMs: number) => Promise<{ readonly nextAtMs: number | null }>): void {
    this.#forget(leaseId);
    this.ports.settlements.run(async () => {
      const { nextAtMs } = await call(this.#nowMs());
      this.#ticks.arm(poolId, nextAtMs);
    });
  }

  #forget(leaseId: string): void {
    const entry = this.#entries.get(leaseId);
    if (entry === undefined) return;
    this.#stopWaiting(entry);
    this.#renewals.forget(leaseId);
    this.#entries.delete(leaseId);
  }

  #stopWaiting(entry: Entry): void {
    if (entry.state !== 'waiting') return;
    entry.state = 'dispatched';
    this.#renewals.forget(entry.ask.leaseId);
    this.#count(entry.ask.pool, -1);
  }

  #count(pool: PoolSettings, more: number): void {
    const count = (this.#waiting.get(pool.id)?.count ?? 0) + more;
    if (count > 0) this.#waiting.set(pool.id, { count, settings: pool });
    else this.#waiting.delete(pool.id);
  }

  /** Tells each pool which of its requests live. */
  async #renew(renewals: readonly Renewal[]): Promise<void> {
    const byPool = new Map<string, PoolRenewal[]>();
    for (const { leaseId, outputTokens } of renewals) {
      const entry = this.#entries.get(leaseId);
      if (entry === undefined) continue;
      if (entry.state === 'waiting' && this.#isOverdue(entry)) {
        this.#giveUp(entry);
        continue;
      }
      const use = entry.running?.poolUse(outputTokens) ?? { work: 0, kvBytes: 0 };
      const some = byPool.get(entry.ask.pool.id);
      if (some === undefined) byPool.set(entry.ask.pool.id, [{ leaseId, ...use }]);
      else some.push({ leaseId, ...use });
    }
    const { pools, owner } = this.ports;
    await Promise.all(
      [...byPool].map(async ([poolId, some]) => {
        this.#ticks.arm(poolId, (await pools.renew(poolId, owner, some, this.#nowMs())).nextAtMs);
      }),
    );
  }

  #isOverdue(entry: Entry): boolean {
    return this.#waitedMs(entry) > entry.ask.maxWaitMs + OVERDUE_MS;
  }

  #giveUp(entry: Entry): void {
    const { ask, factors } = entry;
    const waitedMs = this.#waitedMs(entry);
    this.cancel(ask.pool.id, ask.leaseId);
    entry.resolve?.({ kind: 'refused', reason: 'queue_timeout', waitedMs, neededWaitMs: UNKNOWN_WAIT_MS, factors: factors! });
  }

  #waitedMs({ ask }: Entry): number {
    return Math.max(0, this.#nowMs() - ask.nowMs);
  }

  #nowMs(): number {
    return Math.floor(this.ports.clock.nowMs());
  }
}
