import type { PoolAnswer, PoolAsk, PoolEvent } from '../../src/domain/pool.js';
import { couldEverFit, fitsRate, fitsRequests, fitsRoom, isTier0 } from '../../src/pool/fit.js';
import { isAboveBaseline } from '../../src/pool/lending.js';
import type { OwnedEvent, PoolScheduler } from '../../src/pool/scheduler.js';
import type { EntitlementState, Lease, PoolState } from '../../src/pool/state.js';

interface Told {
  granted: number;
  refused: number;
  ending: number;
  ended: number;
}

/** Watches over the invariants of `scheduling.md` in the state of a scheduler, by sums and searches of its own. */
export class PoolJudge {
  readonly #told = new Map<string, Told>();
  /** Amounts in flight grew by more than dispatches: of streams that were reopened or extended, or capacity was lost. */
  #before = '';
  #isReconfigured = false;

  constructor(
    private readonly scheduler: PoolScheduler,
    private readonly fail: (what: string) => never,
  ) {}

  /** Before an ask, at the same time and after a tick: nothing is due. */
  beforeAsk({ entitlement }: PoolAsk): void {
    const known = this.scheduler.state.entitlements.get(entitlement.id);
    // A new configuration, that an ask brings, counts for those that wait whatever becomes of the ask: room may be kept for another one then.
    this.#isReconfigured = known !== undefined && JSON.stringify(known.config) !== JSON.stringify(entitlement);
    this.#before = fingerprint(this.scheduler.state, this.#isReconfigured);
  }

  /** Invariants 4 and 5, of an answer to a first ask. */
  checkAnswer(answer: PoolAnswer, ask: PoolAsk, events: readonly OwnedEvent[]): void {
    if (answer.kind !== 'refused') return;
    const s = this.scheduler.state;
    const after = fingerprint(s, this.#isReconfigured);
    this.#assert(after === this.#before, `the refusal of ${ask.leaseId} changed something: ${this.#before} → ${after}`);
    this.#assert(events.length === 0 || this.#isReconfigured, `the refusal of ${ask.leaseId} told somebody something`);
    if (answer.factors.tier !== 0 || (s.pressure === 'critical' && ask.work === 'background')) return;
    const e = s.entitlements.get(ask.entitlement.id);
    if (e === undefined || e.waiting.count > 0 || !fitsRequests(s)) return;
    this.#assert(!fitsRoom(s, e, 0, ask.demand), `${ask.leaseId} of tier 0 was refused though it fits`);
  }

  /** Invariant 2: what owners are told of a lease, once each. */
  noteEvents(events: readonly OwnedEvent[]): void {
    for (const { event } of events) {
      const told = this.#toldOf(event.leaseId);
      if (event.kind === 'granted') told.granted++;
      else if (event.kind === 'refused') told.refused++;
      else told.ending++;
      this.#assert(told.granted <= 1 && told.refused <= 1 && told.granted + told.refused <= 1, `${event.leaseId} was answered twice`);
    }
  }

  noteEnd(leaseId: string): void {
    this.#assert(++this.#toldOf(leaseId).ended <= 1, `${leaseId} ended twice`);
  }

  forget(leaseId: string): void {
    this.#told.delete(leaseId);
  }

  /** After every step. `dispatched`: whether this step dispatched; `reopened`: or let something run that was not dispatched. */
  checkState(events: readonly OwnedEvent[], answer: PoolAnswer | null, reopened: boolean): void {
    const s = this.scheduler.state;
    const dispatched = answer?.kind === 'dispatched' || events.some(({ event }) => event.kind === 'granted');
    this.#checkSums(s);
    this.#checkLent(s);
    this.#checkIndex(s);
    // Invariant 3.
    if (dispatched && !reopened) this.#assert(s.slots <= s.capSlots && s.kvBytes <= s.capKv, `overshoot: ${s.slots} of ${s.capSlots} slots, ${s.kvBytes} of ${s.capKv} bytes`);
    this.#checkConservation(s);
    this.#checkReclaim(s);
    for (const lease of s.leases.values()) if (lease.state === 'waiting') this.#assert(lease.deadlineMs > s.nowMs, `${lease.id} waits beyond its hold limit`);
    this.#checkEnding(events.map(({ event }) => event));
  }

  /** Invariant 1: what is in flight and what waits is the sum of the leases, in every dimension. */
  #checkSums(s: PoolState): void {
    const running = [...s.leases.values()].filter(({ state }) => state !== 'waiting');
    const waiting = [...s.leases.values()].filter(({ state }) => state === 'waiting');
    const ending = running.filter((lease) => lease.ending);
    this.#same('pool in flight', [s.inFlight, s.slots, s.kvBytes, s.bookedWork], [running.length, ...sumsOf(running), sum(running, (lease) => lease.bookedWork)]);
    this.#same('pool ending', [s.endingSlots, s.endingKv], sumsOf(ending));
    this.#same('pool waiting', [s.waitingCount, s.waitingBytes, s.waitingWork], [waiting.length, sum(waiting, ({ bytes }) => bytes), sum(waiting, ({ work }) => work)]);
    for (const e of s.entitlements.values()) {
      const itsRunning = running.filter(({ entitlement }) => entitlement === e);
      const itsWaiting = waiting.filter(({ entitlement }) => entitlement === e);
      this.#same(`${e.id} in flight`, [e.inFlight, e.slots, e.kvBytes, e.bookedWork], [itsRunning.length, ...sumsOf(itsRunning), sum(itsRunning, (lease) => lease.bookedWork)]);
      this.#same(`${e.id} waiting`, [e.waiting.count, e.waitingSlots, e.waitingKv, e.waitingWork], [itsWaiting.length, ...sumsOf(itsWaiting), sum(itsWaiting, ({ work }) => work)]);
      this.#same(`${e.id} queue`, idsOf(e.waiting.first), itsWaiting.sort((a, b) => a.seq - b.seq).map(({ id }) => id));
      this.#same(`${e.id} streams`, idsOf(e.running.first).length, itsRunning.filter((lease) => !lease.ending).length);
      this.#same(`${e.id} idle`, e.idle.position >= 0, e.inFlight === 0 && e.waiting.count === 0);
    }
    for (const lease of s.leases.values()) this.#same(`the entitlement of ${lease.id}`, s.entitlements.get(lease.entitlement.id), lease.entitlement);
  }

  /** What is kept of baselines, summed anew. */
  #checkLent(s: PoolState): void {
    const used = (lend: string, of: (e: EntitlementState) => number) => sum([...s.entitlements.values()].filter((e) => e.config.lend === lend), of);
    const slots = (e: EntitlementState) => (e.baseSlots === Infinity ? 0 : Math.min(e.slots, e.baseSlots));
    const kv = (e: EntitlementState) => (e.baseKv === Infinity ? 0 : Math.min(e.kvBytes, e.baseKv));
    this.#same('lent', [s.noneUsedSlots, s.noneUsedKv, s.spotUsedSlots, s.spotUsedKv], [used('none', slots), used('none', kv), used('spot', slots), used('spot', kv)]);
  }

  /** Every waiting entitlement is where its head belongs. */
  #checkIndex(s: PoolState): void {
    for (const e of s.entitlements.values()) {
      const waits = e.waiting.count > 0;
      this.#same(`${e.id} is indexed`, e.tier0.position >= 0 || e.fair.position >= 0, waits);
      if (!waits) continue;
      this.#same(`${e.id} is tier 0`, e.tier0.position >= 0, isTier0(s, e, e.waiting.first!));
      if (e.fair.position >= 0) this.#same(`${e.id} v`, e.fair.key, e.v);
    }
    this.#assert(s.kept === null || s.kept.state === 'waiting', 'room is kept for one that does not wait');
  }

  /** Invariants 5 and 6: nobody waits that fits, but for the one that room is kept for and for tokens that the next one saves up. */
  #checkConservation(s: PoolState): void {
    if (s.more) return;
    for (const lease of s.leases.values()) {
      if (lease.state !== 'waiting' || !isNear(lease) || !fitsRequests(s)) continue;
      const e = lease.entitlement;
      const isHead = e.waiting.first === lease;
      if (isTier0(s, e, lease)) {
        if (isHead) this.#assert(!fitsRoom(s, e, 0, lease), `${lease.id} of tier 0 waits though it fits`);
        continue;
      }
      if (s.pressure === 'critical' || s.kept !== null) continue;
      if (!fitsRoom(s, e, 1, lease)) continue;
      this.#assert(s.rateBlocked, `${lease.id} waits though it has room (nobody is named)`);
    }
    if (s.rateBlocked && fitsRequests(s)) this.#assert([...s.leases.values()].some((lease) => lease.state === 'waiting' && !fitsRate(s, 1, lease.work)), 'tokens are saved for nobody');
    if (s.kept !== null && s.slots < s.capSlots && !isTier0(s, s.kept.entitlement, s.kept)) this.#assert(couldEverFit(s, s.kept.entitlement, 1, s.kept), 'room is kept for what never fits');
  }

  /** Invariant 5: who waits for room in its baseline, for long enough, leaves no stream alone that may be ended, while room is short. */
  #checkReclaim(s: PoolState): void {
    for (const e of s.entitlements.values()) {
      const head = e.waiting.first;
      if (head === null || e.tier0.position < 0 || !fitsRequests(s)) continue;
      const isShort = s.slots - s.endingSlots + head.slots > s.capSlots || s.kvBytes - s.endingKv + head.kvBytes > s.capKv;
      if (!isShort) continue;
      const isDue = s.nowMs - head.askedMs >= s.settings!.reclaimMs;
      for (const other of s.entitlements.values()) {
        if (!other.config.preemptible || other.running.count === 0) continue;
        const isSpot = other.config.serviceClass === 'spot';
        if (!isSpot && !isDue) continue;
        this.#assert(!isAboveBaseline(other), `${head.id} waits for room that ${other.id} has borrowed`);
      }
    }
  }

  #checkEnding(events: readonly PoolEvent[]): void {
    for (const { leaseId } of events.filter(({ kind }) => kind === 'end_stream')) {
      const lease = this.scheduler.state.leases.get(leaseId);
      this.#assert(lease === undefined || lease.ending, `${leaseId} is to be ended and is not marked`);
    }
  }

  #toldOf(leaseId: string): Told {
    const told = this.#told.get(leaseId) ?? { granted: 0, refused: 0, ending: 0, ended: 0 };
    this.#told.set(leaseId, told);
    return told;
  }

  #same(what: string, actual: unknown, expected: unknown): void {
    const same = Array.isArray(actual) && Array.isArray(expected) ? actual.length === expected.length && actual.every((one, i) => one === expected[i]) : actual === expected;
    if (!same) this.fail(`${what}: ${String(actual)} instead of ${String(expected)}`);
  }

  #assert(holds: boolean, what: string): void {
    if (!holds) this.fail(what);
  }
}

/** Near enough to the head of its entitlement to be looked at: of so few entitlements all are. */
function isNear(lease: Lease): boolean {
  return lease.entitlement.waiting.first === lease;
}

function sum<T>(of: readonly T[], what: (one: T) => number): number {
  return of.reduce((total, one) => total + what(one), 0);
}

function sumsOf(leases: readonly Lease[]): [number, number] {
  return [sum(leases, ({ slots }) => slots), sum(leases, ({ kvBytes }) => kvBytes)];
}

function idsOf(first: Lease | null): string[] {
  const ids: string[] = [];
  for (let lease = first; lease !== null; lease = lease.after) ids.push(lease.id);
  return ids;
}

/** All that a refusal must not change. */
function fingerprint(s: PoolState, isReconfigured: boolean): string {
  const { slots, kvBytes, inFlight, bookedWork, waitingCount, waitingBytes, waitingWork, workBucket, requestBucket } = s;
  const own = [...s.entitlements.values()].filter((e) => e.inFlight > 0 || e.waiting.count > 0).map((e) => [e.id, e.slots, e.kvBytes, e.inFlight, e.bookedWork, e.waitingWork]);
  return JSON.stringify([slots, kvBytes, inFlight, bookedWork, waitingCount, waitingBytes, waitingWork, workBucket.lacking, requestBucket.lacking, own, [...s.leases.keys()], isReconfigured ? null : s.kept?.id]);
}
