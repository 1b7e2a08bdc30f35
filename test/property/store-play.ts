import { isDeepStrictEqual } from 'node:util';
import type { Consumption, Level, LedgerEvent, ReserveRequest, ReserveResult, SettleResult } from '../../src/domain/lease.js';
import type { Renewal, Store, StoredEvent } from '../../src/domain/store.js';
import { draft, event } from '../conformance/store-builders.js';
import { Random, TENANTS, World } from './history-world.js';
import { StoreModel, type Booked } from './store-model.js';

/** One store that is played: by several objects, where it is shared by as many processors. Empty, by the callers' time, keeps events. */
export interface Played {
  readonly name: string;
  readonly processors: readonly Store[];
}

/** How often what happened, so that a test can see that nothing of it was left out. */
export type Tally = Record<string, number>;

const T0 = 1_800_000_000_000;
const OWNERS = 3;
/** Leases that are played with at one time; of ended ones that were told to be known still. */
const MAX_RUNNING = 40;
const MAX_ENDED = 40;
const ENDED_KNOWN_MS = 480_000;
/** The clock never steps back behind its latest time by more than what a store must bear. */
const MAX_BEHIND_MS = 50_000;
const SECOND_MS = 1_000;

interface Known {
  readonly id: string;
  readonly request: ReserveRequest;
  readonly owner: number;
  /** Its processor crashed, or stands still: it renews no more. */
  silent: boolean;
  outputTokens: number;
  endedAtMs: number | null;
}

/**
 * Plays a random history through a reference model and through stores, and compares every answer, and after every step all
 * levels, leases and totals. @throws Error that tells seed and step where they differ, or where an invariant of `scheduling.md` does not hold.
 */
export async function playHistory(seed: number, steps: number, stores: readonly Played[]): Promise<Tally> {
  const history = new History(seed, stores);
  for (let step = 0; step < steps; step++) await history.step(step);
  await history.finish();
  return history.tally;
}

class History {
  readonly tally: Tally = {};
  readonly #random: Random;
  readonly #world: World;
  readonly #model = new StoreModel();
  readonly #known = new Map<string, Known>();
  readonly #queues: readonly Map<string, Booked[]>[];
  /** Of the latest leases: how often one ended for good, and how often it was booked as a request. */
  readonly #ends = new Map<string, { ended: number; booked: number }>();
  #nowMs = T0;
  #latestMs = T0;
  #ids = 0;
  #before: readonly Level[] = [];
  #what = '';
  #at = 0;

  constructor(
    private readonly seed: number,
    private readonly stores: readonly Played[],
  ) {
    this.#random = new Random(seed);
    this.#world = new World(this.#random);
    this.#queues = stores.map(() => new Map<string, Booked[]>());
  }

  async step(at: number): Promise<void> {
    this.#at = at;
    await this.#act(this.#random.next());
    await this.#checkAll();
  }

  /** Ends all that runs: nothing may be left. */
  async finish(): Promise<void> {
    for (const known of [...this.#known.values()]) if (this.#isRunning(known)) await this.#settle(known);
    await this.#checkAll();
    for (let left = 1; left > 0; ) left = await this.#handOn(1);
    this.#assert(this.#model.running.size === 0, 'leases are left');
  }

  async #act(chance: number): Promise<void> {
    if (chance < 0.25) return this.#reserve();
    if (chance < 0.28) return this.#reserveAgain();
    if (chance < 0.42) return this.#renewSome();
    if (chance < 0.58) return this.#settle(this.#anyLease());
    if (chance < 0.65) return this.#cancel(this.#anyLease());
    if (chance < 0.68) return this.#crash();
    if (chance < 0.88) return this.#beat();
    if (chance < 0.94) return this.#stepClock();
    if (chance < 0.96) return this.#reap();
    if (chance < 0.98) return this.#reconfigure();
    return this.#lookAround();
  }

  async #reserve(): Promise<void> {
    if (this.#model.running.size >= MAX_RUNNING) return this.#settle(this.#anyLease());
    const { tenantId, rootId, parentId, enforced, shadowed, inputTokens } = this.#world.ask();
    const leaseId = `l${++this.#ids}`;
    const owner = this.#random.whole(0, OWNERS - 1);
    const request: ReserveRequest = { leaseId, tenantId, rootId, owner: `p${owner}`, nowMs: this.#nowMs, enforced, shadowed, draft: draft(leaseId, inputTokens, { tenantId, parentId }) };
    const expected = await this.#ask(request, owner);
    if (expected.kind !== 'reserved') return this.#checkRefusal(expected, request);
    this.#checkNoOvershoot(expected, request);
    this.#known.set(leaseId, { id: leaseId, request, owner, silent: this.#random.chance(0.1), outputTokens: 0, endedAtMs: null });
  }

  async #reserveAgain(): Promise<void> {
    const known = this.#anyLease();
    if (known !== null) await this.#ask({ ...known.request, nowMs: this.#nowMs }, known.owner);
  }

  async #ask(request: ReserveRequest, owner: number): Promise<ReserveResult> {
    const expected = this.#model.reserve(request);
    this.#note(`reserve ${request.leaseId}`, expected.kind);
    await this.#each(expected, (played) => of(played, owner).reserve(request));
    return expected;
  }

  async #renewSome(): Promise<void> {
    const some = [...this.#known.values()].filter((known) => (known.silent ? this.#random.chance(0.05) : this.#random.chance(0.4)));
    await this.#renew(some);
  }

  /** A second passes as it should: what lives renews, everybody reaps. */
  async #beat(): Promise<void> {
    this.#moveClock(this.#random.whole(300, SECOND_MS));
    await this.#renew([...this.#known.values()].filter((known) => !known.silent && this.#isRunning(known)));
    await this.#reap();
  }

  async #renew(renewed: readonly Known[]): Promise<void> {
    for (let owner = 0; owner < OWNERS; owner++) {
      const its = renewed.filter((known) => known.owner === owner);
      const renewals: Renewal[] = its.map((known) => ({ leaseId: known.id, outputTokens: this.#output(known) }));
      if (this.#random.chance(0.05)) renewals.push({ leaseId: `ghost${this.#ids}`, outputTokens: 5 });
      if (renewals.length === 0) continue;
      for (const { id } of its) if (this.#model.leases.get(id)?.state === 'reaped') this.#count('reopened');
      this.#note(`renew ${renewals.map(({ leaseId, outputTokens }) => `${leaseId}=${outputTokens}`).join(' ')}`, 'renewed');
      this.#model.renew(renewals, this.#nowMs);
      await this.#each(undefined, (played) => of(played, owner).renew(renewals, this.#nowMs));
    }
  }

  async #settle(known: Known | null): Promise<void> {
    const id = known?.id ?? `ghost${this.#ids}`;
    const consumed = this.#world.consume();
    const settled = this.#eventOf(known, id, consumed);
    const expected = this.#model.settle(id, consumed, settled, this.#nowMs);
    this.#noteEnd('settle', id, expected);
    await this.#each(expected, (played) => of(played, known?.owner ?? 0).settle(id, consumed, settled, this.#nowMs));
    if (known !== null && expected !== 'already_ended') known.endedAtMs = this.#latestMs;
  }

  async #cancel(known: Known | null): Promise<void> {
    const id = known?.id ?? `ghost${this.#ids}`;
    const expected = this.#model.cancel(id, this.#nowMs);
    this.#noteEnd('cancel', id, expected);
    await this.#each(expected, (played) => of(played, known?.owner ?? 0).cancel(id, this.#nowMs));
    if (known !== null && expected !== 'already_ended') known.endedAtMs = this.#latestMs;
  }

  /** A processor dies, or stands still for a while and comes back. */
  async #crash(): Promise<void> {
    const owner = this.#random.whole(0, OWNERS - 1);
    this.#note(`crash p${owner}`, 'crashed');
    for (const known of this.#known.values()) if (known.owner === owner) known.silent = true;
    if (this.#random.chance(0.6)) for (let i = 0; i < 11; i++) await this.#beat();
    if (this.#random.chance(0.5)) for (const known of this.#known.values()) if (known.owner === owner && known.endedAtMs === null) known.silent = false;
  }

  async #reap(): Promise<void> {
    const dead = this.#model.reap(this.#nowMs);
    for (const { outputTokens } of dead) this.#count(outputTokens === null ? 'reaped whole' : 'reaped');
    this.#note('reap', 'reaping');
    const by = this.#random.whole(0, OWNERS - 1);
    await this.#each(dead.length, (played) => of(played, by).reap(this.#nowMs));
  }

  async #stepClock(): Promise<void> {
    const chance = this.#random.next();
    if (chance < 0.5) this.#moveClock(this.#random.whole(0, 3_000));
    else if (chance < 0.6) this.#moveClock(0.5);
    else if (chance < 0.75) this.#moveClock(this.#random.whole(3_000, 300_000));
    else this.#moveClock(-this.#random.whole(1, 30_000));
    this.#note(`clock ${this.#nowMs}`, 'clock');
    await Promise.resolve();
  }

  async #reconfigure(): Promise<void> {
    this.#world.reconfigure();
    this.#note('reconfigure', 'configured');
    await Promise.resolve();
  }

  /** What is asked only now and then. */
  async #lookAround(): Promise<void> {
    this.#note('look around', 'looked');
    for (const tenantId of TENANTS) {
      const idle = this.#model.isIdle(tenantId, this.#nowMs);
      this.#count(idle ? 'idle' : 'busy');
      await this.#each(idle, (played) => of(played, 0).isIdle(tenantId, this.#nowMs));
    }
    const day = new Date(this.#nowMs).toISOString().slice(0, 10);
    for (const period of [day, day.slice(0, 7)]) await this.#each(this.#model.totals(period), (played) => of(played, 1).totalsIn(period));
    await this.#handOn(this.#random.next());
  }

  /** Hands the oldest events on as a sink does, and acknowledges a share of them. @returns how many are left. */
  async #handOn(share: number): Promise<number> {
    let left = 0;
    for (const [i, played] of this.stores.entries()) {
      const queue = this.#queues[i]!;
      const pending = await of(played, i).pendingEvents(50);
      const waiting = [...queue.values()].reduce((sum, its) => sum + its.length, 0);
      this.#same(played.name, pending.length, Math.min(50, waiting));
      for (const [rootId, its] of queue) {
        const told = pending.filter((one) => one.rootId === rootId).map(bookedOf);
        this.#same(played.name, told, its.slice(0, told.length));
      }
      const taken = pending.slice(0, Math.ceil(pending.length * share));
      await of(played, i).acknowledgeEvents(taken);
      for (const { rootId } of taken) queue.get(rootId)?.shift();
      left = Math.max(left, waiting - taken.length);
    }
    return left;
  }

  /**
   * A store may forget a bucket once it is full at the rate that it last heard of. A reload that lowers the rate of one that might be
   * forgotten is taken back: of its past nobody could tell.
   */
  #keepRates(): void {
    for (const { key, limit } of this.#world.specs) {
      const bucket = this.#model.buckets.get(key);
      if (bucket === undefined || bucket.isPlaces || bucket.held > 0 || limit >= bucket.limit) continue;
      const mayBeForgotten = bucket.deficitAt(bucket.limit, this.#latestMs) === 0;
      if (mayBeForgotten && bucket.deficitAt(limit, this.#nowMs) > 0) this.#world.setLimit(key, bucket.limit);
    }
  }

  async #checkAll(): Promise<void> {
    this.#model.check();
    this.#keepRates();
    for (const one of this.#model.events.splice(0)) this.#queue(one);
    const totals = this.#model.totals('all');
    const levels = this.#model.levels(this.#world.specs, this.#nowMs);
    this.#before = levels;
    for (const played of this.stores) {
      const told = await of(played, this.#at).snapshot(this.#world.specs, this.#nowMs);
      this.#same(played.name, told.leases, this.#model.running.size);
      if (!sameLevels(told.levels, levels)) this.#same(played.name, told.levels, levels);
      this.#same(played.name, told.totals, totals);
    }
    this.#forget();
  }

  /** Invariant 2, as far as the ledger goes: a lease is one request in it at most. */
  #queue(one: Booked): void {
    const ends = this.#endsOf(one.leaseId);
    if (!one.corrects) ends.booked++;
    this.#assert(ends.booked <= 1, `${one.leaseId} was booked twice`);
    for (const queue of this.#queues) queue.set(one.rootId, [...(queue.get(one.rootId) ?? []), one]);
  }

  /** Invariant 2: a lease ends once. */
  #noteEnd(what: string, id: string, result: SettleResult): void {
    this.#note(`${what} ${id}`, `${what}: ${result}`);
    if (result === 'settled' || result === 'corrected') this.#endsOf(id).ended++;
    this.#assert(this.#endsOf(id).ended <= 1, `${id} ended twice`);
  }

  #endsOf(id: string): { ended: number; booked: number } {
    const known = this.#ends.get(id) ?? { ended: 0, booked: 0 };
    this.#ends.set(id, known);
    return known;
  }

  /** Invariant 3: no reservation takes a bucket below zero. */
  #checkNoOvershoot(result: ReserveResult, { enforced, shadowed }: ReserveRequest): void {
    if (result.kind !== 'reserved') return;
    const charged = result.wouldRefuse === null ? [...enforced, ...shadowed] : enforced;
    for (const [i, { key }] of charged.entries()) this.#assert(result.levels[i]!.remaining >= 0, `${key} was overdrawn by a reservation`);
  }

  /** Invariant 4: what a refusal tells is what was so before it. */
  #checkRefusal(result: ReserveResult, request: ReserveRequest): void {
    this.#assert(sameLevels(this.#model.levels(this.#world.specs, this.#nowMs), this.#before), `the refusal of ${request.leaseId} changed a level`);
    this.#assert(result.levels.length === request.enforced.length + request.shadowed.length, 'levels are missing');
  }

  #isRunning(known: Known): boolean {
    return this.#model.leases.get(known.id)?.state === 'running';
  }

  /** One that is known, mostly; now and then one that nobody reserved. */
  #anyLease(): Known | null {
    if (this.#known.size === 0 || this.#random.chance(0.02)) return null;
    return this.#random.pick([...this.#known.values()]);
  }

  #output(known: Known): number {
    if (this.#random.chance(0.8)) known.outputTokens += this.#random.whole(0, 60);
    return known.outputTokens;
  }

  #eventOf(known: Known | null, id: string, consumed: Consumption): LedgerEvent {
    const whole = (n: number): number => (n > 0 ? Math.floor(n) : 0);
    const inputTokens = whole(consumed.inputTokens);
    const figures = { inputTokens, cachedInputTokens: Math.min(inputTokens, whole(consumed.cachedInputTokens)), outputTokens: whole(consumed.outputTokens) };
    const { tenantId = 'acme', draft: drafted } = known?.request ?? {};
    const lines = [line('input', figures.inputTokens), line('output', figures.outputTokens)].filter(({ tokens }) => tokens > 0);
    const reasoningTokens = this.#random.whole(0, figures.outputTokens);
    return event(id, figures, { tenantId, parentId: drafted?.parentId ?? null, lines, reasoningTokens, settledAtMs: Math.floor(this.#nowMs) });
  }

  #moveClock(ms: number): void {
    this.#nowMs = Math.max(this.#nowMs + ms, this.#latestMs - MAX_BEHIND_MS);
    this.#latestMs = Math.max(this.#latestMs, this.#nowMs);
  }

  /** Ended leases are known for a while only: asked of later, stores may differ. */
  #forget(): void {
    const ended = [...this.#known.values()].filter((known) => !this.#isRunning(known));
    for (const [i, known] of ended.entries()) {
      const old = known.endedAtMs !== null && this.#latestMs - known.endedAtMs > ENDED_KNOWN_MS;
      if (!old && i >= ended.length - MAX_ENDED) continue;
      this.#known.delete(known.id);
      this.#ends.delete(known.id);
      this.#model.leases.delete(known.id);
    }
  }

  async #each<T>(expected: T, ask: (played: Played) => Promise<T>): Promise<void> {
    for (const played of this.stores) this.#same(played.name, await ask(played), expected);
  }

  #same(store: string, told: unknown, expected: unknown): void {
    if (isDeepStrictEqual(told, expected)) return;
    this.#fail(`${store} says ${text(told)} where the model says ${text(expected)}`);
  }

  #assert(holds: boolean, what: string): void {
    if (!holds) this.#fail(what);
  }

  #fail(what: string): never {
    throw new Error(`seed ${this.seed}, step ${this.#at}, ${this.#what} at ${this.#nowMs}: ${what}`);
  }

  #note(what: string, kind: string): void {
    this.#what = what;
    this.#count(kind);
  }

  #count(kind: string): void {
    this.tally[kind] = (this.tally[kind] ?? 0) + 1;
  }
}

/** The object that a processor has of a store. */
function of(played: Played, processor: number): Store {
  return played.processors[processor % played.processors.length]!;
}

function line(kind: 'input' | 'output', tokens: number): LedgerEvent['lines'][number] {
  return { model: 'm', serviceTier: null, kind, tokens };
}

/** As `isDeepStrictEqual` tells, at a tenth of its cost. */
function sameLevels(told: readonly Level[], expected: readonly Level[]): boolean {
  return told.length === expected.length && told.every((level, i) => sameLevel(level, expected[i]!));
}

function sameLevel(a: Level, b: Level): boolean {
  const same = a.remaining === b.remaining && a.resetMs === b.resetMs && a.limit === b.limit && a.capacity === b.capacity;
  return same && a.key === b.key && a.tenantId === b.tenantId && a.dimension === b.dimension;
}

/** A stored event as far as it is compared; its lines must come to its figures. */
function bookedOf({ rootId, event: one }: StoredEvent): Booked {
  const { leaseId, corrects, outcome, estimated, settledAtMs, inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = one;
  const sum = (kind: string) => one.lines.reduce((tokens, each) => tokens + (each.kind === kind ? each.tokens : 0), 0);
  if (sum('input') !== inputTokens || sum('output') !== outputTokens) throw new Error(`${leaseId}: lines are ${text(one.lines)}, figures ${text(one)}`);
  return { rootId, leaseId, corrects, outcome, estimated, settledAtMs, inputTokens, cachedInputTokens, outputTokens, reasoningTokens };
}

function text(value: unknown): string {
  return JSON.stringify(value instanceof Map ? [...(value as Map<unknown, unknown>)] : value);
}

