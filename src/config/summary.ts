import type { Config } from './config.js';

/** What a configuration holds, for somebody who had it checked: `3 tenants, 1 pool, 2 entitlements`. */
export function summaryOf({ policy: { tenants, pools } }: Config): string {
  const entitlements = pools.reduce((sum, pool) => sum + pool.entitlements.size, 0);
  const counted = [count(tenants.size, 'tenant'), ...(pools.length === 0 ? [] : [count(pools.length, 'pool'), count(entitlements, 'entitlement')])];
  return counted.join(', ');
}

function count(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? '' : 's'}`;
}
