import type { RedisClient } from '../connect/connect.js';
import type { ProcessorParts } from './parts.js';
import { RedisLink } from './redis-link.js';
import { createSharedPools, type SharedPools } from './shared-pools.js';
import { StreamReader } from './stream-reader.js';

export interface RedisPoolsOptions extends ProcessorParts {
  readonly client: RedisClient;
  /** Another connection, for reads that wait. In a cluster they wait at one node: each pool takes one of its own. */
  readonly blockingClient: (poolId: string) => RedisClient;
  /** Sets stores apart that share a server. */
  readonly keyPrefix?: string;
  /** Why the store must not be written to, in words; null: it may. */
  readonly refusal?: () => string | null;
}

/** Pools over Redis, Valkey, or what speaks as they do. The clients stay the caller's. */
export function createRedisPools({ client, blockingClient, keyPrefix = '', refusal = () => null, ...parts }: RedisPoolsOptions): SharedPools {
  const readers = new Map<RedisClient, StreamReader>();
  const readerOf = (blocking: RedisClient): StreamReader => {
    const reader = readers.get(blocking) ?? new StreamReader({ blocking, client, clock: parts.clock });
    readers.set(blocking, reader);
    return reader;
  };
  const pools = createSharedPools({
    ...parts,
    linkOf: (poolId) => new RedisLink({ client, reader: readerOf(blockingClient(poolId)), keyPrefix, poolId, processor: parts.processor, refusal }),
  });
  return {
    ...pools,
    close: async () => {
      await pools.close();
      for (const reader of readers.values()) reader.close();
    },
  };
}
