import type { Level } from '../domain/lease.js';
import type { LimitDimension } from '../domain/tenant.js';

export type HeaderPair = readonly [name: string, value: string];

/** Finds a header of the upstream's answer by its lower-case name. */
export type HeaderLookup = (name: string) => string | undefined;

type Kind = 'requests' | 'tokens';
const KINDS: readonly Kind[] = ['requests', 'tokens'];

/**
 * Names and units in the IETF pair. The draft registers `requests` (its default), `content-bytes` and
 * `concurrent-requests`; the token units are our own, as no unit of tokens is registered.
 */
const POLICIES: Record<LimitDimension, { readonly name: string; readonly unit: string | null }> = {
  requests: { name: 'rpm', unit: null },
  tokens: { name: 'tpm', unit: 'tokens' },
  inputTokens: { name: 'itpm', unit: 'input-tokens' },
  outputTokens: { name: 'otpm', unit: 'output-tokens' },
  concurrency: { name: 'concurrency', unit: 'concurrent-requests' },
};
const DIMENSIONS = Object.keys(POLICIES) as readonly LimitDimension[];

/**
 * The rate-limit headers of an answer: `x-ratelimit-*` for requests and tokens, and the pair of
 * draft-ietf-httpapi-ratelimit-headers-10. Where several buckets count the same, the tightest is told.
 * Give it enforced levels only: shadowed limits must not show.
 */
export function rateLimitHeaders(levels: readonly Level[]): readonly HeaderPair[] {
  const tightest = tightestByDimension(levels);
  const pairs: HeaderPair[] = [];
  for (const kind of KINDS) {
    const level = tightest.get(kind);
    if (level !== undefined) pairs.push(...triple(kind, level));
  }
  const told = DIMENSIONS.flatMap((dimension) => tightest.get(dimension) ?? []);
  if (told.length > 0) {
    pairs.push(['ratelimit-policy', told.map(policyItem).join(', ')], ['ratelimit', told.map(stateItem).join(', ')]);
  }
  return pairs;
}

/**
 * Our headers that are to be set on an answer whose upstream may send its own `x-ratelimit-*`: where the upstream has
 * less remaining, its three stay as they are and ours are left out. What can't be read as a limit does not count.
 */
export function tighter(ours: readonly HeaderPair[], upstream: HeaderLookup): readonly HeaderPair[] {
  const lost = KINDS.filter((kind) => {
    const theirs = upstreamRemaining(kind, upstream);
    if (theirs === null) return false;
    const remaining = Number(ours.find(([name]) => name === `x-ratelimit-remaining-${kind}`)?.[1] ?? Number.NaN);
    return theirs < remaining;
  });
  if (lost.length === 0) return ours;
  return ours.filter(([name]) => !lost.some((kind) => name.startsWith('x-ratelimit-') && name.endsWith(`-${kind}`)));
}

/** Reads a reset like `1s`, `6m0s`, `120ms`, `1h2m3.5s`; null if it is none. Milliseconds, rounded up. */
export function parseResetMs(text: string): number | null {
  const match = /^(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?$/.exec(text);
  if (match === null || text === '') return null;
  const [hours = 0, minutes = 0, seconds = 0, ms = 0] = match.slice(1).map((part: string | undefined) => Number(part ?? 0));
  return Math.ceil(((hours * 60 + minutes) * 60 + seconds) * 1000 + ms);
}

function tightestByDimension(levels: readonly Level[]): ReadonlyMap<LimitDimension, Level> {
  const tightest = new Map<LimitDimension, Level>();
  for (const level of levels) {
    const best = tightest.get(level.dimension);
    if (best === undefined || isTighter(level, best)) tightest.set(level.dimension, level);
  }
  return tightest;
}

function isTighter(a: Level, b: Level): boolean {
  return a.remaining < b.remaining || (a.remaining === b.remaining && a.limit < b.limit);
}

function triple(kind: Kind, level: Level): readonly HeaderPair[] {
  return [
    [`x-ratelimit-limit-${kind}`, String(level.limit)],
    [`x-ratelimit-remaining-${kind}`, String(left(level))],
    [`x-ratelimit-reset-${kind}`, `${resetSeconds(level)}s`],
  ];
}

function policyItem({ dimension, limit }: Level): string {
  const { name, unit } = POLICIES[dimension];
  const window = dimension === 'concurrency' ? '' : ';w=60';
  return `"${name}";q=${limit}${window}${unit === null ? '' : `;qu="${unit}"`}`;
}

function stateItem(level: Level): string {
  const reset = level.dimension === 'concurrency' ? '' : `;t=${resetSeconds(level)}`;
  return `"${POLICIES[level.dimension].name}";r=${left(level)}${reset}`;
}

function left(level: Level): number {
  return Math.max(0, level.remaining);
}

function resetSeconds(level: Level): number {
  return Math.ceil(level.resetMs / 1000);
}

/** Null unless all three headers are there and make sense (Azure sends −1 or a limit of 0 where it does not know). */
function upstreamRemaining(kind: Kind, upstream: HeaderLookup): number | null {
  const limit = wholeNumber(upstream(`x-ratelimit-limit-${kind}`));
  const remaining = wholeNumber(upstream(`x-ratelimit-remaining-${kind}`));
  const reset = upstream(`x-ratelimit-reset-${kind}`);
  if (limit === null || limit === 0 || remaining === null || reset === undefined) return null;
  return parseResetMs(reset.trim()) === null ? null : remaining;
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text.trim()) ? Number(text) : null;
}
