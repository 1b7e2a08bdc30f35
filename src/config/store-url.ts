import type { HostPort, RedisLogin, RedisTopology } from '../domain/store-settings.js';
import { parseAddress } from './address.js';
import { didYouMean, nearest } from './suggest.js';

/** What the text of `store` says. */
export type StoreUrl =
  | { readonly kind: 'memory' }
  | {
      readonly kind: 'redis';
      readonly topology: RedisTopology['kind'];
      readonly nodes: readonly HostPort[];
      readonly database: number;
      /** Of the path, with Sentinels. */
      readonly masterName: string | null;
      readonly login: RedisLogin | null;
      readonly encrypted: boolean;
    };

/** Or what is wrong with it, without any of it: it may hold a password. */
export type StoreUrlResult = { readonly ok: true; readonly url: StoreUrl } | { readonly ok: false; readonly message: string };

export const STORE_FORMS = '"memory", redis://host:port/db, redis+cluster://h1,h2 or redis+sentinel://h1,h2/name (rediss… for TLS)';

const SCHEMES = ['redis', 'rediss', 'redis+cluster', 'rediss+cluster', 'redis+sentinel', 'rediss+sentinel'];
const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;
const MAX_DATABASE = 65_535;

class Wrong extends Error {}

/** Reads `memory` or a URL. User and password are percent-decoded. Never throws. */
export function parseStoreUrl(text: string): StoreUrlResult {
  if (text === 'memory') return { ok: true, url: { kind: 'memory' } };
  try {
    return { ok: true, url: parse(text) };
  } catch (error) {
    if (error instanceof Wrong) return { ok: false, message: error.message };
    throw error;
  }
}

function parse(text: string): StoreUrl {
  const [, scheme = '', rest = ''] = /^([A-Za-z+]+):\/\/(.*)$/s.exec(text) ?? [];
  if (!SCHEMES.includes(scheme)) throw new Wrong(`must be ${STORE_FORMS}${didYouMean(nearest(scheme === '' ? text : scheme, [...SCHEMES, 'memory']))}`);
  if (/[?#\s]/.test(rest)) throw new Wrong('takes nothing after "?" or "#", and no spaces: in a user or password write %3F, %23, %20');
  const [, authority = '', path = ''] = /^([^/]*)(.*)$/.exec(rest) ?? [];
  const at = authority.lastIndexOf('@');
  const topology = scheme.endsWith('+cluster') ? 'cluster' : scheme.endsWith('+sentinel') ? 'sentinel' : 'standalone';
  return {
    ...{ kind: 'redis', topology, encrypted: scheme.startsWith('rediss') },
    nodes: parseNodes(authority.slice(at + 1), topology),
    login: at < 0 ? null : parseLogin(authority.slice(0, at)),
    ...parsePath(path.split('/').slice(1), topology),
  };
}

function parseNodes(text: string, topology: RedisTopology['kind']): HostPort[] {
  const nodes = text.split(',').map((node) => parseNode(node, topology === 'sentinel' ? SENTINEL_PORT : REDIS_PORT));
  if (topology === 'standalone' && nodes.length > 1) throw new Wrong('names several hosts: of a cluster write redis+cluster://h1,h2, of Sentinels redis+sentinel://h1,h2/name');
  return nodes;
}

function parseNode(text: string, defaultPort: number): HostPort {
  const address = parseAddress(/(:\d+)$/.test(text.replace(/^\[[^\]]*\]/, '')) ? text : `${text}:${defaultPort}`);
  if (address?.kind !== 'tcp' || address.port === 0) throw new Wrong('must name its hosts as host, host:port (1 to 65535) or [IPv6]:port, with commas between them');
  return { host: address.host, port: address.port };
}

function parseLogin(text: string): RedisLogin {
  const colon = text.indexOf(':');
  if (colon < 0 || colon === text.length - 1) throw new Wrong('has a user without password: write user:password@, or leave both out and use storeLogin');
  return { username: decode(text.slice(0, colon)) || null, password: decode(text.slice(colon + 1)) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Wrong('has a "%" in user or password that begins no escape: write %25');
  }
}

function parsePath(parts: readonly string[], topology: RedisTopology['kind']): { readonly masterName: string | null; readonly database: number } {
  const [first = '', second = '', ...more] = parts;
  if (topology === 'sentinel') {
    if (first === '' || more.length > 0) throw new Wrong('must end with the name under which the Sentinels know the master: /name, or /name/db');
    return { masterName: decode(first), database: parseDatabase(second) };
  }
  const database = parseDatabase(first);
  if (second !== '' || more.length > 0) throw new Wrong('has more than a database behind the host');
  if (topology === 'cluster' && database !== 0) throw new Wrong('names a database: a cluster has only 0');
  return { masterName: null, database };
}

function parseDatabase(text: string): number {
  if (!/^\d{0,5}$/.test(text) || Number(text) > MAX_DATABASE) throw new Wrong(`must have the number of a database behind the host, 0 to ${MAX_DATABASE}, or nothing`);
  return Number(text);
}
