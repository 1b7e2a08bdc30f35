import type { PoolEntitlement } from '../domain/policy.js';
import type { PoolSettings } from '../domain/pool.js';
import type { PolicyHost, SimPolicy } from './policy.js';
import { RateBucket } from './rate-bucket.js';
import type { SimRequest } from './request.js';

/** What a tenant may take, whatever the others do. */
interface Limit {
  readonly tokens: RateBucket | null;
  readonly slots: number | null;
  running: number;
}

/**
 * Fixed limits a tenant, as most gateways have them: a bucket of its baseline's tokens a second, and its baseline's slots as concurrency.
 * Entitlements without a baseline share evenly what the baselines leave. What is above is refused at once, all else goes to the engine;
 * nothing is lent, nothing waits. Limits do not follow the pool's capacity.
 */
export function staticPolicy(settings: PoolSettings, entitlements: readonly PoolEntitlement[], host: PolicyHost): SimPolicy {
  const limits = new Map(entitlements.map((entitlement) => [entitlement.id, limitOf(entitlement, entitlements, settings)]));
  const limitFor = ({ parts }: SimRequest): Limit => limits.get(parts.entitlement.id)!;
  return {
    ask: (request, nowMs) => {
      const limit = limitFor(request);
      const waitMs = limit.tokens?.waitMs(request.expectedWork, nowMs) ?? 0;
      const busy = limit.slots !== null && limit.running + 1 > limit.slots;
      if (waitMs > 0 || busy) return host.refuse(request, 'pool_busy', Math.min(3_600_000, Math.max(1000, waitMs)));
      limit.running++;
      limit.tokens?.take(request.expectedWork, nowMs);
      host.dispatch(request);
    },
    settle: (request, work, nowMs) => {
      const limit = limitFor(request);
      limit.running--;
      limit.tokens?.take(work - request.expectedWork, nowMs);
    },
    leave: () => undefined,
    renew: () => undefined,
    configure: () => undefined,
    tick: () => undefined,
    nextAtMs: Infinity,
    waiting: 0,
    snapshot: () => null,
  };
}

function limitOf(entitlement: PoolEntitlement, all: readonly PoolEntitlement[], { capacity, burstSeconds }: PoolSettings): Limit {
  const share = (of: 'tokensPerSecond' | 'slots'): number | null => {
    const [own, whole] = [entitlement.baseline[of], capacity[of]];
    if (own !== null) return own;
    if (whole === null) return null;
    const taken = all.reduce((sum, { baseline }) => sum + (baseline[of] ?? 0), 0);
    return Math.max(0, whole - taken) / all.filter(({ baseline }) => baseline[of] === null).length;
  };
  const [tokensPerSecond, slots] = [share('tokensPerSecond'), share('slots')];
  return {
    tokens: tokensPerSecond === null ? null : new RateBucket(tokensPerSecond, burstSeconds, 0),
    slots: slots === null ? null : Math.max(1, Math.floor(slots)),
    running: 0,
  };
}
