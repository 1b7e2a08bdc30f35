import type { Policy } from '../../src/domain/policy.js';
import type { Limit, LimitDimension, Tenant } from '../../src/domain/tenant.js';
import { globMatcher } from '../../src/lib/glob.js';

/** One limit; `capacity` defaults to what a minute's burst holds. */
export function limit(dimension: LimitDimension, amount: number, more: Partial<Limit> = {}): Limit {
  const models = more.models ?? ['*'];
  return {
    id: `${models.join(',')}:${dimension}`, dimension, models, matches: globMatcher(models), limit: amount, capacity: amount,
    enforcement: null, countCachedInput: true, ...more,
  };
}

/** A tenant whose key is `key-<id>`. */
export function tenant(id: string, limits: readonly Limit[] = [], more: Partial<Tenant> = {}): Tenant {
  return { id, parentId: null, label: id, allowsModel: () => true, limits, enforcement: null, ...more };
}

/** What becomes of requests that can't be metered, as by default. */
export const UNMETERED: Policy['unmetered'] = {
  count_tokens: 'pass', realtime: 'reject', batches: 'reject', files: 'pass', media: 'pass', assistants: 'reject', fine_tuning: 'reject',
  moderations: 'pass', pass_through: 'reject', other: 'reject',
};
