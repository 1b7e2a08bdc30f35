import type { Observer } from '../domain/decision.js';
import type { PoolStore } from '../domain/pool.js';
import type { Store } from '../domain/store.js';
import type { Clock } from '../lib/clock.js';

/** The same store, with each call on the request path timed and its faults counted. */
export function observedStore(store: Store, clock: Clock, observer: Observer): Store {
  const timed = timer(clock, observer);
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

/** The same for pools. */
export function observedPools(pools: PoolStore, clock: Clock, observer: Observer): PoolStore {
  const timed = timer(clock, observer);
  return {
    ask: (ask) => timed('pool_ask', pools.ask(ask)),
    settle: (poolId, leaseId, work, nowMs) => timed('pool_settle', pools.settle(poolId, leaseId, work, nowMs)),
    cancel: (poolId, leaseId, nowMs) => timed('pool_cancel', pools.cancel(poolId, leaseId, nowMs)),
    renew: (poolId, owner, renewals, nowMs) => timed('pool_renew', pools.renew(poolId, owner, renewals, nowMs)),
    tick: (pool, nowMs) => timed('pool_tick', pools.tick(pool, nowMs)),
    snapshot: (poolId, nowMs) => timed('pool_snapshot', pools.snapshot(poolId, nowMs)),
    onEvent: (owner, listener) => pools.onEvent(owner, listener),
    close: () => pools.close(),
  };
}

/** Told beside the call: nobody waits a turn longer for it. */
function timer(clock: Clock, observer: Observer): <T>(op: string, call: Promise<T>) => Promise<T> {
  return (op, call) => {
    const startMs = clock.nowMs();
    const tell = (failed: boolean): void => {
      observer.storeCall(op, (clock.nowMs() - startMs) / 1000, failed);
    };
    call.then(() => { tell(false); }, () => { tell(true); });
    return call;
  };
}
