import type { PoolStore } from '../domain/pool.js';
import { createMemoryPools } from './memory-pools.js';

/** Opens what keeps the pools: in this process. A pool that is never asked costs nothing. */
export function openPools(): PoolStore {
  return createMemoryPools();
}
