import { resolve } from 'node:path';
import type { RedisLogin, RedisTls, RedisTopology, StoreAddress, StoreSettings } from '../domain/store-settings.js';
import type { Outside } from './outside.js';
import type { Document } from './schema.js';
import { secretOf } from './secret.js';
import { parseSize } from './size.js';
import { parseStoreUrl, type StoreUrl } from './store-url.js';

/** Turns the store's part of a document without problems into what the store is opened with. Paths become absolute. */
export function compileStore(document: Document, outside: Outside, folder: string): StoreSettings {
  const { journal, ledger } = document;
  const absolute = (path: string | null): string | null => (path === null ? null : resolve(folder, path));
  return {
    address: addressOf(document, outside, absolute),
    onFailure: document.onStoreFailure,
    timeoutMs: document.storeTimeoutMs,
    journal: { file: absolute(journal.file), maxBytes: parseSize(journal.maxBytes) ?? 0 },
    ledger: { file: absolute(ledger.file), maxBytes: parseSize(ledger.maxBytes) ?? 0, keep: ledger.keep },
  };
}

type AbsolutePath = (path: string | null) => string | null;

function addressOf(document: Document, outside: Outside, absolute: AbsolutePath): StoreAddress {
  const parsed = parseStoreUrl(secretOf({ value: document.store, file: null }, outside) ?? '');
  if (!parsed.ok || parsed.url.kind === 'memory') return { kind: 'memory' };
  const { url } = parsed;
  const { username, password, passwordFile } = document.storeLogin;
  return {
    kind: 'redis',
    topology: topologyOf(url, document, outside),
    nodes: url.nodes,
    database: url.database,
    login: url.login ?? loginOf(username, secretOf({ value: password, file: passwordFile }, outside)),
    tls: url.encrypted ? tlsOf(document.storeTls, absolute) : null,
  };
}

function topologyOf(url: Extract<StoreUrl, { kind: 'redis' }>, { storeLogin }: Document, outside: Outside): RedisTopology {
  if (url.topology !== 'sentinel') return { kind: url.topology };
  const password = secretOf({ value: storeLogin.sentinelPassword, file: storeLogin.sentinelPasswordFile }, outside);
  return { kind: 'sentinel', masterName: url.masterName ?? '', login: loginOf(storeLogin.sentinelUsername, password) };
}

function loginOf(username: string | null, password: string | null): RedisLogin | null {
  return password === null ? null : { username, password };
}

function tlsOf({ caFile, certFile, keyFile, serverName, acceptAnyCertificate }: Document['storeTls'], absolute: AbsolutePath): RedisTls {
  return { caFile: absolute(caFile), certFile: absolute(certFile), keyFile: absolute(keyFile), serverName, acceptAnyCertificate };
}
