import type { Entitlement, PoolAnswer, PoolAsk } from '../domain/pool.js';
import { HeapNode } from '../lib/heap.js';
import { wholeBytes, wholeKv, wholeMs, wholeSlots, wholeWork } from './amounts.js';
import { factorsOf, refusal, waitOf } from './answers.js';
import { book, useChanged } from './booking.js';
import { couldEverFit, fitsRate, fitsRequests, fitsRoom, isTier0 } from './fit.js';
import { evictIdle, noteIdle } from './idle.js';
import { keepAlive, refuseWaiter, takeUp } from './leases.js';
import { pump } from './pump.js';
import { dequeue, enqueue, givingWay, isExempt, isOverfull } from './queue.js';
import { addDemand, touchRates } from './rates.js';
import { configure } from './settings.js';
import { newEntitlement, type Ended, type EntitlementState, type Lease, type PoolState } from './state.js';

/** Dispatches, queues or refuses; `nextAtMs` is left to the caller. */
export function decide(s: PoolState, ask: PoolAsk): PoolAnswer {
  const e = entitlementOf(s, ask.entitlement);
  const lease = newLease(s, e, ask);
  touchRates(s, e);
  addDemand(e.rates, lease.work);
  const isSpot = e.config.serviceClass === 'spot';
  lease.tier = isSpot ? 'spot' : isTier0(s, e, lease) ? 0 : 1;
  if (!couldEverFit(s, e, lease.tier, lease)) return refuse(s, lease, 'pool_too_small');
  if (s.pressure === 'critical' && (isSpot || lease.background)) return refuse(s, lease, 'pool_busy');
  return isSpot ? decideSpot(s, lease) : decideQueued(s, lease, wholeMs(ask.maxWaitMs));
}

/** The same lease id again: as it stands now. To ask for one that was granted takes it up. */
export function answerAgain(s: PoolState, leaseId: string): PoolAnswer | null {
  const lease = s.leases.get(leaseId);
  if (lease === undefined) return answerEnded(s, s.ended.get(leaseId));
  keepAlive(s, lease);
  if (lease.state === 'granted') takeUp(s, lease);
  return answer(s, lease, lease.state === 'waiting' ? 'waiting' : 'dispatched');
}

function answerEnded(s: PoolState, ended: Ended | undefined): PoolAnswer | null {
  if (ended === undefined) return null;
  const { lease, how } = ended;
  const { tier, work, entitlement: e } = lease;
  if (how === 'left' || how === 'pool_busy') return refusal(s, e, tier, work, 'pool_busy');
  return how === 'queue_timeout' || how === 'queue_full' ? refusal(s, e, tier, work, how) : answer(s, lease, 'dispatched');
}

/** Spot takes what is left, at once or not at all. */
function decideSpot(s: PoolState, lease: Lease): PoolAnswer {
  const e = lease.entitlement;
  pump(s);
  const isFree = s.kept === null && !s.rateBlocked && !s.more && fitsRequests(s);
  if (!isFree || !fitsRoom(s, e, 'spot', lease) || !fitsRate(s, 'spot', lease.work)) return refuse(s, lease, 'pool_busy');
  const answered = answer(s, lease, 'dispatched');
  lease.state = 'running';
  book(s, lease, 'spot');
  keepAlive(s, lease);
  return answered;
}

/** It joins the queue for its turn; whether it may stay there is asked only if that is not now. */
function decideQueued(s: PoolState, lease: Lease, maxWaitMs: number): PoolAnswer {
  const { kept } = s;
  s.asking = lease;
  enqueue(s, lease);
  pump(s);
  s.asking = null;
  if (lease.state === 'waiting') {
    const reason = maxWaitMs === 0 ? 'pool_busy' : makesPlace(s, lease.entitlement) ? null : 'queue_full';
    if (reason !== null) {
      dequeue(s, lease);
      // Room may have been kept for this one meanwhile.
      if (kept?.state === 'waiting') s.kept = kept;
      useChanged(s, lease.entitlement);
      return refuse(s, lease, reason);
    }
  }
  keepAlive(s, lease);
  return answer(s, lease, lease.state === 'waiting' ? 'waiting' : 'dispatched');
}

/** Whether the latest waiter of `e` may stay in the queue; if need be, another gives way to it. */
function makesPlace(s: PoolState, e: EntitlementState): boolean {
  if (!isOverfull(s) || isExempt(s, e)) return true;
  const leaving = givingWay(s, e);
  for (const lease of leaving) refuseWaiter(s, lease, 'queue_full');
  return leaving.length > 0;
}

function refuse(s: PoolState, lease: Lease, reason: 'pool_busy' | 'queue_full' | 'pool_too_small'): PoolAnswer {
  const { entitlement: e, tier, work } = lease;
  const answered: PoolAnswer = { kind: 'refused', reason, neededWaitMs: waitOf(s, work, reason), factors: factorsOf(s, e, tier), nextAtMs: null };
  pump(s);
  return answered;
}

function answer(s: PoolState, lease: Lease, kind: 'dispatched' | 'waiting'): PoolAnswer {
  return { kind, factors: factorsOf(s, lease.entitlement, lease.tier), nextAtMs: null };
}

/** The state of an entitlement, made at its first ask and brought to its latest configuration. */
export function entitlementOf(s: PoolState, config: Entitlement): EntitlementState {
  const known = s.entitlements.get(config.id);
  if (known !== undefined) {
    if (known.config !== config) configure(s, known, config);
    return known;
  }
  evictIdle(s);
  const e = newEntitlement(config, s.nowMs);
  s.entitlements.set(e.id, e);
  noteIdle(s, e);
  configure(s, e, config);
  return e;
}

export function newLease(s: PoolState, entitlement: EntitlementState, ask: PoolAsk): Lease {
  const { leaseId, demand } = ask;
  // Written out, all at once: objects that are put together of parts cost a hundred times as much here.
  const lease: { -readonly [K in keyof Lease]: Lease[K] } = {
    id: leaseId,
    owner: ask.owner,
    entitlement,
    background: ask.work === 'background',
    bytes: wholeBytes(ask.bytes),
    slots: wholeSlots(demand.slots),
    kvBytes: wholeKv(demand.kvBytes),
    work: wholeWork(demand.work, 1),
    bookedWork: 0,
    toldWork: 0,
    askedMs: s.nowMs,
    deadlineMs: s.nowMs + wholeMs(ask.maxWaitMs),
    sloMs: wholeMs(entitlement.config.sloMs),
    seq: ++s.seq,
    runSeq: 0,
    state: 'waiting',
    tier: 1,
    weight: 0,
    endable: ask.mustRun !== true,
    ending: false,
    before: null,
    after: null,
    deadline: NOWHERE,
    alive: NOWHERE,
    granted: NOWHERE,
  };
  lease.deadline = new HeapNode<Lease>(lease, leaseId);
  lease.alive = new HeapNode<Lease>(lease, leaseId);
  lease.granted = new HeapNode<Lease>(lease, leaseId);
  return lease;
}

/** Until a lease has places of its own. */
const NOWHERE = new HeapNode<Lease>(null as never, '');
