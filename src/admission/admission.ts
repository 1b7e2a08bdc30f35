import type { Clock } from '../lib/clock.js';
import type { Observer } from '../domain/decision.js';
import type { Estimator } from '../domain/estimate.js';
import type { ExactCounter } from '../domain/exact.js';
import type { PolicySource } from '../domain/policy.js';
import type { Store } from '../domain/store.js';
import type { Tracing } from '../domain/tracing.js';
import type { Gate } from './gates.js';
import { Learning } from './learning.js';
import { quotaGate } from './quota-gate.js';
import { Reaper } from './reaper.js';
import { Renewals } from './renewals.js';
import { Settlements } from './settlement.js';
import { TemplateTenants } from './templates.js';

/** What the flow of a request stands on. */
export interface Admission {
  readonly policy: PolicySource;
  readonly store: Store;
  readonly gates: readonly Gate[];
  readonly estimator: Estimator;
  readonly exactCounter: ExactCounter;
  readonly observer: Observer;
  readonly tracing: Tracing;
  readonly clock: Clock;
  readonly templates: TemplateTenants;
  readonly renewals: Renewals;
  readonly reaper: Reaper;
  readonly settlements: Settlements;
  readonly learning: Learning;
  /** A new unique id. */
  readonly newId: () => string;
}

export type AdmissionPorts = Pick<
  Admission,
  'policy' | 'store' | 'estimator' | 'exactCounter' | 'observer' | 'tracing' | 'clock' | 'newId'
> & {
  /** Name of this processor, which owns its leases. */
  readonly owner: string;
  /** Any number from 0 up to 1: keeps processors from doing things in the same moment. */
  readonly random: () => number;
};

/** Puts the parts of admission together over its ports. */
export function createAdmission({ owner, random, ...ports }: AdmissionPorts): Admission {
  const { clock, observer } = ports;
  const store = observedStore(ports.store, clock, observer);
  return {
    ...ports,
    store,
    gates: [quotaGate(store, clock, owner)],
    templates: new TemplateTenants((tenantId) => store.isIdle(tenantId, clock.nowMs())),
    renewals: new Renewals({ store, clock, random, onFault: (error) => { observer.fault('renew', error); } }),
    reaper: new Reaper({ store, clock, random, observer }),
    settlements: new Settlements(clock, observer),
    learning: new Learning({ estimator: ports.estimator, store, clock, observer }),
  };
}

/** The same store, with each call on the request path timed and its faults counted. */
function observedStore(store: Store, clock: Clock, observer: Observer): Store {
  // Told beside the call: nobody waits a turn longer for it.
  const timed = <T>(op: string, call: Promise<T>): Promise<T> => {
    const startMs = clock.nowMs();
    const tell = (failed: boolean): void => {
      observer.storeCall(op, (clock.nowMs() - startMs) / 1000, failed);
    };
    call.then(() => { tell(false); }, () => { tell(true); });
    return call;
  };
  const claimExport = store.claimExport?.bind(store);
  return {
    reserve: (request) => timed('reserve', store.reserve(request)),
    renew: (renewals, nowMs) => timed('renew', store.renew(renewals, nowMs)),
    settle: (leaseId, consumed, event, nowMs) => timed('settle', store.settle(leaseId, consumed, event, nowMs)),
    cancel: (leaseId, nowMs) => timed('cancel', store.cancel(leaseId, nowMs)),
    reap: (nowMs) => timed('reap', store.reap(nowMs)),
    heartbeat: (processor, nowMs) => timed('heartbeat', store.heartbeat(processor, nowMs)),
    snapshot: (buckets, nowMs) => timed('snapshot', store.snapshot(buckets, nowMs)),
    isIdle: (tenantId, nowMs) => timed('is_idle', store.isIdle(tenantId, nowMs)),
    recentEvents: (limit) => timed('recent_events', store.recentEvents(limit)),
    totalsIn: (period) => timed('totals_in', store.totalsIn(period)),
    pendingEvents: (limit) => timed('pending_events', store.pendingEvents(limit)),
    ...(claimExport === undefined ? {} : { claimExport: (exporter: string, nowMs: number) => timed('claim_export', claimExport(exporter, nowMs)) }),
    acknowledgeEvents: (events) => timed('acknowledge_events', store.acknowledgeEvents(events)),
    saveLearned: (states) => timed('save_learned', store.saveLearned(states)),
    loadLearned: () => timed('load_learned', store.loadLearned()),
    onCapacityFreed: (listener) => store.onCapacityFreed(listener),
    close: () => store.close(),
  };
}
