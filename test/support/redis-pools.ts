import { Redis } from 'ioredis';
import type { PoolAsk, PoolStore } from '../../src/domain/pool.js';
import { systemClock } from '../../src/lib/clock.js';
import type { PoolsObserver } from '../../src/domain/pools-observer.js';
import { createRedisPools, type RedisPoolsOptions } from '../../src/stores/pools/redis-pools.js';
import type { SharedPools } from '../../src/stores/pools/shared-pools.js';

export const SILENT: PoolsObserver = {
  poolUsed: () => undefined,
  keeperBegan: () => undefined,
  keeperReady: () => undefined,
  keeperEnded: () => undefined,
  poolAway: () => undefined,
  poolBack: () => undefined,
  poolDecidedAway: () => undefined,
  poolFault: () => undefined,
};

/** A processor of its own at the pools of a Redis server: with two connections, which it closes. */
export function redisPools(url: string, processor: string, options: Partial<Omit<RedisPoolsOptions, 'client' | 'blockingClient'>> = {}): SharedPools {
  const clients = [1, 2].map(() => {
    const client = new Redis(url, { protocol: 2 });
    // Faults are seen in what the calls come to.
    client.on('error', () => undefined);
    return client;
  });
  const [client, blocking] = clients as [Redis, Redis];
  const pools = createRedisPools({
    ...{ client, blockingClient: () => blocking, processor, clock: systemClock, random: Math.random },
    ...{ time: 'caller', mode: 'local', timeoutMs: 5_000, observer: SILENT },
    ...options,
  });
  return {
    ...pools,
    close: async () => {
      await pools.close();
      for (const one of clients) one.disconnect();
    },
  };
}

/** Several processors as one store: each owner asks at its own, ends come from any. */
export function spread(processors: readonly PoolStore[], owners: readonly string[]): PoolStore {
  let turn = 0;
  const at = (owner: string): PoolStore => processors[Math.max(0, owners.indexOf(owner)) % processors.length]!;
  const any = (): PoolStore => processors[turn++ % processors.length]!;
  return {
    ask: (ask: PoolAsk) => at(ask.owner).ask(ask),
    settle: (...call) => any().settle(...call),
    cancel: (...call) => any().cancel(...call),
    renew: (poolId, owner, renewals, nowMs) => at(owner).renew(poolId, owner, renewals, nowMs),
    tick: (...call) => any().tick(...call),
    snapshot: (...call) => any().snapshot(...call),
    onEvent: (owner, listener) => at(owner).onEvent(owner, listener),
    close: async () => {
      await Promise.all(processors.map((processor) => processor.close()));
    },
  };
}
