import type { PoolEvent, PoolStore } from '../domain/pool.js';
import { PoolScheduler, type SchedulerOptions } from '../pool/scheduler.js';
import { OwnedEvents } from './memory-pool-events.js';

/** Pools of one process: nothing is shared, and nothing survives it. */
export function createMemoryPools(options: SchedulerOptions = {}): PoolStore {
  const pools = new Map<string, PoolScheduler>();
  const events = new OwnedEvents();

  function poolOf(poolId: string): PoolScheduler {
    const known = pools.get(poolId);
    if (known !== undefined) return known;
    const made = new PoolScheduler(poolId, options);
    pools.set(poolId, made);
    return made;
  }

  /** One call for a pool; what it has to tell is told after its answer. */
  function on<T>(poolId: string, call: (pool: PoolScheduler) => T): Promise<T> {
    const pool = poolOf(poolId);
    const result = call(pool);
    events.send(pool.takeEvents());
    return Promise.resolve(result);
  }

  return {
    ask: (ask) => on(ask.pool.id, (pool) => pool.ask(ask)),
    settle: (poolId, leaseId, work, nowMs) => on(poolId, (pool) => ({ end: pool.settle(leaseId, work, nowMs), nextAtMs: pool.nextAtMs(nowMs) })),
    cancel: (poolId, leaseId, nowMs) => on(poolId, (pool) => ({ end: pool.cancel(leaseId, nowMs), nextAtMs: pool.nextAtMs(nowMs) })),
    renew: (poolId, owner, renewals, nowMs) =>
      on(poolId, (pool) => {
        pool.renew(owner, renewals, nowMs);
        return { nextAtMs: pool.nextAtMs(nowMs) };
      }),
    tick: (settings, nowMs) =>
      on(settings.id, (pool) => {
        pool.tick(settings, nowMs);
        return { nextAtMs: pool.nextAtMs(nowMs) };
      }),
    snapshot: async (poolId, nowMs) => {
      const pool = pools.get(poolId);
      return pool === undefined || pool.state.settings === null ? null : pool.snapshot(nowMs);
    },
    onEvent: (owner: string, listener: (event: PoolEvent) => void) => events.listen(owner, listener),
    close: async () => events.close(),
  };
}
