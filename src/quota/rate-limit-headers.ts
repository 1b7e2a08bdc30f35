import type { Level } from '../domain/lease.js';
import type { LimitDimension } from '../domain/tenant.js';

export type HeaderPair = readonly [name: string, value: string];

/** Finds a header of the upstream's answer by its lower-case name. */
export type HeaderLookup = (name: string) => string | undefined;

type Kind = 'requests' | 'tokens';
const KINDS: readonly Kind[] = ['requests', 'tokens'];
const LIMIT_NAMES: Record<Kind, string> = { requests: 'x-ratelimit-limit-requests', tokens: 'x-ratelimit-limit-tokens' };
const REMAINING_NAMES: Record<Kind, string> = { requests: 'x-ratelimit-remaining-requests', tokens: 'x-ratelimit-remaining-tokens' };
const RESET_NAMES: Record<Kind, string> = { requests: 'x-ratelimit-reset-requests', tokens: 'x-ratelimit-reset-tokens' };

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
  const pairs: HeaderPair[] = [];
  let policies = '';
  let states = '';
  for (const dimension of DIMENSIONS) {
    const level = tightestOf(levels, dimension);
    if (level === null) continue;
    if (isKind(dimension)) addTriple(pairs, dimension, level);
    const comma = policies === '' ? '' : ', ';
    policies += comma + policyItem(level);
    states += comma + stateItem(level);
  }
  if (policies !== '') pairs.push(['ratelimit-policy', policies], ['ratelimit', states]);
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
    const remaining = Number(ours.find(([name]) => name === REMAINING_NAMES[kind])?.[1] ?? Number.NaN);
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

function tightestOf(levels: readonly Level[], dimension: LimitDimension): Level | null {
  let tightest: Level | null = null;
  for (const level of levels) {
    if (level.dimension === dimension && (tightest === null || isTighter(level, tightest))) tightest = level;
  }
  return tightest;
}

function isKind(dimension: LimitDimension): dimension is Kind {
  return dimension === 'requests' || dimension === 'tokens';
}

function isTighter(a: Level, b: Level): boolean {
  return a.remaining < b.remaining || (a.remaining === b.remaining && a.limit < b.limit);
}

function addTriple(pairs: HeaderPair[], kind: Kind, level: Level): void {
  pairs.push(
    [LIMIT_NAMES[kind], String(level.limit)],
    [REMAINING_NAMES[kind], String(left(level))],
    [RESET_NAMES[kind], `${resetSeconds(level)}s`],
  );
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
  const limit = wholeNumber(upstream(LIMIT_NAMES[kind]));
  const remaining = wholeNumber(upstream(REMAINING_NAMES[kind]));
  const reset = upstream(RESET_NAMES[kind]);
  if (limit === null || limit === 0 || remaining === null || reset === undefined) return null;
  return parseResetMs(reset.trim()) === null ? null : remaining;
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text.trim()) ? Number(text) : null;
}
