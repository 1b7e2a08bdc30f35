import { isDeepStrictEqual } from 'node:util';
import type { PoolAnswer, PoolAsk, PoolEnd, PoolEvent, PoolRenewal, PoolStore } from '../../src/domain/pool.js';
import { PoolScheduler, type OwnedEvent } from '../../src/pool/scheduler.js';
import { Random } from './history-world.js';
import { PoolJudge } from './pool-judge.js';
import { POOL, PoolWorld } from './pool-world.js';

const T0 = 1_800_000_000_000;
const OWNERS = ['p0', 'p1', 'p2'];
const MAX_LEASES = 40;
const MAX_ENDED = 30;
/** How long an ended lease is asked about: all stores know it that long. */
const ENDED_KNOWN_MS = 480_000;
/** A store that is shared tells its events a little later. */
const EVENTS_WITHIN_MS = 5_000;

/** A store that is played beside the reference: by several objects, where it is shared by as many processors. Empty, by the callers' time. */
export interface PlayedPools {
  readonly name: string;
  readonly processors: readonly PoolStore[];
}

export interface PoolPlayOptions {
  /** Dispatches a call of the stores that are played. */
  readonly dispatchesPerCall?: number;
}

/** How often what happened, so that a test can see that nothing was left out. */
export type PoolTally = Record<string, number>;

interface Known {
  readonly ask: PoolAsk;
  /** Its processor is gone, or stands still: it renews no more. */
  silent: boolean;
  /** What its owner knows: it runs. */
  runs: boolean;
  work: number;
  endedAtMs: number | null;
}

/**
 * Plays a random history through the scheduler and through stores, compares every answer, event and snapshot, and holds the invariants
 * of `scheduling.md` after every step. @throws Error that tells seed and step.
 */
export async function playPools(seed: number, steps: number, stores: readonly PlayedPools[] = [], options: PoolPlayOptions = {}): Promise<PoolTally> {
  const history = new PoolHistory(seed, stores, options);
  for (let step = 0; step < steps; step++) await history.step(step);
  await history.finish();
  return history.tally;
}

class PoolHistory {
  readonly tally: PoolTally = {};
  readonly #random: Random;
  readonly #world: PoolWorld;
  readonly #reference: PoolScheduler;
  readonly #judge: PoolJudge;
  readonly #known = new Map<string, Known>();
  /** What each store told each owner, and nobody compared yet. */
  readonly #heard: readonly Map<string, PoolEvent[]>[];
  #nowMs = T0;
  #ids = 0;
  #step = 0;
  #what = '';

  constructor(
    private readonly seed: number,
    private readonly stores: readonly PlayedPools[],
    options: PoolPlayOptions,
  ) {
    this.#random = new Random(seed);
    this.#world = new PoolWorld(this.#random);
    this.#reference = new PoolScheduler(POOL, options);
    this.#judge = new PoolJudge(this.#reference, (what) => this.#fail(what));
    this.#heard = stores.map(() => new Map(OWNERS.map((owner) => [owner, []])));
    stores.forEach(({ processors }, i) => {
      for (const [at, owner] of OWNERS.entries()) processors[at % processors.length]!.onEvent(owner, (event) => this.#heard[i]!.get(owner)!.push(event));
    });
  }

  async step(step: number): Promise<void> {
    this.#step = step;
    await this.#act(this.#random.next());
    if (this.stores.length > 0) await this.#compareSnapshots();
    this.#forgetSome();
  }

  /** Everything ends: nothing may be left. */
  async finish(): Promise<void> {
    for (const [id, known] of this.#known) if (known.endedAtMs === null) await this.#end(id, known, 'settle');
    const { state } = this.#reference;
    if (state.leases.size > 0 || state.inFlight > 0 || state.slots > 0 || state.kvBytes > 0 || state.bookedWork > 0) this.#fail('something is left');
  }

  async #act(chance: number): Promise<void> {
    if (chance < 0.3) return this.#ask();
    if (chance < 0.33) return this.#askAgain();
    if (chance < 0.52) return this.#endSome('settle');
    if (chance < 0.58) return this.#endSome('cancel');
    if (chance < 0.7) return this.#renewSome();
    if (chance < 0.85) return this.#beat();
    if (chance < 0.88) return this.#tickAt(this.#nowMs + this.#random.whole(0, 400));
    if (chance < 0.94) return this.#toNext();
    if (chance < 0.96) return this.#stepClock();
    if (chance < 0.97) return this.#crash();
    return this.#change();
  }

  async #ask(): Promise<void> {
    if (this.#reference.state.leases.size >= MAX_LEASES) return this.#endSome('settle');
    await this.#tick();
    const leaseId = `l${++this.#ids}`;
    const ask = this.#world.ask(leaseId, this.#random.pick(OWNERS), this.#nowMs);
    this.#note(`ask ${JSON.stringify({ ...ask, pool: null })}`);
    this.#judge.beforeAsk(ask);
    const answer = await this.#askAll(ask, true);
    if (answer.kind === 'refused') return;
    this.#known.set(leaseId, { ask, silent: this.#random.chance(0.05), runs: answer.kind === 'dispatched', work: 0, endedAtMs: null });
  }

  async #askAgain(): Promise<void> {
    const [id, known] = this.#anyLease();
    if (known === null) return;
    this.#note(`ask again ${id}`);
    const answer = await this.#askAll({ ...known.ask, pool: this.#world.settings, nowMs: this.#nowMs }, false);
    if (answer.kind === 'dispatched') known.runs = true;
  }

  async #askAll(ask: PoolAsk, isFirst: boolean): Promise<PoolAnswer> {
    const answer = this.#reference.ask(ask);
    const events = this.#reference.takeEvents();
    this.#count(answer.kind === 'refused' ? `refused: ${answer.reason}` : `${answer.kind}: tier ${answer.kind === 'unavailable' ? '' : answer.factors.tier}`);
    if (isFirst) this.#judge.checkAnswer(answer, ask, events);
    this.#checkStep(events, isFirst ? answer : null, false);
    await this.#each(answer, ask.owner, (store) => store.ask(ask));
    await this.#compareEvents(events);
    return answer;
  }

  async #endSome(how: 'settle' | 'cancel'): Promise<void> {
    const [id, known] = this.#anyLease();
    await this.#end(id, known, how);
  }

  async #end(id: string, known: Known | null, how: 'settle' | 'cancel'): Promise<void> {
    const work = this.#world.work();
    this.#note(`${how} ${id} ${work}`);
    const end = how === 'settle' ? this.#reference.settle(id, work, this.#nowMs) : this.#reference.cancel(id, this.#nowMs);
    this.#count(`${how}: ${end}`);
    if (end === 'ended' || end === 'corrected') this.#judge.noteEnd(id);
    if (known !== null) known.endedAtMs ??= this.#nowMs;
    const expected: { end: PoolEnd; nextAtMs: number | null } = { end, nextAtMs: this.#reference.nextAtMs(this.#nowMs) };
    const owner = known?.ask.owner ?? OWNERS[0]!;
    await this.#after(expected, owner, (store) => (how === 'settle' ? store.settle(POOL, id, work, this.#nowMs) : store.cancel(POOL, id, this.#nowMs)));
  }

  async #renewSome(): Promise<void> {
    const some = [...this.#known].filter(([, known]) => (known.silent || known.endedAtMs !== null ? this.#random.chance(0.03) : this.#random.chance(0.5)));
    await this.#renew(some);
  }

  /** A second passes as it should. */
  async #beat(): Promise<void> {
    this.#nowMs += this.#random.whole(200, 1_000);
    await this.#renew([...this.#known].filter(([, known]) => !known.silent && known.endedAtMs === null));
    await this.#tick();
  }

  async #renew(some: readonly (readonly [string, Known])[]): Promise<void> {
    for (const owner of OWNERS) {
      const renewals: PoolRenewal[] = some.filter(([, { ask }]) => ask.owner === owner).map(([id, known]) => this.#renewal(id, known));
      if (renewals.length === 0) continue;
      this.#note(`renew ${owner} ${JSON.stringify(renewals)}`);
      const { leases } = this.#reference.state;
      const reopened = renewals.some(({ leaseId, work, kvBytes }) => work + kvBytes > 0 && (leases.has(leaseId) ? kvBytes > this.#known.get(leaseId)!.ask.demand.kvBytes : this.#reference.state.ended.has(leaseId)));
      this.#reference.renew(owner, renewals, this.#nowMs);
      await this.#after({ nextAtMs: this.#reference.nextAtMs(this.#nowMs) }, owner, (store) => store.renew(POOL, owner, renewals, this.#nowMs), reopened);
    }
  }

  #renewal(leaseId: string, known: Known): PoolRenewal {
    if (!known.runs) return { leaseId, work: 0, kvBytes: 0 };
    known.work += this.#random.whole(1, 200);
    return { leaseId, work: known.work, kvBytes: this.#random.chance(0.1) ? known.ask.demand.kvBytes + known.work : 0 };
  }

  async #tickAt(nowMs: number): Promise<void> {
    this.#nowMs = nowMs;
    await this.#tick();
  }

  /** To when something happens by time alone. */
  async #toNext(): Promise<void> {
    const next = this.#reference.nextAtMs(this.#nowMs);
    if (next !== null) await this.#tickAt(Math.max(this.#nowMs, next));
  }

  async #tick(): Promise<void> {
    this.#note(`tick ${this.#nowMs} ${JSON.stringify(this.#world.settings)}`);
    this.#reference.tick(this.#world.settings, this.#nowMs);
    const owner = this.#random.pick(OWNERS);
    await this.#after({ nextAtMs: this.#reference.nextAtMs(this.#nowMs) }, owner, (store) => store.tick(this.#world.settings, this.#nowMs));
  }

  async #stepClock(): Promise<void> {
    const chance = this.#random.next();
    if (chance < 0.5) this.#nowMs += this.#random.whole(0, 3_000);
    else if (chance < 0.7) this.#nowMs += 0.5;
    else if (chance < 0.85) this.#nowMs += this.#random.whole(3_000, 300_000);
    else this.#nowMs -= this.#random.whole(1, 2_000);
    await this.#tick();
  }

  /** A processor dies, or stands still for a while and comes back. */
  async #crash(): Promise<void> {
    const owner = this.#random.pick(OWNERS);
    const its = [...this.#known.values()].filter(({ ask }) => ask.owner === owner);
    for (const known of its) known.silent = true;
    this.#count('crash');
    if (this.#random.chance(0.7)) for (let i = 0; i < 14; i++) await this.#beat();
    if (this.#random.chance(0.5)) for (const known of its) known.silent = false;
  }

  async #change(): Promise<void> {
    const chance = this.#random.next();
    if (chance < 0.4) this.#world.changeCapacity();
    else if (chance < 0.7) this.#world.changePressure();
    else this.#world.reconfigure();
    await this.#tick();
  }

  /** What follows every call but an ask. */
  async #after<T>(expected: T, owner: string, call: (store: PoolStore) => Promise<T>, reopened = false): Promise<void> {
    const events = this.#reference.takeEvents();
    this.#checkStep(events, null, reopened);
    await this.#each(expected, owner, call);
    await this.#compareEvents(events);
  }

  #checkStep(events: readonly OwnedEvent[], answer: PoolAnswer | null, reopened: boolean): void {
    this.#judge.noteEvents(events);
    this.#judge.checkState(events, answer, reopened);
    for (const { event } of events) {
      this.#count(event.kind === 'granted' ? `granted: tier ${event.factors.tier}` : event.kind === 'refused' ? `event: ${event.reason}` : `ending: ${event.why}`);
      const known = this.#known.get(event.leaseId);
      if (known !== undefined && event.kind === 'granted') known.runs = this.#random.chance(0.95);
    }
    for (const { how } of this.#reference.state.ended.values()) if (how === 'reaped' || how === 'unclaimed') this.tally[how] = (this.tally[how] ?? 0) + 1;
  }

  async #each<T>(expected: T, owner: string, call: (store: PoolStore) => Promise<T>): Promise<void> {
    for (const { name, processors } of this.stores) this.#same(name, await call(processors[OWNERS.indexOf(owner) % processors.length]!), expected);
  }

  async #compareEvents(events: readonly OwnedEvent[]): Promise<void> {
    for (const [i, { name }] of this.stores.entries()) {
      for (const owner of OWNERS) {
        const expected = events.filter((one) => one.owner === owner).map(({ event }) => event);
        const heard = this.#heard[i]!.get(owner)!;
        const untilMs = performance.now() + EVENTS_WITHIN_MS;
        while (heard.length < expected.length && performance.now() < untilMs) await new Promise((resolve) => setImmediate(resolve));
        this.#same(`${name}: events of ${owner}`, heard.splice(0), expected);
      }
    }
  }

  async #compareSnapshots(): Promise<void> {
    // Nothing is known of a pool before it is told its settings.
    const expected = this.#reference.state.settings === null ? null : this.#reference.snapshot(this.#nowMs);
    for (const { name, processors } of this.stores) this.#same(`${name}: snapshot`, await processors[this.#step % processors.length]!.snapshot(POOL, this.#nowMs), expected);
  }

  #anyLease(): [string, Known | null] {
    const all = [...this.#known.keys()];
    if (all.length === 0 || this.#random.chance(0.03)) return [`ghost${this.#ids}`, null];
    const id = this.#random.pick(all);
    return [id, this.#known.get(id)!];
  }

  /** What ended, also by others' hands, is asked about for as long as stores know it. */
  #forgetSome(): void {
    for (const [id, known] of this.#known) known.endedAtMs = this.#reference.state.leases.has(id) ? null : (known.endedAtMs ?? this.#nowMs);
    const ended = [...this.#known].filter(([, { endedAtMs }]) => endedAtMs !== null);
    for (const [i, [id, known]] of ended.entries()) {
      if (ended.length - i <= MAX_ENDED && this.#nowMs - known.endedAtMs! < ENDED_KNOWN_MS) continue;
      this.#known.delete(id);
      this.#judge.forget(id);
    }
  }

  #note(what: string): void {
    this.#what = what;
  }

  #count(kind: string): void {
    this.tally[kind] = (this.tally[kind] ?? 0) + 1;
  }

  #same(name: string, actual: unknown, expected: unknown): void {
    if (!isDeepStrictEqual(actual, expected)) this.#fail(`${name} has ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`);
  }

  #fail(what: string): never {
    throw new Error(`seed ${this.seed}, step ${this.#step}, ${this.#what}: ${what}`);
  }
}
