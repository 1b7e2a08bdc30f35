import { UNBOUNDED, type Capacity } from '../domain/pool.js';
import type { EntitlementOutline, Outline, PoolOutline } from './outline.js';
import { amountsOf, baselineOf, dimensionOf, FIELDS, isAssured, sumOf, type FileAmounts, type PoolKind } from './pool-amounts.js';
import type { Finding, Path } from './problem.js';
import { didYouMean, nearest } from './suggest.js';
import type { LineOf } from './tenant-checks.js';

/** Comparing thousands of names with thousands would take minutes. */
const MAX_SUGGESTIONS = 20;
const NOTHING: FileAmounts = { tokensPerSecond: null, kvBytes: null, slots: null, requestsPerMinute: null, tokensPerMinute: null };
const ALL_FIELDS = Object.keys(NOTHING) as (keyof FileAmounts)[];

/** A pool that an entitlement is in, as far as it can be understood. */
interface Place {
  readonly index: number;
  readonly id: string;
  readonly kind: PoolKind;
  readonly capacity: Capacity;
  /** Fields of its capacity (limits) that say something, be it wrong. */
  readonly told: readonly string[];
}

/** An entitlement whose pool and baseline are understood. */
interface Placed {
  readonly index: number;
  readonly given: EntitlementOutline;
  readonly place: Place;
  readonly baseline: Capacity;
}

/** What is wrong with entitlements, by themselves and together. */
export function checkEntitlements(outline: Outline, lineOf: LineOf): Finding[] {
  const places = placesOf(outline.pools);
  const placed = outline.entitlements.flatMap((given, index) => {
    const place = places.get(given.pool ?? '');
    return place === undefined ? [] : [{ index, given, place, baseline: baselineOf(place.kind, given.baseline ?? NOTHING, place.capacity) }];
  });
  return [
    ...unknownNames(outline),
    ...repeated(outline, lineOf),
    ...outline.entitlements.flatMap(spotBaseline),
    ...placed.flatMap((one) => [...checkUnits(one, lineOf), ...checkAssured(one)]),
    ...checkSums(placed, lineOf),
  ];
}

function finding(path: Path, message: string, at: Finding['at'] = 'value'): Finding {
  return { path, message, at };
}

/** Of pools with one id, the first. */
function placesOf(pools: readonly PoolOutline[]): Map<string, Place> {
  const places = new Map<string, Place>();
  pools.forEach(({ id, kind, capacity, limits }, index) => {
    if (id === null || kind === null || places.has(id)) return;
    const given = kind === 'provider' ? limits : capacity;
    places.set(id, { index, id, kind, capacity: given === null ? UNBOUNDED : amountsOf(kind, given), told: given?.told ?? [] });
  });
  return places;
}

function unknownNames({ entitlements, tenants, pools }: Outline): Finding[] {
  const known = { tenant: new Set(tenants.map(({ id }) => id)), pool: new Set(pools.map(({ id }) => id)) };
  const findings: Finding[] = [];
  entitlements.forEach((entitlement, index) => {
    for (const field of ['tenant', 'pool'] as const) {
      const name = entitlement[field];
      if (name === null || known[field].has(name)) continue;
      const candidates = [...known[field]].filter((id) => id !== null);
      const near = findings.length < MAX_SUGGESTIONS ? nearest(name, candidates) : null;
      findings.push(finding(['entitlements', index, field], `no ${field} has this id${didYouMean(near)}`));
    }
  });
  return findings;
}

function repeated({ entitlements }: Outline, lineOf: LineOf): Finding[] {
  const seen = new Map<string, number>();
  return entitlements.flatMap(({ tenant, pool }, index) => {
    if (tenant === null || pool === null) return [];
    const key = JSON.stringify([tenant, pool]);
    const first = seen.get(key);
    if (first === undefined) seen.set(key, index);
    if (first === undefined) return [];
    return [finding(['entitlements', index, 'tenant'], `this tenant has an entitlement in this pool already: entitlements[${first}] (line ${lineOf(['entitlements', first, 'tenant'])})`)];
  });
}

function spotBaseline({ class: serviceClass, baseline }: EntitlementOutline, index: number): Finding[] {
  if (serviceClass !== 'spot' || toldFields(baseline).length === 0) return [];
  return [finding(['entitlements', index, 'baseline'], 'spot has none: it takes what nobody else wants', 'key')];
}

function toldFields(baseline: EntitlementOutline['baseline']): (keyof FileAmounts)[] {
  return ALL_FIELDS.filter((field) => baseline?.told.includes(field) === true);
}

/** Each number has to be one that its pool counts by. */
function checkUnits({ index, given, place }: Placed, lineOf: LineOf): Finding[] {
  if (given.class === 'spot') return [];
  const { kind, id, told } = place;
  return toldFields(given.baseline).flatMap((field) => {
    const path: Path = ['entitlements', index, 'baseline', field];
    const dimension = dimensionOf(kind, field);
    const line = lineOf(['pools', place.index, 'id']);
    if (dimension === null) return [finding(path, `is no unit of pool "${id}" (line ${line}), which is of kind ${kind}: ${Object.keys(FIELDS[kind]).join(', ')}`, 'key')];
    const section = kind === 'provider' ? 'limits' : 'capacity';
    return !told.includes(field) ? [finding(path, `pool "${id}" (line ${line}) does not tell its ${section}.${field}`, 'key')] : [];
  });
}

/** Dedicated and guaranteed are what their baseline is. */
function checkAssured({ index, given, place, baseline }: Placed): Finding[] {
  const isJudged = baseline.tokensPerSecond !== null || baseline.kvBytes !== null || baseline.slots !== null;
  if (!isAssured(given.class) || isJudged) return [];
  const told = toldFields(given.baseline);
  if (told.length === 0) return [finding(['entitlements', index, 'class'], `${given.class} needs a baseline: what it is assured of`)];
  // A number that is wrong by itself, or of the other kind of pool, is told as such.
  const { requestsPerSecond, tokensPerSecond } = place.capacity;
  const isRequestsAlone = baseline.requestsPerSecond !== null && requestsPerSecond !== null && (tokensPerSecond !== null || !place.told.includes('tokensPerMinute'));
  if (!isRequestsAlone || told.includes('tokensPerMinute')) return [];
  return [finding(['entitlements', index, 'baseline'], 'needs tokensPerMinute: requests alone count by their share of the pool’s tokensPerMinute, which is not told or too small')];
}

/** Told at the entitlement that goes beyond the capacity, once for each dimension of a pool. */
function checkSums(placed: readonly Placed[], lineOf: LineOf): Finding[] {
  const assured = placed.filter(({ given }) => isAssured(given.class));
  return [...new Set(assured.map(({ place }) => place))].flatMap((place) => {
    const here = assured.filter((one) => one.place === place);
    const fields = Object.entries(FIELDS[place.kind]) as [keyof FileAmounts, keyof Capacity][];
    return fields.flatMap(([field, dimension]) => checkSum(here, field, dimension, lineOf));
  });
}

function checkSum(here: readonly Placed[], field: keyof FileAmounts, dimension: keyof Capacity, lineOf: LineOf): Finding[] {
  const { index: pool, id, kind, capacity } = here[0]!.place;
  const most = capacity[dimension];
  const baselines = here.map(({ baseline }) => baseline);
  if (most === null || sumOf(baselines, dimension) <= most) return [];
  let sum = 0;
  const first = here.find(({ baseline }) => (sum += sumOf([baseline], dimension)) > most) ?? here.at(-1)!;
  const unit = field.endsWith('PerMinute') ? 60 : 1;
  const section = kind === 'provider' ? 'limits' : 'capacity';
  const isTold = (first.given.baseline?.[field] ?? null) !== null;
  const path: Path = ['entitlements', first.index, 'baseline', ...(isTold ? [field] : [])];
  const line = lineOf(['pools', pool, section, field]);
  const share = here.some(({ given }) => (given.baseline?.[field] ?? null) === null) ? `, with the shares that follow from ${kind === 'provider' ? 'requestsPerMinute' : 'slots'}` : '';
  const total = Math.round(sumOf(baselines, dimension) * unit);
  return [finding(path, `dedicated and guaranteed baselines of pool "${id}" sum to ${total} ${field}${share}: it has ${Math.round(most * unit)} (line ${line})`, isTold ? 'value' : 'key')];
}
