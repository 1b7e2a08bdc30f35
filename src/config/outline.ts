import { z } from 'zod';
import { poolOutlines } from './pool-outline.js';

/** Whatever is not as expected becomes null: the schema tells about it. */
const text = z.string().nullable().catch(null);
const texts = z.array(text).catch([]);

const tls = z.object({ certFile: text, keyFile: text, clientCaFile: text }).nullable().catch(null);
const NO_SERVER = { extProc: null, admin: null, tls: { extProc: null, admin: null } };
const secretText = { username: text, password: text, passwordFile: text, sentinelUsername: text, sentinelPassword: text, sentinelPasswordFile: text };
const NO_LOGIN = { own: { username: null, value: null, file: null }, sentinel: { username: null, value: null, file: null } };
const storeLogin = z
  .object(secretText)
  .transform((login) => ({
    own: { username: login.username, value: login.password, file: login.passwordFile },
    sentinel: { username: login.sentinelUsername, value: login.sentinelPassword, file: login.sentinelPasswordFile },
  }))
  .catch(NO_LOGIN);
const NO_STORE_TLS = { caFile: null, certFile: null, keyFile: null, serverName: null };
const NO_IDENTITY = { anonymous: null, unknownKey: null, trustedTenantHeader: null, jwt: null };

/**
 * Those parts of a document that checks across fields need, read leniently: a wrong type in one place must not hide that
 * another place names a tenant that does not exist.
 */
const outline = z.object({
  server: z
    .object({ extProc: text, admin: text, tls: z.object({ extProc: tls, admin: tls }).catch(NO_SERVER.tls) })
    .catch(NO_SERVER),
  store: text,
  storeLogin,
  storeTls: z.object({ caFile: text, certFile: text, keyFile: text, serverName: text }).catch(NO_STORE_TLS),
  journal: z.object({ file: text }).catch({ file: null }),
  ledger: z.object({ file: text }).catch({ file: null }),
  adminToken: text,
  adminTokenFile: text,
  identity: z
    .object({
      anonymous: text,
      unknownKey: text,
      trustedTenantHeader: text,
      jwt: z.object({ tenants: z.record(z.string(), text).nullable().catch(null) }).nullable().catch(null),
    })
    .catch(NO_IDENTITY),
  tenants: z.array(z.object({ id: text, parent: text, keys: texts }).catch({ id: null, parent: null, keys: [] })).catch([]),
  ...poolOutlines,
});

export type Outline = z.output<typeof outline>;
export type PoolOutline = Outline['pools'][number];
export type EntitlementOutline = Outline['entitlements'][number];
export type OutlineTls = Outline['server']['tls']['admin'];

/** Never fails: of a document that is not even a mapping, nothing is left. */
export function outlineOf(raw: unknown): Outline {
  const whole = typeof raw === 'object' && raw !== null && !Array.isArray(raw) ? raw : {};
  return outline.parse(whole);
}
