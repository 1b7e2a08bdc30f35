import { expect } from 'vitest';
import { LEASE_MS, type Store } from '../../src/domain/store.js';
import { charge, draft, event, request, used } from '../conformance/store-builders.js';
import { reapFor, T0 } from '../conformance/store-under-test.js';

/**
 * What every way to a store must bring: a lease reserved, renewed and settled once, one cancelled, one of a dead processor settled by others, and
 * totals and events of all; for tenants that a cluster keeps on different nodes. The store goes by the caller's time.
 */
export async function smoke(store: Store, tenants: readonly string[]): Promise<void> {
  for (const tenantId of tenants) await live(store, tenantId);
  expect(await reapFor(store, T0, LEASE_MS + 2_000)).toBe(tenants.length);
  const { leases, totals, levels } = await store.snapshot(tenants.map((tenantId) => tokens(tenantId)), T0 + LEASE_MS);
  expect(leases).toBe(0);
  expect(levels.map(({ capacity }) => capacity)).toEqual(tenants.map(() => 1_000));
  for (const tenantId of tenants) expect(totals.get(tenantId)).toMatchObject({ requests: 2, inputTokens: 190, outputTokens: 50 });
  const events = await store.pendingEvents(100);
  expect(events).toHaveLength(2 * tenants.length);
  await store.acknowledgeEvents(events);
  expect(await store.pendingEvents(100)).toEqual([]);
}

const tokens = (tenantId: string, amount = 1) => charge('tokens', { tenantId, limit: 1_000, amount, inputAmount: 100 });

async function live(store: Store, tenantId: string): Promise<void> {
  const id = (name: string): string => `${tenantId}-${name}`;
  const ask = (name: string) => request(id(name), T0, [tokens(tenantId, 300)], [], tenantId, { draft: draft(id(name), 100, { tenantId }) });
  for (const name of ['settled', 'cancelled', 'dead']) expect(await store.reserve(ask(name))).toMatchObject({ kind: 'reserved' });
  expect(await store.reserve(ask('refused'))).toMatchObject({ kind: 'refused' });
  await store.renew([{ leaseId: id('settled'), outputTokens: 10 }, { leaseId: id('dead'), outputTokens: 30 }], T0);
  const settle = () => store.settle(id('settled'), used(90, 20), event(id('settled'), used(90, 20), { tenantId, settledAtMs: T0 }), T0);
  expect([await settle(), await settle()]).toEqual(['settled', 'already_ended']);
  expect(await store.cancel(id('cancelled'), T0)).toBe('settled');
}
