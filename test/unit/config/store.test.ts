import { describe, expect, test } from 'vitest';
import { formatProblems, parseConfig } from '../../../src/config/load.js';
import { NOTHING_OUTSIDE, type FileContent, type Outside } from '../../../src/config/outside.js';
import { parseStoreUrl } from '../../../src/config/store-url.js';
import type { StoreSettings } from '../../../src/domain/store-settings.js';

const CERTIFICATE = { ok: true, text: '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----' } as const;
const KEY = { ok: true, text: '-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----' } as const;

function outside(env: Record<string, string>, files: Record<string, FileContent> = {}): Outside {
  return { env, files: new Map(Object.entries(files)) };
}

function store(text: string, around: Outside = NOTHING_OUTSIDE): StoreSettings {
  const result = parseConfig(text, '/etc/tokenweir/c.yaml', around);
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.config.store;
}

function problems(text: string, around: Outside = NOTHING_OUTSIDE): string[] {
  const result = parseConfig(text, 'c.yaml', around);
  return result.ok ? [] : formatProblems(result.problems).split('\n');
}

describe('forms of the URL', () => {
  const one = (host: string, port: number) => [{ host, port }];
  test.each([
    ['redis://h', { topology: 'standalone', nodes: one('h', 6379), database: 0, login: null, encrypted: false }],
    ['redis://h/', { nodes: one('h', 6379), database: 0 }],
    ['redis://127.0.0.1:7000/3', { nodes: one('127.0.0.1', 7000), database: 3 }],
    ['redis://[::1]:7000/3', { nodes: one('::1', 7000), database: 3 }],
    ['redis://[::1]', { nodes: one('::1', 6379) }],
    ['rediss://ann:p%40ss%2Fw%3Ard@h:1', { login: { username: 'ann', password: 'p@ss/w:rd' }, encrypted: true, nodes: one('h', 1) }],
    ['redis://:pw@h', { login: { username: null, password: 'pw' } }],
    ['redis://ann:a:b@c@h', { login: { username: 'ann', password: 'a:b@c' }, nodes: one('h', 6379) }],
    ['redis+cluster://h1,h2:7001', { topology: 'cluster', nodes: [...one('h1', 6379), ...one('h2', 7001)], database: 0 }],
    ['rediss+cluster://h1,[::1]', { topology: 'cluster', nodes: [...one('h1', 6379), ...one('::1', 6379)], encrypted: true }],
    ['redis+sentinel://h1,h2:1/main', { topology: 'sentinel', nodes: [...one('h1', 26_379), ...one('h2', 1)], masterName: 'main', database: 0 }],
    ['rediss+sentinel://u:p@h1/main/2', { topology: 'sentinel', masterName: 'main', database: 2, encrypted: true, login: { username: 'u', password: 'p' } }],
  ])('%s', (text, expected) => {
    expect(parseStoreUrl(text)).toMatchObject({ ok: true, url: { kind: 'redis', ...expected } });
  });
});

describe('what is wrong with a URL is told at its place, without it', () => {
  test.each([
    ['memroy', 'must be "memory", redis://host:port/db, redis+cluster://h1,h2 or redis+sentinel://h1,h2/name (rediss… for TLS) (did you mean "memory"?)'],
    ['rediss+clster://h', 'must be "memory", redis://host:port/db, redis+cluster://h1,h2 or redis+sentinel://h1,h2/name (rediss… for TLS) (did you mean "rediss+cluster"?)'],
    ['redis://', 'must name its hosts as host, host:port (1 to 65535) or [IPv6]:port, with commas between them'],
    ['redis://h:0', 'must name its hosts as host, host:port (1 to 65535) or [IPv6]:port, with commas between them'],
    ['redis://h:70000', 'must name its hosts as host, host:port (1 to 65535) or [IPv6]:port, with commas between them'],
    ['redis+cluster://h1,,h2', 'must name its hosts as host, host:port (1 to 65535) or [IPv6]:port, with commas between them'],
    ['redis://h1,h2', 'names several hosts: of a cluster write redis+cluster://h1,h2, of Sentinels redis+sentinel://h1,h2/name'],
    ['redis://h/x', 'must have the number of a database behind the host, 0 to 65535, or nothing'],
    ['redis://h/1/2', 'has more than a database behind the host'],
    ['redis+cluster://h/1', 'names a database: a cluster has only 0'],
    ['redis+sentinel://h', 'must end with the name under which the Sentinels know the master: /name, or /name/db'],
    ['redis://ann@h', 'has a user without password: write user:password@, or leave both out and use storeLogin'],
    ['redis://a:%zz@h', 'has a "%" in user or password that begins no escape: write %25'],
    ['redis://h/0?tls=true', 'takes nothing after "?" or "#", and no spaces: in a user or password write %3F, %23, %20'],
  ])('%s', (text, message) => {
    expect(problems(`store: "${text}"`)).toEqual([`c.yaml:1:8 store: ${message}`]);
  });
});

test('the URL may come from the environment, and is checked there too', () => {
  const around = (url: string): Outside => outside({ STORE: url });
  expect(store('store: env:STORE', around(' rediss://u:p@h/1\n')).address).toMatchObject({ kind: 'redis', database: 1, login: { password: 'p' } });
  expect(store('store: env:STORE', around('memory')).address).toEqual({ kind: 'memory' });
  expect(problems('store: env:STORE')).toEqual(['c.yaml:1:8 store: names an environment variable that is not set or empty']);
  expect(problems('store: env:STORE', around('redis://u:secret@h/x'))).toEqual([
    'c.yaml:1:8 store: its environment variable must have the number of a database behind the host, 0 to 65535, or nothing',
  ]);
});

test('passwords come from the file, the environment or a file of their own', () => {
  const login = (text: string, around?: Outside) => store(`store: redis://h\nstoreLogin: ${text}`, around).address;
  expect(login('{ username: ann, password: pw }')).toMatchObject({ login: { username: 'ann', password: 'pw' } });
  expect(login('{ password: env:PW }', outside({ PW: 'secret\n' }))).toMatchObject({ login: { username: null, password: 'secret' } });
  expect(login('{ passwordFile: pw }', outside({}, { pw: { ok: true, text: ' secret\n' } }))).toMatchObject({ login: { password: 'secret' } });
  const sentinels = store('store: redis+sentinel://a:b@h/main\nstoreLogin: { sentinelUsername: s, sentinelPassword: env:PW }', outside({ PW: 't' }));
  expect(sentinels.address).toMatchObject({ login: { username: 'a', password: 'b' }, topology: { kind: 'sentinel', masterName: 'main', login: { username: 's', password: 't' } } });
});

test('TLS files are absolute, checked, and only there where the URL says TLS', () => {
  const files = outside({}, { 'ca.crt': CERTIFICATE, 'c.crt': CERTIFICATE, 'c.key': KEY });
  expect(store('store: rediss://h\nstoreTls: { caFile: ca.crt, certFile: c.crt, keyFile: c.key, serverName: redis.internal }', files).address).toMatchObject({
    tls: { caFile: '/etc/tokenweir/ca.crt', certFile: '/etc/tokenweir/c.crt', keyFile: '/etc/tokenweir/c.key', serverName: 'redis.internal', acceptAnyCertificate: false },
  });
  expect(store('store: rediss://h').address).toMatchObject({ tls: { caFile: null, acceptAnyCertificate: false } });
  expect(store('store: redis://h').address).toMatchObject({ tls: null });
});

describe('one problem alone, at its place', () => {
  const files = outside({}, { 'ca.crt': CERTIFICATE, pw: { ok: true, text: ' ' } });
  test.each([
    ['store: redis://a:b@h\nstoreLogin: { password: c }', '2:13 storeLogin: the URL has user and password already: give them in one place'],
    ['store: redis://h\nstoreLogin: { username: c }', '2:25 storeLogin.username: needs a password too: password or passwordFile'],
    ['store: redis://h\nstoreLogin: { password: env:NO }', '2:25 storeLogin.password: names an environment variable that is not set or empty'],
    ['store: redis://h\nstoreLogin: { password: a, passwordFile: ca.crt }', '2:42 storeLogin.passwordFile: give either password or passwordFile, not both'],
    ['store: redis://h\nstoreLogin: { passwordFile: pw }', '2:29 storeLogin.passwordFile: this file is empty: it should hold a secret'],
    ['store: redis://h\nstoreLogin: { sentinelPassword: a }', '2:13 storeLogin: has a password for Sentinels, and the store is not reached through any'],
    ['store: redis://h\nstoreTls: { caFile: ca.crt }', '2:11 storeTls: the URL says no TLS: write rediss…, or leave this out'],
    ['store: rediss://h\nstoreTls: { certFile: ca.crt }', '2:11 storeTls: certFile and keyFile belong together: give both or none'],
    ['store: rediss://h\nstoreTls: { caFile: no.crt }', '2:21 storeTls.caFile: this file was not read'],
    ['store: redis://h\njournal: { file: a }\nledger: { file: a }', '2:18 journal.file: must not be the file of the ledger'],
    ['onStoreFailure: locl', '1:17 onStoreFailure: must be one of local, open, closed (did you mean "local"?)'],
    ['storeTimeoutMs: 0', '1:17 storeTimeoutMs: must be at least 1'],
    ['ledger: { keep: 0 }', '1:17 ledger.keep: must be at least 1'],
  ])('%s', (text, expected) => {
    expect(problems(text, files)).toEqual([`c.yaml:${expected}`]);
  });
});

test('the rest of the store: absolute paths, sizes as bytes', () => {
  const { address, ...rest } = store('onStoreFailure: closed\nstoreTimeoutMs: 20\njournal: { file: j.jsonl, maxBytes: 1MiB }\nledger: { file: /var/l.jsonl, keep: 3 }');
  expect(address).toEqual({ kind: 'memory' });
  expect(rest).toEqual({
    onFailure: 'closed',
    timeoutMs: 20,
    journal: { file: '/etc/tokenweir/j.jsonl', maxBytes: 1_048_576 },
    ledger: { file: '/var/l.jsonl', maxBytes: 67_108_864, keep: 3 },
  });
});

test('a store that others may read or pose as is warned of', () => {
  const warnings = (text: string): readonly string[] => {
    const result = parseConfig(`${text}\nidentity: { anonymous: a }\ntenants: [{ id: a }]`, 'c.yaml');
    return result.ok ? result.warnings.map(({ message }) => message) : ['?'];
  };
  expect(warnings('store: redis://127.0.0.1')).toEqual([]);
  expect(warnings('store: rediss://redis.internal')).toEqual([]);
  expect(warnings('store: redis+cluster://localhost,redis.internal')).toEqual([
    'is not on this machine and without TLS (rediss…): tenants, counts and the password pass unencrypted',
  ]);
  expect(warnings('store: rediss://h\nstoreTls: { acceptAnyCertificate: true }')).toEqual([
    'any server that answers is taken for the store',
  ]);
});

test('what is said of a store that can be away is warned of where there is none', () => {
  for (const text of ['onStoreFailure: closed', 'journal: { file: j.jsonl }']) {
    const result = parseConfig(`${text}\nidentity: { anonymous: a }\ntenants: [{ id: a }]`, 'c.yaml');
    expect(result).toMatchObject({ ok: true, warnings: [{ line: 1, message: 'store is memory, which is never away: onStoreFailure and journal do nothing' }] });
  }
});
