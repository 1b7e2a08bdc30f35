import type { Policy, PoolEntitlement, PoolPolicy } from '../domain/policy.js';
import type { Capacity } from '../domain/pool.js';
import { globMatcher } from '../lib/glob.js';
import { DEFAULTS } from './defaults.js';
import { FIELDS, isAssured, sumOf } from './pool-amounts.js';
import type { Finding, Path } from './problem.js';
import type { Document, PoolDocument } from './schema.js';
import { reachedTenants } from './warnings.js';

const SHOWN = 3;
/** Comparing more globs than that with each other would take seconds. */
const MAX_COMPARED = 2000;

/** What is allowed of pools and entitlements, and probably not meant. */
export function poolWarnings(policy: Policy, document: Document): Finding[] {
  const indexes = new Map(document.entitlements.map(({ pool, tenant }, index) => [`${pool} ${tenant}`, index]));
  const pools = policy.pools.map((pool, index): Placed => {
    const id = pool.settings.id;
    return { pool, path: ['pools', index], entitlementPath: (tenant) => ['entitlements', indexes.get(`${id} ${tenant}`) ?? 0] };
  });
  return [...shadowed(document.pools), ...pools.flatMap((placed) => [...capacityWarnings(placed), ...entitlementWarnings(placed), ...lendingWarnings(placed, policy), ...templateWarnings(placed, policy)])];
}

/** A pool, and where it and its entitlements stand in the file. */
interface Placed {
  readonly pool: PoolPolicy;
  readonly path: Path;
  readonly entitlementPath: (tenantId: string) => Path;
}

function warning(path: Path, message: string): Finding {
  return { path, message, at: 'value' };
}

/** Globs, and whole pools, whose models all go to a pool before. */
function shadowed(pools: readonly PoolDocument[]): Finding[] {
  if (pools.flatMap(({ models }) => models).length > MAX_COMPARED) return [];
  return pools.flatMap(({ id, models }, index) => {
    const path: Path = ['pools', index, 'models'];
    const taken = models.flatMap((glob, at) => {
      const by = pools.slice(0, index).find((earlier) => earlier.models.some((pattern) => covers(pattern, glob)));
      return by === undefined ? [] : [{ glob, at, by: by.id }];
    });
    if (taken.length < models.length) {
      return taken.map(({ glob, at, by }) => warning([...path, at], `pool "${id}": its models "${glob}" all go to pool "${by}", which stands before it`));
    }
    return [warning(path, `pool "${id}" never serves a request: all its models go to ${named([...new Set(taken.map(({ by }) => by))])}, before it`)];
  });
}

/**
 * Whether one pattern matches all that another does, judged by two names: its stars as nothing, and as longer than the first pattern, of a
 * character that stands in no model's name.
 */
function covers(pattern: string, glob: string): boolean {
  const name = (star: string): string => glob.replaceAll('*', star).replaceAll('?', '\0');
  const matches = globMatcher([pattern]);
  return matches(name('')) && matches(name('\0'.repeat(pattern.length + 1)));
}

function capacityWarnings({ pool, path }: Placed): Finding[] {
  const { settings: { id, capacity, lentToNone, lentToSpot }, kind, entitlements } = pool;
  const amounts = [...path, kind === 'provider' ? 'limits' : 'capacity'];
  const baselines = [...entitlements.values()].map(({ baseline }) => baseline);
  const fields = Object.entries(FIELDS[kind]) as [string, keyof Capacity][];
  const over = fields.filter(([, dimension]) => sumOf(baselines, dimension) > (capacity[dimension] ?? Infinity));
  const keptWhole = (['slots', 'kvBytes'] as const).filter((dimension) => lentToNone[dimension] + lentToSpot[dimension] >= (capacity[dimension] ?? Infinity));
  const isBounded = Object.values(capacity).some((amount) => amount !== null);
  const unbounded = warning(amounts, `pool "${id}" has no ${kind === 'provider' ? 'limits' : 'capacity'}: nothing ever waits there, and nobody goes first`);
  return [
    ...(isBounded ? [] : [unbounded]),
    ...over.map(([field]) => warning([...amounts, field], `pool "${id}": all baselines, those of elastic tenants with them, are more than its ${field}: elastic ones can’t all be met`)),
    ...keptWhole.map((dimension) =>
      warning([...amounts, dimension], `pool "${id}": baselines that are not lent to all take all its ${dimension}: of others, and beyond a baseline, no request will ever fit`),
    ),
  ];
}

function entitlementWarnings({ pool, entitlementPath }: Placed): Finding[] {
  const { settings: { id: poolId, capacity }, entitlements } = pool;
  const all = [...entitlements.values()];
  const warn = (field: string, counts: (entitlement: PoolEntitlement) => boolean, what: string): Finding[] =>
    all.filter(counts).map(({ id }) => warning([...entitlementPath(id), field], `pool "${poolId}": "${id}" ${what}`));
  const isSpot = ({ serviceClass }: PoolEntitlement): boolean => serviceClass === 'spot';
  const keepsNothing = ({ baseline }: PoolEntitlement): boolean => baseline.slots === null && baseline.kvBytes === null;
  return [
    ...warn(
      'baseline',
      ({ serviceClass, baseline }) => serviceClass === 'elastic' && capacity.tokensPerSecond !== null && baseline.tokensPerSecond === null,
      'is elastic without baseline.tokensPerSecond: what it misses is not paid back',
    ),
    ...warn('baseline', ({ serviceClass, baseline }) => isAssured(serviceClass) && capacity.slots !== null && baseline.slots === null, 'is assured of no slots: its requests may take all of them, those of other baselines too'),
    ...warn('lend', (entitlement) => entitlement.lend !== 'all' && keepsNothing(entitlement), 'has no slots or kvBytes in its baseline: lend keeps nothing for it'),
    ...warn('sloMs', (entitlement) => isSpot(entitlement) && entitlement.sloMs !== DEFAULTS.sloMs.value, 'is spot, which never waits: sloMs does nothing'),
  ];
}

/** Where room of a baseline may be held by streams that nobody may end: then it waits as long as they run. */
function lendingWarnings({ pool, entitlementPath }: Placed, policy: Policy): Finding[] {
  const { settings: { id, capacity }, entitlements } = pool;
  // Rates are not held by anybody: who is assured of them takes them at once.
  if (capacity.slots === null && capacity.kvBytes === null) return [];
  const all = [...entitlements.values()];
  const lenders = all.filter(({ serviceClass, lend }) => isAssured(serviceClass) && lend !== 'none');
  const lendsToAll = lenders.some(({ lend }) => lend === 'all');
  const stays = ({ serviceClass, preemptible }: PoolEntitlement): boolean => !preemptible && (lendsToAll || serviceClass === 'spot');
  // Who alone lends does not borrow from itself.
  const borrowers = all.filter((one) => stays(one) && lenders.some((lender) => lender !== one)).map((borrower) => borrower.id);
  const others = lenders.length > 0 && stays(pool.implicit('')) && hasOthers(pool, policy);
  if (borrowers.length === 0 && !others) return [];
  const who = named([...borrowers], others ? ['tenants without an entitlement'] : []);
  const path = borrowers.length > 0 ? [...entitlementPath(borrowers[0]!), 'preemptible'] : [...entitlementPath(lenders[0]!.id), 'lend'];
  const message = `pool "${id}": the baseline of ${named(lenders.map((lender) => lender.id))} is lent to streams that nobody may end, of ${who}: it may wait until they are over. Set preemptible there, or lend: none`;
  return [warning(path, message)];
}

/** Where each invented key is a tenant with a share of its own. What spot takes is left over by all others, however many they are. */
function templateWarnings({ pool }: Placed, policy: Policy): Finding[] {
  const template = policy.identity.unknownKeyTemplateId;
  if (template === null || pool.implicit(template).serviceClass === 'spot' || hasShare(pool, policy, template)) return [];
  const message = `pool "${pool.settings.id}": each tenant made from "${template}" has a fair share of its own, and who invents keys has many: an entitlement of "${template}" is shared by all of them`;
  return [warning(['identity', 'unknownKey'], message)];
}

/** Whether requests can come from tenants that neither have nor share an entitlement here. */
function hasOthers(pool: PoolPolicy, policy: Policy): boolean {
  const reached = reachedTenants(policy) ?? new Set(policy.tenants.keys());
  return [...reached].some((id) => !hasShare(pool, policy, id));
}

/** Whether a tenant has an entitlement of its own here, or one of those above it. */
function hasShare({ entitlements }: PoolPolicy, { tenants }: Policy, id: string): boolean {
  let next: string | null = id;
  while (next !== null && !entitlements.has(next)) next = tenants.get(next)?.parentId ?? null;
  return next !== null;
}

/** `"a", "b", "c" and 2 more`. */
function named(ids: readonly string[], more: readonly string[] = []): string {
  const shown = [...ids.slice(0, SHOWN).map((id) => `"${id}"`), ...(ids.length > SHOWN ? [`${ids.length - SHOWN} more`] : []), ...more];
  return shown.length === 1 ? shown[0]! : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)!}`;
}
