import type { OnStoreFailure } from './store-settings.js';

/** Told what happens between the processors of a pool; must not throw. */
export interface PoolsObserver {
  /** This processor uses a pool for the first time. */
  poolUsed(poolId: string): void;
  /** This processor decides for all from now on. */
  keeperBegan(poolId: string): void;
  /** It knows all leases, so many milliseconds after it began: what was asked meanwhile waited. */
  keeperReady(poolId: string, gatheredMs: number): void;
  /** It decides no more: another does, or the pool is not used. */
  keeperEnded(poolId: string): void;
  /** No keeper answers: from now on nobody waits for one. */
  poolAway(poolId: string): void;
  poolBack(poolId: string, awayMs: number): void;
  /** A request that no keeper answered in time was decided so. */
  poolDecidedAway(poolId: string, how: OnStoreFailure): void;
  poolFault(poolId: string, error: unknown): void;
}
