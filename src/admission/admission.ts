import type { Clock } from '../lib/clock.js';
import type { Observer } from '../domain/decision.js';
import type { Estimator } from '../domain/estimate.js';
import type { ExactCounter } from '../domain/exact.js';
import type { PolicySource } from '../domain/policy.js';
import type { PoolSettings, PoolStore } from '../domain/pool.js';
import type { Store } from '../domain/store.js';
import type { Tracing } from '../domain/tracing.js';
import type { Gate } from './gates.js';
import { HoldQueue } from './hold-queue.js';
import { Learning } from './learning.js';
import { observedPools, observedStore } from './observed-stores.js';
import { poolGate } from './pool-gate.js';
import { quotaGate } from './quota-gate.js';
import { Reaper } from './reaper.js';
import { Renewals } from './renewals.js';
import { Settlements } from './settlement.js';
import { TemplateTenants } from './templates.js';

/** What the flow of a request stands on. */
export interface Admission {
  readonly policy: PolicySource;
  readonly store: Store;
  readonly pools: PoolStore;
  readonly gates: readonly Gate[];
  readonly estimator: Estimator;
  readonly exactCounter: ExactCounter;
  readonly observer: Observer;
  readonly tracing: Tracing;
  readonly clock: Clock;
  readonly templates: TemplateTenants;
  readonly renewals: Renewals;
  /** Requests of this processor at their pools: those that wait, and those that run. */
  readonly holds: HoldQueue;
  readonly reaper: Reaper;
  readonly settlements: Settlements;
  readonly learning: Learning;
  /** A new unique id. */
  readonly newId: () => string;
}

export type AdmissionPorts = Pick<
  Admission,
  'policy' | 'store' | 'pools' | 'estimator' | 'exactCounter' | 'observer' | 'tracing' | 'clock' | 'newId'
> & {
  /** Name of this processor, which owns its leases. */
  readonly owner: string;
  /** Any number from 0 up to 1: keeps processors from doing things in the same moment. */
  readonly random: () => number;
};

/** Puts the parts of admission together over its ports. */
export function createAdmission({ owner, random, ...ports }: AdmissionPorts): Admission {
  const { clock, observer, policy } = ports;
  const store = observedStore(ports.store, clock, observer);
  const pools = observedPools(ports.pools, clock, observer);
  const settlements = new Settlements(clock, observer);
  const renewals = new Renewals({ store, clock, random, onFault: (error) => { observer.fault('renew', error); } });
  const settings = (poolId: string): PoolSettings | null => policy().pools.find((pool) => pool.settings.id === poolId)?.settings ?? null;
  const holds = new HoldQueue({ pools, clock, random, owner, settings, settlements, onFault: (error) => { observer.fault('pool', error); } });
  return {
    ...ports,
    store,
    pools,
    gates: [quotaGate(store, clock, owner, settlements), poolGate({ holds, renewals, owner, nowMs: () => clock.nowMs() })],
    templates: new TemplateTenants((tenantId) => store.isIdle(tenantId, clock.nowMs())),
    renewals,
    holds,
    reaper: new Reaper({ store, clock, random, observer }),
    settlements,
    learning: new Learning({ estimator: ports.estimator, store, clock, observer }),
  };
}
