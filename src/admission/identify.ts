import { equalConstantTime, sha256Hex } from '../lib/hash.js';
import type { JwtIdentity, Policy } from '../domain/policy.js';
import type { Tenant } from '../domain/tenant.js';
import { queryOf, type RequestHead } from './head.js';
import type { TemplateTenants } from './templates.js';

/** Who a request is charged to. */
export type Identity =
  | { readonly kind: 'known'; readonly tenant: Tenant; readonly keyId: KeyId }
  | { readonly kind: 'unknown'; readonly why: 'no_key' | 'unknown_key' | 'unknown_tenant' | 'several_keys'; readonly keyId: KeyId };

/** First 16 hex digits of the presented key's hash; null where it was not a key that told who calls. */
export type KeyId = string | null;

/**
 * Who calls, in this order: the header of a trusted gateway, verified JWT claims, a key. Fields of the body and any other
 * header a client can set never decide. With a trusted header or a claim that names nobody the request is refused, not
 * tried by the next means: it was meant for that one. `queryHoldsKey`: the path is of an API that takes a key there (`?key=`).
 */
export function identify(head: RequestHead, policy: Policy, templates: TemplateTenants, queryHoldsKey = false): Identity {
  const { trustedTenantHeader, jwt } = policy.identity;
  const trusted = trustedTenantHeader === null ? undefined : head.headers.get(trustedTenantHeader);
  if (trusted !== undefined) return byTenantId(trusted, policy);
  const claimed = jwt === null ? undefined : claimedTenantId(head, jwt);
  if (claimed !== undefined) return byTenantId(claimed, policy);
  return byKey(head.headers, queryHoldsKey ? queryKeys(head.path) : [], policy, templates);
}

function byTenantId(tenantId: string, policy: Policy): Identity {
  const tenant = policy.tenants.get(tenantId);
  return tenant === undefined ? { kind: 'unknown', why: 'unknown_tenant', keyId: null } : { kind: 'known', tenant, keyId: null };
}

function byKey(headers: RequestHead['headers'], inQuery: readonly string[], policy: Policy, templates: TemplateTenants): Identity {
  const key = presentedKey(headers) ?? inQuery[0] ?? null;
  const { keys, anonymousTenantId, unknownKeyTemplateId, maxTemplateTenants } = policy.identity;
  if (key === null) return anonymousTenantId === null ? { kind: 'unknown', why: 'no_key', keyId: null } : byTenantId(anonymousTenantId, policy);
  const hash = sha256Hex(key);
  const keyId = hash.slice(0, 16);
  const tenantId = tenantOfKey(hash, keys);
  const tenant = tenantId === null ? undefined : policy.tenants.get(tenantId);
  if (tenant !== undefined) return { kind: 'known', tenant, keyId };
  const template = unknownKeyTemplateId === null ? undefined : policy.tenants.get(unknownKeyTemplateId);
  if (template === undefined) return { kind: 'unknown', why: 'unknown_key', keyId };
  if (credentials(headers, inQuery).size > 1) return { kind: 'unknown', why: 'several_keys', keyId };
  return { kind: 'known', tenant: templates.resolve(template, hash, maxTemplateTenants), keyId };
}

type KeyIndex = ReadonlyMap<string, readonly (readonly [hash: string, tenantId: string])[]>;

const INDEX_DIGITS = 8;
const indexes = new WeakMap<ReadonlyMap<string, string>, KeyIndex>();

/** Found by a few digits of the hash, then compared whole in constant time. */
function tenantOfKey(hash: string, keys: ReadonlyMap<string, string>): string | null {
  let index = indexes.get(keys);
  if (index === undefined) indexes.set(keys, (index = indexOf(keys)));
  for (const [known, tenantId] of index.get(hash.slice(0, INDEX_DIGITS)) ?? []) {
    if (equalConstantTime(known, hash)) return tenantId;
  }
  return null;
}

function indexOf(keys: ReadonlyMap<string, string>): KeyIndex {
  const index = new Map<string, [string, string][]>();
  for (const [hash, tenantId] of keys) {
    const digits = hash.slice(0, INDEX_DIGITS);
    index.set(digits, [...(index.get(digits) ?? []), [hash, tenantId]]);
  }
  return index;
}

/** The key a client presented: bearer token, `x-api-key`, `api-key`, `x-goog-api-key`, the first that is there. A signature is none. */
function presentedKey(headers: ReadonlyMap<string, string>): string | null {
  const authorization = headers.get('authorization');
  const bearer = authorization === undefined ? undefined : /^bearer +(\S.*)$/i.exec(authorization)?.[1]?.trim();
  const key = bearer ?? headers.get('x-api-key') ?? headers.get('api-key') ?? headers.get('x-goog-api-key');
  return key === undefined || key === '' ? null : key;
}

/** Where gateways look for a key, LiteLLM's own header first of all. */
const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'x-litellm-api-key', 'ocp-apim-subscription-key'];

/**
 * All keys that a gateway might take, each once. A key that is listed nowhere is judged by the gateway behind: if that
 * took another one than we count by, a random one beside it would be a fresh set of limits for each request.
 */
function credentials(headers: RequestHead['headers'], inQuery: readonly string[]): ReadonlySet<string> {
  const values = [...KEY_HEADERS.flatMap((name) => headers.get(name) ?? []), ...inQuery];
  return new Set(values.map((value) => value.replace(/^(bearer|basic) +/i, '').trim()).filter((value) => value !== ''));
}

/** Values of the query parameter `key`, as Google's APIs take it. */
function queryKeys(path: string): string[] {
  return new URLSearchParams(queryOf(path) ?? '').getAll('key').filter((key) => key !== '');
}

function claimedTenantId(head: RequestHead, jwt: JwtIdentity): string | undefined {
  let value: unknown = field(head.metadata(jwt.metadataNamespace), jwt.payloadKey);
  for (const name of claimPath(value, jwt.claim)) value = field(value, name);
  if (typeof value !== 'string') return undefined;
  return jwt.tenants === null ? value : (jwt.tenants.get(value) ?? '');
}

/** A claim whose name itself holds dots (a URL, as OpenID providers use them) is taken by its whole name first. */
function claimPath(payload: unknown, claim: string): string[] {
  return field(payload, claim) === undefined ? claim.split('.') : [claim];
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
