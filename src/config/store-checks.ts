import type { Outline } from './outline.js';
import type { Outside } from './outside.js';
import type { Finding, Path } from './problem.js';
import { isSecretSet, secretOf, type SecretSource } from './secret.js';
import { parseStoreUrl, type StoreUrl } from './store-url.js';

function finding(path: Path, message: string): Finding {
  return { path, message, at: 'value' };
}

/** What is wrong with the store as a whole: what the URL says beside what stands in the other fields. */
export function checkStore(outline: Outline, outside: Outside): Finding[] {
  const { storeLogin, storeTls, journal, ledger } = outline;
  const url = urlOf(outline, outside);
  return [
    ...(typeof url === 'string' ? [finding(['store'], url)] : [...checkLogin(url, outline), ...checkTls(url, storeTls)]),
    ...checkSecret(['storeLogin', 'password'], storeLogin.own, outside),
    ...checkSecret(['storeLogin', 'sentinelPassword'], storeLogin.sentinel, outside),
    ...(journal.file !== null && journal.file === ledger.file ? [finding(['journal', 'file'], 'must not be the file of the ledger')] : []),
  ];
}

/** What the store's text says, from wherever it comes; else what is wrong with that. A wrong text in the file is the schema's to tell. */
function urlOf({ store }: Outline, outside: Outside): StoreUrl | string {
  const memory: StoreUrl = { kind: 'memory' };
  if (store === null) return memory;
  const text = secretOf({ value: store, file: null }, outside);
  if (text === null) return 'names an environment variable that is not set or empty';
  const result = parseStoreUrl(text);
  if (result.ok) return result.url;
  return text === store ? memory : `its environment variable ${result.message}`;
}

function checkLogin(url: StoreUrl, { storeLogin: { own, sentinel } }: Outline): Finding[] {
  const findings: Finding[] = [];
  if (url.kind === 'redis' && url.login !== null && (isSecretSet(own) || own.username !== null)) findings.push(finding(['storeLogin'], 'the URL has user and password already: give them in one place'));
  if (own.username !== null && !isSecretSet(own)) findings.push(finding(['storeLogin', 'username'], 'needs a password too: password or passwordFile'));
  if (sentinel.username !== null && !isSecretSet(sentinel)) findings.push(finding(['storeLogin', 'sentinelUsername'], 'needs a password too: sentinelPassword or sentinelPasswordFile'));
  if (url.kind === 'memory' || url.topology === 'sentinel' || !isSecretSet(sentinel)) return findings;
  return [...findings, finding(['storeLogin'], 'has a password for Sentinels, and the store is not reached through any')];
}

function checkTls(url: StoreUrl, { caFile, certFile, keyFile, serverName }: Outline['storeTls']): Finding[] {
  const findings: Finding[] = [];
  if ((certFile === null) !== (keyFile === null)) findings.push(finding(['storeTls'], 'certFile and keyFile belong together: give both or none'));
  const set = [caFile, certFile, keyFile, serverName].some((value) => value !== null);
  if (url.kind === 'redis' && !url.encrypted && set) findings.push(finding(['storeTls'], 'the URL says no TLS: write rediss…, or leave this out'));
  return findings;
}

function checkSecret(path: Path, source: SecretSource, outside: Outside): Finding[] {
  const file = [...path.slice(0, -1), `${String(path.at(-1))}File`];
  if (source.value !== null && source.file !== null) return [finding(file, `give either ${String(path.at(-1))} or ${String(file.at(-1))}, not both`)];
  // A file that is empty or can't be read is told where files are checked.
  if (source.value === null || secretOf(source, outside) !== null) return [];
  return [finding(path, source.value === '' ? 'is empty' : 'names an environment variable that is not set or empty')];
}
