import type { Consumption, LedgerEvent, ReserveRequest, ReserveResult } from '../../src/domain/lease.js';
import type { Renewal } from '../../src/domain/store.js';
import { draft, event } from '../conformance/store-builders.js';
import { Random, TENANTS, World } from './history-world.js';
import { StoreModel } from './store-model.js';
import { Referee, type Played, type Tally } from './store-referee.js';

export type { Played, Tally } from './store-referee.js';

const T0 = 1_800_000_000_000;
const OWNERS = 3;
/** Leases that are played with at one time; of ended ones that were told to be known still. */
const MAX_RUNNING = 40;
const MAX_ENDED = 40;
const ENDED_KNOWN_MS = 480_000;
const MAX_BEHIND_MS = 50_000;
const SECOND_MS = 1_000;
/** How far a clock is wrong that is put right again: beyond what counts as a small step. */
const WRONG_MS = [61_000, 7_200_000] as const;

interface Known {
  readonly id: string;
  readonly request: ReserveRequest;
  readonly owner: number;
  /** Its processor crashed, or stands still: it renews no more. */
  silent: boolean;
  outputTokens: number;
  endedAtMs: number | null;
}

export interface PlayOptions {
  /** The clock never steps back behind its latest time by more than what these stores bear, in milliseconds. */
  readonly maxBehindMs?: number;
}

/**
 * Plays a random history through a reference model and through stores, and compares every answer, and after every step all
 * levels, leases and totals. @throws Error that tells seed and step where they differ, or where an invariant of `scheduling.md` does not hold.
 */
export async function playHistory(seed: number, steps: number, stores: readonly Played[], { maxBehindMs = MAX_BEHIND_MS }: PlayOptions = {}): Promise<Tally> {
  const history = new History(seed, stores, maxBehindMs);
  for (let step = 0; step < steps; step++) await history.step(step);
  await history.finish();
  return history.tally;
}

class History {
  readonly #random: Random;
  readonly #world: World;
  readonly #model = new StoreModel();
  readonly #referee: Referee;
  readonly #known = new Map<string, Known>();
  #nowMs = T0;
  #latestMs = T0;
  #ids = 0;
  #step = 0;

  constructor(
    seed: number,
    stores: readonly Played[],
    private readonly maxBehindMs: number,
  ) {
    this.#random = new Random(seed);
    this.#world = new World(this.#random);
    this.#referee = new Referee(seed, stores, this.#model);
  }

  get tally(): Tally {
    return this.#referee.tally;
  }

  async step(step: number): Promise<void> {
    this.#step = step;
    await this.#act(this.#random.next());
    await this.#check();
  }

  /** Ends all that runs: nothing may be left. */
  async finish(): Promise<void> {
    for (const known of [...this.#known.values()]) if (this.#isRunning(known)) await this.#settle(known);
    await this.#check();
    for (let left = 1; left > 0; ) left = await this.#referee.handOn(1);
    this.#referee.assert(this.#model.running.size === 0, 'leases are left');
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
    if (expected.kind !== 'reserved') return this.#referee.checkRefused(expected, request, this.#world.specs);
    this.#referee.checkReserved(expected, request);
    this.#known.set(leaseId, { id: leaseId, request, owner, silent: this.#random.chance(0.1), outputTokens: 0, endedAtMs: null });
  }

  async #reserveAgain(): Promise<void> {
    const known = this.#anyLease();
    if (known !== null) await this.#ask({ ...known.request, nowMs: this.#nowMs }, known.owner);
  }

  async #ask(request: ReserveRequest, owner: number): Promise<ReserveResult> {
    const expected = this.#model.reserve(request);
    this.#referee.note(`reserve ${request.leaseId}`, expected.kind);
    await this.#referee.each(expected, owner, (store) => store.reserve(request));
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
      for (const { id } of its) if (this.#model.leases.get(id)?.state === 'reaped') this.#referee.count('reopened');
      this.#referee.note(`renew ${renewals.map(({ leaseId, outputTokens }) => `${leaseId}=${outputTokens}`).join(' ')}`, 'renewed');
      this.#model.renew(renewals, this.#nowMs);
      await this.#referee.each(undefined, owner, (store) => store.renew(renewals, this.#nowMs));
    }
  }

  async #settle(known: Known | null): Promise<void> {
    const id = known?.id ?? `ghost${this.#ids}`;
    const consumed = this.#world.consume();
    const settled = this.#eventOf(known, id, consumed);
    const expected = this.#model.settle(id, consumed, settled, this.#nowMs);
    this.#referee.noteEnd('settle', id, expected);
    await this.#referee.each(expected, known?.owner ?? 0, (store) => store.settle(id, consumed, settled, this.#nowMs));
    if (known !== null && expected !== 'already_ended') known.endedAtMs = this.#latestMs;
  }

  async #cancel(known: Known | null): Promise<void> {
    const id = known?.id ?? `ghost${this.#ids}`;
    const expected = this.#model.cancel(id, this.#nowMs);
    this.#referee.noteEnd('cancel', id, expected);
    await this.#referee.each(expected, known?.owner ?? 0, (store) => store.cancel(id, this.#nowMs));
    if (known !== null && expected !== 'already_ended') known.endedAtMs = this.#latestMs;
  }

  /** A processor dies, or stands still for a while and comes back. */
  async #crash(): Promise<void> {
    const owner = this.#random.whole(0, OWNERS - 1);
    this.#referee.note(`crash p${owner}`, 'crashed');
    for (const known of this.#known.values()) if (known.owner === owner) known.silent = true;
    if (this.#random.chance(0.6)) for (let i = 0; i < 11; i++) await this.#beat();
    if (this.#random.chance(0.5)) for (const known of this.#known.values()) if (known.owner === owner && known.endedAtMs === null) known.silent = false;
  }

  async #reap(): Promise<void> {
    const dead = this.#model.reap(this.#nowMs);
    for (const { outputTokens } of dead) this.#referee.count(outputTokens === null ? 'reaped whole' : 'reaped');
    this.#referee.note('reap', 'reaping');
    const by = this.#random.whole(0, OWNERS - 1);
    await this.#referee.each(dead.length, by, (store) => store.reap(this.#nowMs));
  }

  async #stepClock(): Promise<void> {
    const chance = this.#random.next();
    if (chance < 0.04) return this.#putClockRight();
    if (chance < 0.5) this.#moveClock(this.#random.whole(0, 3_000));
    else if (chance < 0.6) this.#moveClock(0.5);
    else if (chance < 0.75) this.#moveClock(this.#random.whole(3_000, 300_000));
    else this.#moveClock(-this.#random.whole(1, 30_000));
    this.#referee.note(`clock ${this.#nowMs}`, 'clock');
    await Promise.resolve();
  }

  /**
   * A clock that was ahead is put right. All buckets were used while it was wrong: one that was full by it might be forgotten by a store, and
   * of its past nobody could tell.
   */
  async #putClockRight(): Promise<void> {
    for (const spec of this.#world.specs) {
      const leaseId = `l${++this.#ids}`;
      const used = { ...spec, amount: 1, inputAmount: 0 };
      await this.#ask({ leaseId, tenantId: spec.tenantId, rootId: this.#world.rootOf(spec.tenantId), owner: 'p0', nowMs: this.#nowMs, enforced: [], shadowed: [used], draft: draft(leaseId, 0) }, 0);
      this.#referee.noteEnd('cancel', leaseId, this.#model.cancel(leaseId, this.#nowMs));
      await this.#referee.each('settled', 0, (store) => store.cancel(leaseId, this.#nowMs));
      this.#model.leases.delete(leaseId);
    }
    this.#nowMs -= this.#random.whole(...WRONG_MS);
    this.#latestMs = this.#nowMs;
    this.#referee.note(`clock put right to ${this.#nowMs}`, 'clock put right');
  }

  async #reconfigure(): Promise<void> {
    this.#world.reconfigure();
    this.#referee.note('reconfigure', 'configured');
    await Promise.resolve();
  }

  /** What is asked only now and then. */
  async #lookAround(): Promise<void> {
    this.#referee.note('look around', 'looked');
    for (const tenantId of TENANTS) {
      const idle = this.#model.isIdle(tenantId, this.#nowMs);
      this.#referee.count(idle ? 'idle' : 'busy');
      await this.#referee.each(idle, 0, (store) => store.isIdle(tenantId, this.#nowMs));
    }
    const day = new Date(this.#nowMs).toISOString().slice(0, 10);
    for (const period of [day, day.slice(0, 7)]) await this.#referee.each(this.#model.totals(period), 1, (store) => store.totalsIn(period));
    await this.#referee.handOn(this.#random.next());
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

  async #check(): Promise<void> {
    this.#keepRates();
    await this.#referee.checkStep(this.#step, this.#world.specs, this.#nowMs);
    this.#forget();
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
    this.#nowMs = Math.max(this.#nowMs + ms, this.#latestMs - this.maxBehindMs);
    this.#latestMs = Math.max(this.#latestMs, this.#nowMs);
  }

  /** Ended leases are known for a while only: asked of later, stores may differ. */
  #forget(): void {
    const ended = [...this.#known.values()].filter((known) => !this.#isRunning(known));
    for (const [i, known] of ended.entries()) {
      const old = known.endedAtMs !== null && this.#latestMs - known.endedAtMs > ENDED_KNOWN_MS;
      if (!old && i >= ended.length - MAX_ENDED) continue;
      this.#known.delete(known.id);
      this.#referee.forget(known.id);
      this.#model.leases.delete(known.id);
    }
  }
}

function line(kind: 'input' | 'output', tokens: number): LedgerEvent['lines'][number] {
  return { model: 'm', serviceTier: null, kind, tokens };
}
