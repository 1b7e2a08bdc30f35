import type { BucketCharge, Consumption, SettleResult } from '../../domain/lease.js';
import type { Store } from '../../domain/store.js';
import { MAX_TOKENS } from '../../quota/bucket.js';
import { trueAmount, unrefusable, withAmount } from './amounts.js';
import type { JournalEntry, SettleEntry } from './journal.js';

/** Stores remember the end of a lease for ten minutes at least. An answer that was lost longer ago is looked for in the ledger. */
const REMEMBERED_MS = 540_000;
/** How far back in the ledger. */
const LOOK_BACK = 10_000;

/** The charges at what they truly came to: without places, which are free again. */
export function trueCharges(charges: readonly BucketCharge[], consumed: Consumption): readonly BucketCharge[] {
  return charges.filter(({ dimension }) => dimension !== 'concurrency').map((charge) => withAmount(charge, trueAmount(charge, consumed)));
}

/**
 * Chooses which settlements of an outage are charged to buckets: a bucket lacks `ownTokens` of this processor's work and the rest has been
 * refilled, so the latest settlements are charged until they come to that, to the nearest. Those that the store may settle itself count,
 * and are not chosen among: it charges them in any case.
 */
export function chooseCharged(entries: readonly SettleEntry[], ownTokens: Map<string, number>): void {
  for (const entry of entries.filter(({ inShare }) => inShare).reverse()) {
    const chosen = trueCharges(entry.held, entry.consumed).filter(({ key, amount }) => {
      const left = ownTokens.get(key) ?? 0;
      const takes = entry.atStore !== 'no' || 2 * left >= amount;
      if (takes) ownTokens.set(key, Math.max(0, left - amount));
      return takes && amount > 0;
    });
    entry.charged = chosen;
    entry.inShare = false;
  }
}

/** Leases in the store's ledger, read when first asked for, and once. */
export function ledgerOf(store: Store): Ledger {
  let leases: Promise<ReadonlySet<string>> | null = null;
  return () => (leases ??= store.recentEvents(LOOK_BACK).then((events) => new Set(events.map(({ leaseId }) => leaseId))));
}

export type Ledger = () => Promise<ReadonlySet<string>>;

/** Books an entry, once, however often this is called. Rejects if the store does not take it. */
export async function book(store: Store, entry: JournalEntry, ledger: Ledger, nowMs: number): Promise<SettleResult> {
  const { leaseId } = entry;
  if (entry.kind === 'cancel') return store.cancel(leaseId, nowMs);
  const { triedMs } = entry;
  entry.triedMs ??= nowMs;
  if (entry.atStore !== 'no' || triedMs !== null) {
    const result = await store.settle(leaseId, entry.consumed, entry.event, nowMs);
    if (result !== 'unknown') return result;
    if (triedMs !== null && nowMs - triedMs >= REMEMBERED_MS && (await ledger()).has(leaseId)) return 'already_ended';
  }
  await store.reserve({ ...entry, nowMs, enforced: bookingCharges(entry), shadowed: [], draft: entry.event });
  return store.settle(leaseId, entry.consumed, entry.event, nowMs);
}

/** What is charged, and for every tenant whose bucket was charged a place nobody waits for: its totals are to have the request too. */
function bookingCharges({ held, charged, event }: SettleEntry): readonly BucketCharge[] {
  const billed = new Set([event.tenantId, event.parentId, ...charged.map(({ tenantId }) => tenantId)]);
  const others = [...new Set(held.map(({ tenantId }) => tenantId))].filter((tenantId) => !billed.has(tenantId));
  return [...charged.map(unrefusable), ...others.map(billingPlace)];
}

function billingPlace(tenantId: string): BucketCharge {
  const key = `${tenantId}/booked:concurrency`;
  return { key, tenantId, dimension: 'concurrency', limit: MAX_TOKENS, capacity: MAX_TOKENS, amount: 1, inputAmount: 0, countCachedInput: true };
}
