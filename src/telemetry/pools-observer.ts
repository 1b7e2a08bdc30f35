import type { OnStoreFailure } from '../domain/store-settings.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';

/** What happens between the processors that share pools. */
export interface PoolsTold {
  poolUsed(poolId: string): void;
  keeperBegan(poolId: string): void;
  keeperReady(poolId: string, gatheredMs: number): void;
  keeperEnded(poolId: string): void;
  poolAway(poolId: string): void;
  poolBack(poolId: string, awayMs: number): void;
  poolDecidedAway(poolId: string, how: OnStoreFailure): void;
  poolFault(poolId: string, error: unknown): void;
}

/** Turns that into metrics and log lines. Changes are logged, single requests and calls are counted. */
export function createPoolsObserver({ metrics, log }: { readonly metrics: Metrics; readonly log: Log }): PoolsTold {
  return {
    poolUsed: (pool) => {
      metrics.poolUsed(pool);
    },
    keeperBegan: (pool) => {
      metrics.poolKeeper(pool, true);
      log.info('this processor keeps a pool: it decides for all', { pool });
    },
    keeperReady: (pool, gatheredMs) => {
      log.info('all processors told what runs and waits in a pool', { pool, gatheredMs: Math.round(gatheredMs) });
    },
    keeperEnded: (pool) => {
      metrics.poolKeeper(pool, false);
      log.info('this processor keeps a pool no more', { pool });
    },
    poolAway: (pool) => {
      metrics.poolAlone(pool, true);
      log.error('no processor keeps a pool: requests are decided without one', undefined, { pool });
    },
    poolBack: (pool, awayMs) => {
      metrics.poolAlone(pool, false);
      log.info('a pool has a keeper again', { pool, awayMs: Math.round(awayMs) });
    },
    poolDecidedAway: (_pool, how) => {
      metrics.decidedAway(how);
    },
    poolFault: (_pool, error) => {
      metrics.fault('store');
      log.fault('store', error);
    },
  };
}
