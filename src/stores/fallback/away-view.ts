import type { LedgerEvent, TenantTotals } from '../../domain/lease.js';
import type { BucketSpec, StoreSnapshot } from '../../domain/store.js';
import { figuresOf } from '../ledger-entries.js';
import type { Journal, SettleEntry } from './journal.js';
import type { OwnLeases } from './own-leases.js';
import type { OwnShare } from './own-share.js';

const NONE: TenantTotals = { requests: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

/** What can be shown while the store is away: this processor's own part, and what was seen last. */
export class AwayView {
  #totals: ReadonlyMap<string, TenantTotals> = new Map();

  constructor(
    private readonly leases: OwnLeases,
    private readonly share: OwnShare,
    private readonly journal: Journal,
  ) {}

  /** The store showed this. */
  saw(snapshot: StoreSnapshot): StoreSnapshot {
    this.#totals = snapshot.totals;
    return snapshot;
  }

  snapshot(buckets: readonly BucketSpec[], nowMs: number): StoreSnapshot {
    const totals = new Map(this.#totals);
    for (const entry of this.#settled()) {
      for (const tenantId of billedTenants(entry)) totals.set(tenantId, plus(totals.get(tenantId) ?? NONE, entry));
    }
    return { leases: this.leases.size, levels: this.share.levels(buckets, nowMs), totals };
  }

  /** Oldest first. */
  recentEvents(limit: number): readonly LedgerEvent[] {
    return limit > 0 ? this.#settled().slice(-limit).map(({ event }) => event) : [];
  }

  #settled(): readonly SettleEntry[] {
    return this.journal.entries().filter((entry) => entry.kind === 'settle');
  }
}

/** Whose totals have the request: the tenant's, its parent's and those of every tenant whose bucket it was charged to. */
function billedTenants({ tenantId, event, held }: SettleEntry): ReadonlySet<string> {
  return new Set([tenantId, ...(event.parentId === null ? [] : [event.parentId]), ...held.map((charge) => charge.tenantId)]);
}

function plus(totals: TenantTotals, { consumed, event }: SettleEntry): TenantTotals {
  const figures = figuresOf(consumed, event);
  return {
    requests: totals.requests + 1,
    inputTokens: totals.inputTokens + figures.inputTokens,
    cachedInputTokens: totals.cachedInputTokens + figures.cachedInputTokens,
    outputTokens: totals.outputTokens + figures.outputTokens,
    reasoningTokens: totals.reasoningTokens + figures.reasoningTokens,
  };
}
