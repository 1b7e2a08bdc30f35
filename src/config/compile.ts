import type { ExactCounting } from '../domain/exact.js';
import type { JwtIdentity, Policy } from '../domain/policy.js';
import type { Limit, LimitDimension, Tenant } from '../domain/tenant.js';
import { globMatcher } from '../lib/glob.js';
import { compilePools } from './compile-pools.js';
import type { Document, LimitDocument } from './schema.js';
import { parseSize } from './size.js';

type TenantDocument = Document['tenants'][number];

const RATES = [
  ['requests', 'requestsPerMinute'],
  ['tokens', 'tokensPerMinute'],
  ['inputTokens', 'inputTokensPerMinute'],
  ['outputTokens', 'outputTokensPerMinute'],
  ['concurrency', 'concurrency'],
] as const;

/** Turns a document without problems into what decisions are made from. */
export function compilePolicy(document: Document): Policy {
  const { identity } = document;
  return {
    enforcement: document.enforcement,
    tenants: new Map(document.tenants.map((tenant) => [tenant.id, compileTenant(tenant)])),
    identity: {
      keys: new Map(document.tenants.flatMap(({ id, keys }) => keys.map((key) => [key.slice('sha256:'.length).toLowerCase(), id] as const))),
      anonymousTenantId: identity.anonymous === 'reject' ? null : identity.anonymous,
      unknownKeyTemplateId: identity.unknownKey === 'reject' ? null : identity.unknownKey,
      maxTemplateTenants: identity.maxTemplateTenants,
      trustedTenantHeader: identity.trustedTenantHeader?.toLowerCase() ?? null,
      jwt: compileJwt(identity.jwt),
    },
    pools: compilePools(document),
    unknownPaths: document.unknownPaths,
    unmetered: compileUnmetered(document.unmetered),
    background: document.background,
    maxBodyBytes: parseSize(document.server.maxBodyBytes) ?? 0,
    exactCounting: compileExact(document.estimate.exact),
    unknownOutputTokens: document.estimate.unknownOutputTokens,
    maxOutputTokens: firstMatch(document.models, (model) => model.maxOutputTokens, null),
    asksForUsage: firstMatch(document.models, (model) => model.askForUsage, true),
  };
}

function compileUnmetered({ countTokens, fineTuning, passThrough, ...rest }: Document['unmetered']): Policy['unmetered'] {
  return { ...rest, count_tokens: countTokens, fine_tuning: fineTuning, pass_through: passThrough };
}

function compileExact({ models, maxBytes, timeoutMs }: Document['estimate']['exact']): ExactCounting | null {
  if (models.length === 0) return null;
  return { matches: globMatcher(models), maxBytes: parseSize(maxBytes) ?? 0, timeoutMs };
}

function compileJwt(jwt: Document['identity']['jwt']): JwtIdentity | null {
  return jwt === null ? null : { ...jwt, tenants: jwt.tenants === null ? null : new Map(Object.entries(jwt.tenants)) };
}

/** Looks a field up in the first entry that matches a model and tells it. */
function firstMatch<T>(
  models: Document['models'],
  field: (model: Document['models'][number]) => T | undefined,
  otherwise: T,
): (model: string) => T {
  const entries = models.flatMap((entry) => {
    const value = field(entry);
    return value === undefined ? [] : [{ matches: globMatcher(entry.match), value }];
  });
  return (model) => {
    const entry = entries.find(({ matches }) => matches(model));
    return entry === undefined ? otherwise : entry.value;
  };
}

function compileTenant(tenant: TenantDocument): Tenant {
  const documents = Array.isArray(tenant.limits) ? tenant.limits : [tenant.limits];
  return {
    id: tenant.id,
    parentId: tenant.parent,
    label: tenant.id,
    allowsModel: globMatcher(tenant.models),
    limits: withUniqueIds(documents.flatMap(compileLimits)),
    enforcement: tenant.enforcement,
  };
}

/** One limit for each number of a configured one. */
function compileLimits(document: LimitDocument): Limit[] {
  const { models, countCachedInput, enforcement, burstSeconds } = document;
  const matches = globMatcher(models);
  return RATES.flatMap(([dimension, field]) => {
    const limit = document[field];
    if (limit === undefined) return [];
    const id = `${models.join(',')}:${dimension}`;
    return [{ id, dimension, models, matches, limit, capacity: capacityOf(dimension, limit, burstSeconds), enforcement, countCachedInput }];
  });
}

/** What a bucket holds: never less than one unit, or nothing would ever pass. */
function capacityOf(dimension: LimitDimension, limit: number, burstSeconds: number): number {
  return dimension === 'concurrency' ? limit : Math.max(1, Math.floor((limit * burstSeconds) / 60));
}

/** The second limit of a name gets `#2`, and so on in the order of the file: buckets keep their names over reloads. */
function withUniqueIds(limits: readonly Limit[]): Limit[] {
  const seen = new Map<string, number>();
  return limits.map((limit) => {
    const count = (seen.get(limit.id) ?? 0) + 1;
    seen.set(limit.id, count);
    return count === 1 ? limit : { ...limit, id: `${limit.id}#${count}` };
  });
}
