import type { PoolStore } from '../domain/pool.js';
import type { RedisAddress, StoreSettings } from '../domain/store-settings.js';
import type { Clock } from '../lib/clock.js';
import { connectStore, type StoreConnection } from './connect/connect.js';
import { createMemoryPools } from './memory-pools.js';
import type { PoolsObserver } from '../domain/pools-observer.js';
import { createRedisPools } from './pools/redis-pools.js';

export interface PoolPorts {
  readonly clock: Clock;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  /** Unique name of this processor: of each start another. */
  readonly owner: string;
  readonly observer: PoolsObserver;
  /** Why the store must not be written to, in words; null: it may. */
  readonly refusal?: () => string | null;
}

export interface OpenedPools {
  readonly store: PoolStore;
  /** Pools at which this processor decides without a keeper now. */
  away(): readonly string[];
}

/** Pools that this process alone has: it always decides about them. */
export function keptHere(store: PoolStore): OpenedPools {
  return { store, away: () => [] };
}

/**
 * Opens what keeps the pools: this process, or, where processors share a store, the one of them that keeps each pool. The store need not be
 * there. A pool that is never asked costs nothing. @throws Error in one sentence: a TLS file can't be read.
 */
export function openPools({ address, onFailure, timeoutMs }: StoreSettings, ports: PoolPorts): OpenedPools {
  return address.kind === 'memory' ? keptHere(createMemoryPools()) : openRedisPools(address, { mode: onFailure, timeoutMs, ...ports });
}

type RedisPorts = PoolPorts & { readonly mode: StoreSettings['onFailure']; readonly timeoutMs: number };

/** Connections of its own: one for all commands, and for reads that wait one, or in a cluster one a pool. */
function openRedisPools(address: RedisAddress, { owner, ...parts }: RedisPorts): OpenedPools {
  const connections: StoreConnection[] = [];
  const connect = (): StoreConnection => {
    const connection = connectStore(address, parts);
    connections.push(connection);
    return connection;
  };
  const commands = connect();
  const shared = commands.isCluster ? null : connect();
  const pools = createRedisPools({
    ...parts,
    ...{ processor: owner, time: 'own', client: commands.client },
    blockingClient: () => (shared ?? connect()).client,
  });
  const close = async (): Promise<void> => {
    await pools.close();
    for (const connection of connections) connection.close();
  };
  return { store: { ...pools, close }, away: () => pools.away() };
}
