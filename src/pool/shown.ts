import type { EntitlementSnapshot } from '../domain/pool.js';

/** The default weight of a class is 10: shown as 100, so that whole numbers tell factors apart. */
const SHOWN_FOR_WEIGHT = 10;

/** An entitlement's priority as people are shown it: its weight × 10. 100 is a default class without any factor, 0 is spot. */
export function priorityOf({ weight }: Pick<EntitlementSnapshot, 'weight'>): number {
  return weight * SHOWN_FOR_WEIGHT;
}

/** Its share of what its pool serves, 0 to 1; 0 where nothing is served. */
export function shareOf({ servedTokensPerSecond }: Pick<EntitlementSnapshot, 'servedTokensPerSecond'>, servedByAll: number): number {
  return servedByAll > 0 ? Math.min(1, servedTokensPerSecond / servedByAll) : 0;
}
