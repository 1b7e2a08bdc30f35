import type { BucketCharge, Consumption, ReserveResult } from '../../src/domain/lease.js';
import type { BucketSpec } from '../../src/domain/store.js';

interface Entry {
  readonly charge: BucketCharge;
  amount: number;
}

/** What went through one bucket, in units of its dimension. */
export interface Account {
  reserved: number;
  settled: number;
  refunded: number;
  held: number;
  /** What is missing to full as time passes, in 60,000ths, of unlimited size. */
  deficit: bigint;
}

const UNITS = 60_000n;

/**
 * Double-entry books beside a store: every token that was reserved (or taken later) is held, settled or refunded.
 * Written from the rules of the design, not from the store's code.
 */
export class Books {
  readonly #running = new Map<string, Entry[]>();
  readonly #accounts = new Map<string, Account>();

  account(key: string): Account {
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    const account = { reserved: 0, settled: 0, refunded: 0, held: 0, deficit: 0n };
    this.#accounts.set(key, account);
    return account;
  }

  /** Time passes: rates refill, a unit a millisecond for each token a minute. */
  wait(ms: number, specs: readonly BucketSpec[]): void {
    for (const { key, limit, dimension } of specs) {
      if (dimension !== 'concurrency') this.#refill(this.account(key), BigInt(limit) * BigInt(ms));
    }
  }

  /** Whole units left by the books. */
  remaining({ key, capacity }: BucketSpec): number {
    const units = BigInt(capacity) * UNITS - this.account(key).deficit;
    return Number(units >= 0n ? units / UNITS : -((UNITS - 1n - units) / UNITS));
  }

  get running(): number {
    return this.#running.size;
  }

  has(leaseId: string): boolean {
    return this.#running.has(leaseId);
  }

  reserve(leaseId: string, result: ReserveResult, enforced: readonly BucketCharge[], shadowed: readonly BucketCharge[]): void {
    if (result.kind !== 'reserved') return;
    const charges = result.wouldRefuse === null ? [...enforced, ...shadowed] : enforced;
    const entries = charges.map((charge) => ({ charge, amount: 0 }));
    for (const entry of entries) this.#take(entry, entry.charge.amount);
    this.#running.set(leaseId, entries);
  }

  renew(leaseId: string, outputTokens: number): void {
    for (const entry of this.#running.get(leaseId) ?? []) {
      const { dimension, inputAmount } = entry.charge;
      if (dimension === 'tokens' || dimension === 'outputTokens') this.#take(entry, Math.max(0, inputAmount + outputTokens - entry.amount));
    }
  }

  end(leaseId: string, consumed: Consumption | null): void {
    for (const entry of this.#running.get(leaseId) ?? []) {
      const truth = consumed === null ? 0 : truthOf(entry.charge, consumed);
      this.#take(entry, Math.max(0, truth - entry.amount));
      const account = this.account(entry.charge.key);
      account.held -= entry.amount;
      account.settled += truth;
      account.refunded += entry.amount - truth;
      this.#refill(account, BigInt(entry.amount - truth) * UNITS);
    }
    this.#running.delete(leaseId);
  }

  #take(entry: Entry, amount: number): void {
    const account = this.account(entry.charge.key);
    entry.amount += amount;
    account.reserved += amount;
    account.held += amount;
    account.deficit += BigInt(amount) * UNITS;
  }

  #refill(account: Account, units: bigint): void {
    account.deficit = account.deficit > units ? account.deficit - units : 0n;
  }
}

function truthOf({ dimension, countCachedInput }: BucketCharge, consumed: Consumption): number {
  const input = consumed.inputTokens - (countCachedInput ? 0 : consumed.cachedInputTokens);
  const truths = { requests: 1, concurrency: 0, inputTokens: input, outputTokens: consumed.outputTokens, tokens: input + consumed.outputTokens };
  return truths[dimension];
}
