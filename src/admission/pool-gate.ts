import type { PoolDecision } from '../domain/decision.js';
import type { Demand, Gate, GateVerdict, PoolShare } from './gates.js';
import type { HoldOutcome, HoldQueue } from './hold-queue.js';
import { demandOf, type PoolPlace } from './pool-place.js';
import { drainingRefusal, poolRefusal } from './pool-refusal.js';
import { storeUnavailable } from './quota-gate.js';
import type { Renewals } from './renewals.js';

export interface PoolGateParts {
  readonly holds: HoldQueue;
  /** Of the first gate: its lease lives while the request is held. */
  readonly renewals: Renewals;
  /** Name of this processor. */
  readonly owner: string;
  readonly nowMs: () => number;
}

/**
 * The second gate: room in the pool of the request's model, now or within the time it may wait. In shadow nothing waits: a pool without room is
 * noted as a refusal (`pool_busy`) that was not made, and what fits is counted, since it takes room from those who are held.
 */
export function poolGate({ holds, ...parts }: PoolGateParts): Gate {
  return {
    name: 'pool',
    concerns: ({ place }) => place !== null,
    reserve: (demand) => reserve({ holds, ...parts }, demand, placeIn(demand)),
    refund: (demand) => {
      holds.cancel(placeIn(demand).pool.settings.id, demand.leaseId);
    },
    abandon: (demand) => {
      holds.abandon(placeIn(demand).pool.settings.id, demand.leaseId);
    },
  };
}

function placeIn({ place }: Demand): PoolPlace {
  if (place === null) throw new Error('a request of no pool is not asked about');
  return place;
}

async function reserve({ holds, renewals, owner, nowMs }: PoolGateParts, demand: Demand, place: PoolPlace): Promise<GateVerdict> {
  const { leaseId, labels, bodyBytes, host, facts } = demand;
  const { pool, entitlement } = place;
  const share: PoolShare = { place, demand: demandOf(pool, demand) };
  const maxWaitMs = maxWaitOf(demand, place);
  const ask = {
    leaseId, owner, pool: pool.settings, entitlement, demand: share.demand, work: labels.work, bytes: bodyBytes, maxWaitMs, nowMs: Math.floor(nowMs()),
    ...((demand.mode === 'shadow' || facts.background) && { mustRun: true }),
  };
  let held = false;
  const outcome = await holds.ask(ask, {
    presence: host.presence,
    began: (factors) => {
      held = true;
      renewals.begin({ id: leaseId, held: true, reservedOutputTokens: 0, outputSoFar: () => 0 });
      host.held({ facts, maxWaitMs, pool: { poolId: pool.settings.id, waitedMs: 0, factors } });
    },
  });
  // What was dispatched is renewed as such by its lease.
  if (held && outcome.kind !== 'dispatched') renewals.forget(leaseId);
  return verdictOf(outcome, demand, share);
}

function maxWaitOf({ mode, labels, clientMaxWaitMs }: Demand, { pool }: PoolPlace): number {
  return mode === 'shadow' ? 0 : Math.min(pool.holdMs[labels.work], clientMaxWaitMs ?? Infinity);
}

function verdictOf(outcome: HoldOutcome, { leaseId, mode }: Demand, share: PoolShare): GateVerdict {
  if (outcome.kind === 'left') return { kind: 'left' };
  if (outcome.kind === 'unavailable') return { kind: 'refused', refusal: storeUnavailable(leaseId), levels: [], pool: null };
  const { settings } = share.place.pool;
  const pool: PoolDecision = { poolId: settings.id, waitedMs: outcome.waitedMs, factors: outcome.factors };
  if (outcome.kind === 'dispatched') return { kind: 'admitted', levels: [], wouldRefuse: null, shadowRefusal: null, pool, share };
  const refusal =
    outcome.kind === 'draining' ? drainingRefusal(leaseId) : poolRefusal(settings, share.demand, { ...outcome, waiting: outcome.factors.waiting }, leaseId);
  if (mode === 'enforce') return { kind: 'refused', refusal, levels: [], pool };
  return { kind: 'admitted', levels: [], wouldRefuse: null, shadowRefusal: refusal, pool, share: null };
}
