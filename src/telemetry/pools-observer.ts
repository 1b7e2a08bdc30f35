import type { PoolsObserver } from '../domain/pools-observer.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';

/** Turns what happens between processors into metrics and log lines. Changes are logged, single requests and calls are counted. */
export function createPoolsObserver({ metrics, log }: { readonly metrics: Metrics; readonly log: Log }): PoolsObserver {
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
