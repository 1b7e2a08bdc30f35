import type { Store } from '../../domain/store.js';
import type { Layout } from './layout.js';

/** The store while its layout is one that we know; every call rejects while it is not, so that it counts as away. Heartbeats look again. */
export function withKnownLayout(store: Store, layout: Layout): Store {
  const known = async <T>(call: () => Promise<T>): Promise<T> => {
    layout.assertKnown();
    return call();
  };
  return {
    reserve: (request) => known(() => store.reserve(request)),
    renew: (renewals, nowMs) => known(() => store.renew(renewals, nowMs)),
    settle: (leaseId, consumed, event, nowMs) => known(() => store.settle(leaseId, consumed, event, nowMs)),
    cancel: (leaseId, nowMs) => known(() => store.cancel(leaseId, nowMs)),
    reap: (nowMs) => known(() => store.reap(nowMs)),
    heartbeat: async (owner, nowMs) => {
      // In a cluster it may be on a node that is away, which must not make the others seem so: what was known last holds.
      const looked = layout.check().catch(() => undefined);
      if (layout.newer !== null) await looked;
      return known(() => store.heartbeat(owner, nowMs));
    },
    snapshot: (buckets, nowMs) => known(() => store.snapshot(buckets, nowMs)),
    isIdle: (tenantId, nowMs) => known(() => store.isIdle(tenantId, nowMs)),
    recentEvents: (limit) => known(() => store.recentEvents(limit)),
    totalsIn: (period) => known(() => store.totalsIn(period)),
    pendingEvents: (limit) => known(() => store.pendingEvents(limit)),
    claimExport: (owner, nowMs) => known(async () => (await store.claimExport?.(owner, nowMs)) ?? true),
    acknowledgeEvents: (events) => known(() => store.acknowledgeEvents(events)),
    saveLearned: (states) => known(() => store.saveLearned(states)),
    loadLearned: () => known(() => store.loadLearned()),
    onCapacityFreed: (listener) => store.onCapacityFreed(listener),
    close: () => store.close(),
  };
}
