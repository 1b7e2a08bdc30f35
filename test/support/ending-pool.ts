import { UNBOUNDED, type EndReason, type PoolEvent, type PoolStore } from '../../src/domain/pool.js';
import type { PoolPolicy } from '../../src/domain/policy.js';
import { createMemoryPools } from '../../src/stores/memory-pools.js';

/** A pool without bounds, in which every tenant is elastic. */
export const OPEN_POOL: PoolPolicy = {
  settings: {
    id: 'open', capacity: UNBOUNDED, burstSeconds: 5, tier0Baselines: { tokensPerSecond: 0, kvBytes: 0, slots: 0 }, elasticTokensPerSecond: 0,
    lentToNone: { tokensPerSecond: 0, kvBytes: 0, slots: 0 }, lentToSpot: { tokensPerSecond: 0, kvBytes: 0, slots: 0 },
    maxWaiting: 100, maxWaitingBytes: 1e9, reclaimMs: 1_000, pressure: 'normal',
  },
  kind: 'self-hosted', matches: () => true, prefillWeight: 0.1, kvBytesPerToken: () => 0, holdMs: { interactive: 1_000, background: 1_000 }, entitlements: new Map(),
  implicit: (id) => ({ id, serviceClass: 'elastic', baseline: UNBOUNDED, classWeight: 10, sloMs: 2_000, lend: 'all', preemptible: true, defaultWork: 'interactive' }),
};

/** A pool store that also tells a processor to end its latest request, whenever a test wants that. */
export interface EndingPools {
  readonly pools: PoolStore;
  /** Tells it of the latest request that asked. Nothing where none did. */
  endLatest(why?: EndReason): void;
  /** Its id; null where none asked. */
  readonly latest: string | null;
}

export function endingPools(pools: PoolStore = createMemoryPools()): EndingPools {
  let latest: { readonly leaseId: string; readonly poolId: string } | null = null;
  const listeners = new Set<(event: PoolEvent) => void>();
  return {
    get latest() {
      return latest?.leaseId ?? null;
    },
    endLatest: (why = 'reclaimed') => {
      if (latest === null) return;
      for (const tell of listeners) tell({ kind: 'end_stream', ...latest, why });
    },
    pools: {
      ask: (ask) => {
        latest = { leaseId: ask.leaseId, poolId: ask.pool.id };
        return pools.ask(ask);
      },
      settle: (...told) => pools.settle(...told),
      cancel: (...told) => pools.cancel(...told),
      renew: (...told) => pools.renew(...told),
      tick: (...told) => pools.tick(...told),
      snapshot: (...asked) => pools.snapshot(...asked),
      onEvent: (owner, listener) => {
        listeners.add(listener);
        const stop = pools.onEvent(owner, listener);
        return () => {
          listeners.delete(listener);
          stop();
        };
      },
      close: () => pools.close(),
    },
  };
}
