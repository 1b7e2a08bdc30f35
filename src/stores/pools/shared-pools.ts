import type { PoolEvent, PoolStore } from '../../domain/pool.js';
import { OwnedEvents } from '../memory-pool-events.js';
import type { PoolLink } from './link.js';
import { Member } from './member.js';
import type { ProcessorParts } from './parts.js';

export interface SharedPoolsParts extends ProcessorParts {
  readonly linkOf: (poolId: string) => PoolLink;
}

export interface SharedPools extends PoolStore {
  /** Pools of which no keeper answers. */
  away(): readonly string[];
}

/** Pools that several processors share: of each, one decides for all. */
export function createSharedPools(parts: SharedPoolsParts): SharedPools {
  const members = new Map<string, Member>();
  const events = new OwnedEvents();

  function memberOf(poolId: string): Member {
    const known = members.get(poolId);
    if (known !== undefined) return known;
    const made = new Member({ ...parts, poolId, link: parts.linkOf(poolId), onEvents: (owned) => { events.send(owned); } });
    members.set(poolId, made);
    parts.observer.poolUsed(poolId);
    return made;
  }

  return {
    ask: (ask) => memberOf(ask.pool.id).ask(ask),
    settle: (poolId, leaseId, work, nowMs) => memberOf(poolId).settle(leaseId, work, nowMs),
    cancel: (poolId, leaseId, nowMs) => memberOf(poolId).cancel(leaseId, nowMs),
    renew: (poolId, owner, renewals, nowMs) => memberOf(poolId).renew(owner, renewals, nowMs),
    tick: (settings, nowMs) => memberOf(settings.id).tick(settings, nowMs),
    snapshot: (poolId, nowMs) => memberOf(poolId).snapshot(nowMs),
    onEvent: (owner: string, listener: (event: PoolEvent) => void) => events.listen(owner, listener),
    away: () => [...members].filter(([, member]) => member.isAway).map(([poolId]) => poolId),
    close: async () => {
      await Promise.all([...members.values()].map((member) => member.close()));
      members.clear();
      events.close();
    },
  };
}
