import type { TenantTotals } from '../../domain/lease.js';
import { fiveDoubles } from './buckets.js';

/** Where a tenant's record has its day, its month, and all time: each period as text, then five doubles. As lua/ledger.lua says (TOTALS). */
const DAY = { at: 0, length: 10 };
const MONTH = { at: 50, length: 7 };
const ALL = { at: 97, length: 0 };
const RECORD_BYTES = 137;

/** What a tenant's record says of a period: `all`, a day or a month. Null if it is at another. */
export function currentTotals(record: Buffer, period: string): TenantTotals | null {
  if (record.length !== RECORD_BYTES) return null;
  if (period === 'all') return parseTotals(record.subarray(ALL.at));
  const { at, length } = period.length === DAY.length ? DAY : MONTH;
  return record.toString('latin1', at, at + length) === period ? parseTotals(record.subarray(at + length)) : null;
}

export function parseTotals(packed: Buffer): TenantTotals {
  const [requests = 0, inputTokens = 0, cachedInputTokens = 0, outputTokens = 0, reasoningTokens = 0] = fiveDoubles(packed);
  return { requests, inputTokens, cachedInputTokens, outputTokens, reasoningTokens };
}

export function sumOf(a: TenantTotals, b: TenantTotals | undefined): TenantTotals {
  if (b === undefined) return a;
  return {
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}
