import type { Entitlement, Lending, PoolEvent, PoolSettings, Pressure } from '../domain/pool.js';
import { Fifo } from '../lib/fifo.js';
import { Heap, HeapNode } from '../lib/heap.js';
import type { Bucket } from './bucket.js';

/** What is kept of time: rates in tokens a second (10 s average), debt in tokens. Served may be below 0 after a settlement: read it by `servedOf`. */
export interface Rates {
  served: number;
  demand: number;
  overuse: number;
  debt: number;
  updatedMs: number;
}

/** First in, first out, with O(1) removal. A lease is in one list at a time. */
export interface LeaseList {
  first: Lease | null;
  last: Lease | null;
  count: number;
}

export interface Lease {
  readonly id: string;
  readonly owner: string;
  entitlement: EntitlementState;
  readonly slots: number;
  /** What it was expected to take. */
  readonly work: number;
  readonly background: boolean;
  readonly bytes: number;
  readonly askedMs: number;
  readonly deadlineMs: number;
  /** Time to first token that its entitlement wanted when it asked. */
  readonly sloMs: number;
  /** Order of arrival. */
  readonly seq: number;
  /** `granted`: dispatched after it waited, and not taken up yet. */
  state: 'waiting' | 'granted' | 'running';
  kvBytes: number;
  /** What is booked of it, from dispatch on. */
  bookedWork: number;
  /** What its owner told last. */
  toldWork: number;
  tier: 0 | 1 | 'spot';
  /** w at its dispatch. */
  weight: number;
  /** Order of dispatch. */
  runSeq: number;
  /** Whether it may be ended, where its entitlement's streams may. */
  readonly endable: boolean;
  /** Its owner was told to end it. */
  ending: boolean;
  before: Lease | null;
  after: Lease | null;
  readonly deadline: HeapNode<Lease>;
  readonly alive: HeapNode<Lease>;
  readonly granted: HeapNode<Lease>;
}

/** What is known of a lease that ended. `reaped`, `unclaimed`: by others; its owner may still put it right, or go on. */
export interface Ended {
  readonly lease: Lease;
  readonly how: 'settled' | 'cancelled' | 'left' | 'queue_timeout' | 'pool_busy' | 'queue_full' | 'reaped' | 'unclaimed';
  readonly endedMs: number;
}

/** What is in flight, of an entitlement or of its pool: the one is part of the other. */
interface InFlight {
  slots: number;
  kvBytes: number;
  /** Requests. */
  inFlight: number;
  /** Sum of the work that is booked of them. */
  bookedWork: number;
  /** Of these, what is being ended. */
  endingSlots: number;
  endingKv: number;
}

export interface EntitlementState extends InFlight {
  readonly id: string;
  config: Entitlement;
  sloFactor: number;
  /** Dedicated or guaranteed, with a baseline to judge by. */
  assured: boolean;
  /** Baseline in force; what is not asked is infinite. */
  baseSlots: number;
  baseKv: number;
  /** λ of the baseline; 0: none. */
  basePerSecond: number;
  /** To whom its baseline is lent, and what of it it uses itself, where that is not all. */
  lentTo: Lending;
  lentSlots: number;
  lentKv: number;
  readonly rates: Rates;
  /** Its own λ, which tier 0 takes from. */
  readonly bucket: Bucket;
  v: number;
  /** When it last became one with nothing waiting and nothing in flight. */
  idleSinceMs: number;
  readonly waiting: LeaseList;
  waitingSlots: number;
  waitingKv: number;
  waitingWork: number;
  waitingBytes: number;
  /** Dispatched, may be ended and is not yet, oldest first. */
  readonly running: LeaseList;
  readonly fair: HeapNode<EntitlementState>;
  readonly tier0: HeapNode<EntitlementState>;
  readonly ripening: HeapNode<EntitlementState>;
  readonly spotVictim: HeapNode<EntitlementState>;
  readonly otherVictim: HeapNode<EntitlementState>;
  readonly idle: HeapNode<EntitlementState>;
  readonly longest: HeapNode<EntitlementState>;
  readonly heaviest: HeapNode<EntitlementState>;
}

export interface PoolState extends InFlight {
  readonly id: string;
  /** At most so many dispatches a call. */
  readonly dispatchesPerCall: number;
  settings: PoolSettings | null;
  pressure: Pressure;
  /** Capacity; what is not bounded is infinite. Rates: 0 is not bounded. */
  capSlots: number;
  capKv: number;
  capPerSecond: number;
  capRequestsPerSecond: number;
  workBucketSize: number;
  requestBucketSize: number;
  /** Factor by which baselines are shrunk since capacity is less than all of tier 0. */
  shrink: number;
  /** Baselines lent to nobody, to spot only, by that factor; and what those that hold them use of them. */
  noneSlots: number;
  noneKv: number;
  spotSlots: number;
  spotKv: number;
  noneUsedSlots: number;
  noneUsedKv: number;
  spotUsedSlots: number;
  spotUsedKv: number;
  /** Never goes back. */
  nowMs: number;
  /** Store clock, and the caller's time of the last call. */
  clockMs: number;
  callMs: number;
  seq: number;
  waitingCount: number;
  waitingBytes: number;
  waitingWork: number;
  readonly rates: Rates;
  /** Of tier 0: served only. */
  readonly tier0Rates: Rates;
  readonly workBucket: Bucket;
  readonly requestBucket: Bucket;
  /** Largest v that was dispatched from. */
  lastV: number;
  /** The waiter that room is kept for. */
  kept: Lease | null;
  /** Whether the next of tier 1 lacks tokens (or requests) and not room: nobody may take them before it. */
  rateBlocked: boolean;
  /** When a bucket lets the next pass; Infinity: no bucket is in the way. */
  rateReadyMs: number;
  /** When a waiter of tier 0 may end streams; Infinity: none waits for that. */
  reclaimMs: number;
  /** There was more to dispatch than one call may. */
  more: boolean;
  /** The lease that the running call asks for: told by its answer, not by an event. */
  asking: Lease | null;
  readonly entitlements: Map<string, EntitlementState>;
  /** Those with nothing waiting and nothing in flight, in the order in which they became so. */
  readonly idle: Heap<EntitlementState>;
  /** Waiting and running ones. */
  readonly leases: Map<string, Lease>;
  /** The same, by their last sign of life. */
  readonly alive: Heap<Lease>;
  /** Those that were granted and not taken up, by when. */
  readonly granted: Heap<Lease>;
  readonly ended: Map<string, Ended>;
  /** The same, in the order of their ends; those that are there no more may be among them. */
  readonly endedOrder: Fifo<Ended>;
  /** Waiting entitlements: whose head is tier 0 by its arrival; the others by v; those of them whose own bucket makes them tier 0, by when. */
  readonly tier0: Heap<EntitlementState>;
  readonly fair: Heap<EntitlementState>;
  readonly ripening: Heap<EntitlementState>;
  readonly deadlines: Heap<Lease>;
  /** Waiting entitlements: those with most waiters first, and those whose waiters hold most bytes. */
  readonly longest: Heap<EntitlementState>;
  readonly heaviest: Heap<EntitlementState>;
  /** Entitlements whose streams may be ended, by the latest of them. */
  readonly spotVictims: Heap<EntitlementState>;
  readonly otherVictims: Heap<EntitlementState>;
  events: { owner: string; event: PoolEvent }[];
}

export function newRates(nowMs: number): Rates {
  return { served: 0, demand: 0, overuse: 0, debt: 0, updatedMs: nowMs };
}

export function newList(): LeaseList {
  return { first: null, last: null, count: 0 };
}

/** Written out, all at once, as all that is here: what is put together of parts is a dictionary to the engine, and slow at each touch. */
export function newPool(id: string, dispatchesPerCall: number): PoolState {
  return {
    id, dispatchesPerCall, settings: null, pressure: 'normal',
    capSlots: Infinity, capKv: Infinity, capPerSecond: 0, capRequestsPerSecond: 0, workBucketSize: 0, requestBucketSize: 0,
    shrink: 1, noneSlots: 0, noneKv: 0, spotSlots: 0, spotKv: 0, noneUsedSlots: 0, noneUsedKv: 0, spotUsedSlots: 0, spotUsedKv: 0,
    nowMs: 0, clockMs: 0, callMs: 0, seq: 0,
    slots: 0, kvBytes: 0, inFlight: 0, bookedWork: 0, endingSlots: 0, endingKv: 0, waitingCount: 0, waitingBytes: 0, waitingWork: 0,
    rates: newRates(0), tier0Rates: newRates(0), workBucket: { lacking: 0, atMs: 0 }, requestBucket: { lacking: 0, atMs: 0 },
    lastV: 0, kept: null, rateBlocked: false, rateReadyMs: Infinity, reclaimMs: Infinity, more: false, asking: null,
    entitlements: new Map(), idle: new Heap(), leases: new Map(), alive: new Heap(), granted: new Heap(), ended: new Map(), endedOrder: new Fifo(),
    tier0: new Heap(), fair: new Heap(), ripening: new Heap(), deadlines: new Heap(), longest: new Heap(), heaviest: new Heap(),
    spotVictims: new Heap(), otherVictims: new Heap(), events: [],
  };
}

export function newEntitlement(config: Entitlement, nowMs: number): EntitlementState {
  const { id } = config;
  const e: { -readonly [K in keyof EntitlementState]: EntitlementState[K] } = {
    id, config, sloFactor: 1, assured: false, baseSlots: Infinity, baseKv: Infinity, basePerSecond: 0,
    slots: 0, kvBytes: 0, inFlight: 0, bookedWork: 0, endingSlots: 0, endingKv: 0, lentTo: 'all', lentSlots: 0, lentKv: 0,
    rates: newRates(nowMs), bucket: { lacking: 0, atMs: nowMs }, v: 0, idleSinceMs: nowMs,
    waiting: newList(), waitingSlots: 0, waitingKv: 0, waitingWork: 0, waitingBytes: 0, running: newList(),
    fair: NOWHERE, tier0: NOWHERE, ripening: NOWHERE, spotVictim: NOWHERE, otherVictim: NOWHERE, idle: NOWHERE, longest: NOWHERE, heaviest: NOWHERE,
  };
  e.fair = new HeapNode<EntitlementState>(e, id);
  e.tier0 = new HeapNode<EntitlementState>(e, id);
  e.ripening = new HeapNode<EntitlementState>(e, id);
  e.spotVictim = new HeapNode<EntitlementState>(e, id);
  e.otherVictim = new HeapNode<EntitlementState>(e, id);
  e.idle = new HeapNode<EntitlementState>(e, id);
  e.longest = new HeapNode<EntitlementState>(e, id);
  e.heaviest = new HeapNode<EntitlementState>(e, id);
  return e;
}

/** Until an entitlement has places of its own. */
const NOWHERE = new HeapNode<EntitlementState>(null as never, '');

export function append(list: LeaseList, lease: Lease): void {
  lease.before = list.last;
  lease.after = null;
  if (list.last === null) list.first = lease;
  else list.last.after = lease;
  list.last = lease;
  list.count++;
}

export function unlink(list: LeaseList, lease: Lease): void {
  if (lease.before === null) list.first = lease.after;
  else lease.before.after = lease.after;
  if (lease.after === null) list.last = lease.before;
  else lease.after.before = lease.before;
  lease.before = null;
  lease.after = null;
  list.count--;
}
