import { randomBytes } from 'node:crypto';
import { stringify } from 'yaml';
import { hashKey } from '../config/hash-key.js';

/** The three who send requests, and what each of them shows. */
export type TenantName = 'alder' | 'birch' | 'cedar';

/** What the story needs to know of a tenant's limits. */
interface Part {
  readonly tokensPerMinute: number;
  readonly burstSeconds: number;
}

/**
 * alder has plenty. The buckets of birch and cedar hold 600 tokens and get 10 back a second: so slowly that on a fast machine
 * as on a busy one it shows what was taken from them and what came back.
 */
export const PARTS: Readonly<Record<TenantName, Part>> = {
  alder: { tokensPerMinute: 60_000, burstSeconds: 60 },
  birch: { tokensPerMinute: 600, burstSeconds: 60 },
  cedar: { tokensPerMinute: 600, burstSeconds: 60 },
};

export const TENANT_NAMES = Object.keys(PARTS) as readonly TenantName[];

export type Keys = Readonly<Record<TenantName, string>>;

/** A new API key for each tenant: good for one run. */
export function makeKeys(): Keys {
  const key = (name: TenantName): string => `sk-demo-${name}-${randomBytes(16).toString('hex')}`;
  return { alder: key('alder'), birch: key('birch'), cedar: key('cedar') };
}

/** The processor's configuration, as text. It holds hashes of the keys only; the system chooses both ports. */
export function configText(keys: Keys): string {
  const tenants = TENANT_NAMES.map((id) => ({ id, keys: [hashKey(keys[id])], limits: { requestsPerMinute: 600, concurrency: 8, ...PARTS[id] } }));
  const server = { extProc: '127.0.0.1:0', admin: '127.0.0.1:0', drain: { noticeMs: 0, timeoutMs: 2_000 } };
  return stringify({ server, tenants, log: { level: 'info' } });
}

/** What a tenant's bucket of tokens holds when it is full. */
export function tokensAtOnce(name: TenantName): number {
  const { tokensPerMinute, burstSeconds } = PARTS[name];
  return Math.floor((tokensPerMinute * burstSeconds) / 60);
}
