import { isDeepStrictEqual } from 'node:util';
import type { Level, LedgerEvent, ReserveRequest, ReserveResult, SettleResult } from '../../src/domain/lease.js';
import type { BucketSpec, Store, StoredEvent } from '../../src/domain/store.js';
import type { Booked, StoreModel } from './store-model.js';

/** One store that is played: by several objects, where it is shared by as many processors. Empty, by the callers' time, keeps events. */
export interface Played {
  readonly name: string;
  readonly processors: readonly Store[];
}

/** How often what happened, so that a test can see that nothing of it was left out. */
export type Tally = Record<string, number>;

/** Compares stores with the model, and watches over the invariants of `scheduling.md`. */
export class Referee {
  readonly tally: Tally = {};
  /** Events that each store has yet to hand on, by root. */
  readonly #queues: readonly Map<string, Booked[]>[];
  /** Of the latest leases: how often one ended for good, and how often it was booked as a request. */
  readonly #ends = new Map<string, { ended: number; booked: number }>();
  #before: readonly Level[] = [];
  #what = '';
  #step = 0;

  constructor(
    private readonly seed: number,
    private readonly stores: readonly Played[],
    private readonly model: StoreModel,
  ) {
    this.#queues = stores.map(() => new Map<string, Booked[]>());
  }

  /** Something is about to happen. */
  note(what: string, kind: string): void {
    this.#what = what;
    this.count(kind);
  }

  count(kind: string): void {
    this.tally[kind] = (this.tally[kind] ?? 0) + 1;
  }

  /** Invariant 2: a lease ends once. */
  noteEnd(what: string, id: string, result: SettleResult): void {
    this.note(`${what} ${id}`, `${what}: ${result}`);
    if (result === 'settled' || result === 'corrected') this.#endsOf(id).ended++;
    this.assert(this.#endsOf(id).ended <= 1, `${id} ended twice`);
  }

  /** Nothing more is asked of a lease. */
  forget(id: string): void {
    this.#ends.delete(id);
  }

  /** Every store gives the answer of the model. `owner`: the processor that asks. */
  async each<T>(expected: T, owner: number, ask: (store: Store) => Promise<T>): Promise<void> {
    for (const played of this.stores) this.#same(played.name, await ask(storeOf(played, owner)), expected);
  }

  /** After every step: levels, leases and totals are those of the model, whose books are right (invariant 1). */
  async checkStep(step: number, specs: readonly BucketSpec[], nowMs: number): Promise<void> {
    this.#step = step;
    this.model.check();
    for (const one of this.model.events.splice(0)) this.#queue(one);
    const totals = this.model.totals('all');
    const levels = this.model.levels(specs, nowMs);
    this.#before = levels;
    for (const played of this.stores) {
      const told = await storeOf(played, step).snapshot(specs, nowMs);
      this.#same(played.name, told.leases, this.model.running.size);
      if (!sameLevels(told.levels, levels)) this.#same(played.name, told.levels, levels);
      this.#same(played.name, told.totals, totals);
    }
  }

  /** Invariant 3: no reservation takes a bucket below zero. */
  checkReserved(result: ReserveResult, { enforced, shadowed }: ReserveRequest): void {
    if (result.kind !== 'reserved') return;
    const charged = result.wouldRefuse === null ? [...enforced, ...shadowed] : enforced;
    for (const [i, { key }] of charged.entries()) this.assert(result.levels[i]!.remaining >= 0, `${key} was overdrawn by a reservation`);
  }

  /** Invariant 4: after a refusal all is as it was before; that stores agree is compared after the step. */
  checkRefused(result: ReserveResult, request: ReserveRequest, specs: readonly BucketSpec[]): void {
    this.assert(sameLevels(this.model.levels(specs, request.nowMs), this.#before), `the refusal of ${request.leaseId} changed a level`);
    this.assert(result.levels.length === request.enforced.length + request.shadowed.length, 'levels are missing');
  }

  /** Hands the oldest events on as a sink does, and acknowledges a share of them. @returns how many are left. */
  async handOn(share: number): Promise<number> {
    let left = 0;
    for (const [i, played] of this.stores.entries()) {
      const queue = this.#queues[i]!;
      const pending = await storeOf(played, i).pendingEvents(50);
      const waiting = [...queue.values()].reduce((sum, its) => sum + its.length, 0);
      this.#same(played.name, pending.length, Math.min(50, waiting));
      for (const [rootId, its] of queue) {
        const told = pending.filter((one) => one.rootId === rootId).map(bookedOf);
        this.#same(played.name, told, its.slice(0, told.length));
      }
      const taken = pending.slice(0, Math.ceil(pending.length * share));
      await storeOf(played, i + 1).acknowledgeEvents(taken);
      for (const { rootId } of taken) queue.get(rootId)?.shift();
      left = Math.max(left, waiting - taken.length);
    }
    return left;
  }

  assert(holds: boolean, what: string): void {
    if (!holds) throw new Error(`seed ${this.seed}, after step ${this.#step}, ${this.#what}: ${what}`);
  }

  /** Invariant 2, as far as the ledger goes: a lease is one request in it at most. */
  #queue(one: Booked): void {
    const ends = this.#endsOf(one.leaseId);
    if (!one.corrects) ends.booked++;
    this.assert(ends.booked <= 1, `${one.leaseId} was booked twice`);
    for (const queue of this.#queues) queue.set(one.rootId, [...(queue.get(one.rootId) ?? []), one]);
  }

  #endsOf(id: string): { ended: number; booked: number } {
    const known = this.#ends.get(id) ?? { ended: 0, booked: 0 };
    this.#ends.set(id, known);
    return known;
  }

  #same(store: string, told: unknown, expected: unknown): void {
    if (!isDeepStrictEqual(told, expected)) this.assert(false, `${store} says ${text(told)} where the model says ${text(expected)}`);
  }
}

/** The object that a processor has of a store. */
function storeOf(played: Played, processor: number): Store {
  return played.processors[processor % played.processors.length]!;
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
function bookedOf({ rootId, event }: StoredEvent): Booked {
  const { leaseId, corrects, outcome, estimated, settledAtMs, inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = event;
  if (linesOf(event, 'input') !== inputTokens || linesOf(event, 'output') !== outputTokens) throw new Error(`lines and figures differ: ${text(event)}`);
  return { rootId, leaseId, corrects, outcome, estimated, settledAtMs, inputTokens, cachedInputTokens, outputTokens, reasoningTokens };
}

function linesOf({ lines }: LedgerEvent, kind: string): number {
  return lines.reduce((sum, line) => sum + (line.kind === kind ? line.tokens : 0), 0);
}

function text(value: unknown): string {
  return JSON.stringify(value instanceof Map ? [...(value as Map<unknown, unknown>)] : value);
}
