import { UNBOUNDED, type Capacity, type ServiceClass } from '../domain/pool.js';

/** Amounts as a file tells them: those of the other kind of pool are null. */
export interface FileAmounts {
  readonly tokensPerSecond: number | null;
  readonly kvBytes: number | null;
  readonly slots: number | null;
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

/** The fields that count in a pool of each kind, and the dimension that each is. */
export const FIELDS = {
  'self-hosted': { tokensPerSecond: 'tokensPerSecond', kvBytes: 'kvBytes', slots: 'slots' },
  provider: { requestsPerMinute: 'requestsPerSecond', tokensPerMinute: 'tokensPerSecond' },
} as const satisfies Record<string, Partial<Record<keyof FileAmounts, keyof Capacity>>>;

export type PoolKind = keyof typeof FIELDS;

/** Lowest first. */
const CLASSES: readonly ServiceClass[] = ['spot', 'elastic', 'guaranteed', 'dedicated'];

/** The lowest of some classes; elastic where there is none: then all share alike. */
export function lowestClass(classes: Iterable<ServiceClass>): ServiceClass {
  const given = new Set(classes);
  return CLASSES.find((one) => given.has(one)) ?? 'elastic';
}

/** Whether a class is served first within its baseline. */
export function isAssured(serviceClass: string | null): boolean {
  return serviceClass === 'dedicated' || serviceClass === 'guaranteed';
}

/** The dimension that a field of the file is in a pool of this kind; null where it has no meaning there. */
export function dimensionOf(kind: PoolKind, field: keyof FileAmounts): keyof Capacity | null {
  const fields: Partial<Record<keyof FileAmounts, keyof Capacity>> = FIELDS[kind];
  return fields[field] ?? null;
}

/** Amounts a second, of what counts in a pool of this kind. */
export function amountsOf(kind: PoolKind, given: FileAmounts): Capacity {
  const perSecond = (perMinute: number | null): number | null => (perMinute === null ? null : perMinute / 60);
  if (kind === 'self-hosted') return { ...UNBOUNDED, tokensPerSecond: given.tokensPerSecond, kvBytes: given.kvBytes, slots: given.slots };
  return { ...UNBOUNDED, tokensPerSecond: perSecond(given.tokensPerMinute), requestsPerSecond: perSecond(given.requestsPerMinute) };
}

/**
 * A baseline in the units of its pool. One that tells slots (or requests) and no tokens has that share of the pool's tokens,
 * rounded down to whole ones of the file's unit: otherwise what it is assured of would be no measure of its work.
 */
export function baselineOf(kind: PoolKind, given: FileAmounts, capacity: Capacity): Capacity {
  const told = amountsOf(kind, given);
  if (told.tokensPerSecond !== null || capacity.tokensPerSecond === null) return told;
  if (kind === 'self-hosted') return { ...told, tokensPerSecond: shareOf(told.slots, capacity.slots, capacity.tokensPerSecond) };
  const perMinute = shareOf(given.requestsPerMinute, minuteOf(capacity.requestsPerSecond), minuteOf(capacity.tokensPerSecond));
  return { ...told, tokensPerSecond: perMinute === null ? null : perMinute / 60 };
}

/** `part` of `whole`, of `amount`; null where one of them is not told, or nothing would be left. Exact below 2^53. */
function shareOf(part: number | null, whole: number | null, amount: number | null): number | null {
  if (part === null || whole === null || amount === null) return null;
  const share = (BigInt(part) * BigInt(amount)) / BigInt(whole);
  return share < 1n ? null : Number(share);
}

/** A rate in whole units a minute, as it stood in the file. */
function minuteOf(perSecond: number | null): number | null {
  return perSecond === null ? null : Math.round(perSecond * 60);
}

/** The sum in one dimension. Rates are added as whole units a minute, so that no rounding takes a sum above a capacity that it fills. */
export function sumOf(amounts: readonly Capacity[], dimension: keyof Capacity): number {
  const isRate = dimension === 'tokensPerSecond' || dimension === 'requestsPerSecond';
  const whole = (one: Capacity): number => (isRate ? (minuteOf(one[dimension]) ?? 0) : (one[dimension] ?? 0));
  const sum = amounts.reduce((total, one) => total + whole(one), 0);
  return isRate ? sum / 60 : sum;
}
