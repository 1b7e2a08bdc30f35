import { expect, test } from 'vitest';
import { hashKey } from '../../../src/config/hash-key.js';
import { parseConfig, type Config } from '../../../src/config/load.js';
import { UNMETERED } from '../../support/policies.js';

function config(text: string): Config {
  const result = parseConfig(text, '/etc/tokenweir/c.yaml');
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

test('hash-key: SHA-256 of the UTF-8 bytes', () => {
  expect(hashKey('abc')).toBe('sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('defaults of a file that says nearly nothing', () => {
  const { server, policy, adminToken, store, logLevel } = config('log: {}');
  expect(server).toEqual({
    extProc: '127.0.0.1:9002',
    admin: '127.0.0.1:9003',
    tls: { extProc: null, admin: null },
    drainNoticeMs: 1000,
    drainTimeoutMs: 30_000,
    maxBodyBytes: 16 * 1024 * 1024,
  });
  expect([adminToken, logLevel, policy.enforcement, policy.unknownPaths, policy.unknownOutputTokens]).toEqual([null, 'info', 'enforce', 'pass', 1024]);
  expect(store).toEqual({
    address: { kind: 'memory' },
    onFailure: 'local',
    timeoutMs: 50,
    journal: { file: null, maxBytes: 64 * 1024 * 1024 },
    ledger: { file: null, maxBytes: 64 * 1024 * 1024, keep: 8 },
  });
  expect(policy.unmetered).toEqual(UNMETERED);
  expect(policy.background).toBe('meter');
  expect(policy.identity).toEqual({ keys: new Map(), anonymousTenantId: null, unknownKeyTemplateId: null, maxTemplateTenants: 10_000, trustedTenantHeader: null, jwt: null });
});

test('each kind of request that can’t be metered is opened or shut on its own (no unmetered holes)', () => {
  const { policy } = config('unmetered: { realtime: pass, passThrough: pass, fineTuning: pass, countTokens: reject }\nbackground: reject');
  expect(policy.unmetered).toEqual({ ...UNMETERED, realtime: 'pass', pass_through: 'pass', fine_tuning: 'pass', count_tokens: 'reject' });
  expect(policy.background).toBe('reject');
});

test('a limit with several numbers becomes one limit each; capacity follows burstSeconds, and is never below one', () => {
  const { policy } = config('tenants: [{ id: a, limits: { requestsPerMinute: 10, tokensPerMinute: 100, concurrency: 4, burstSeconds: 5 } }]');
  const limits = policy.tenants.get('a')?.limits.map(({ id, dimension, limit, capacity }) => [id, dimension, limit, capacity]);
  expect(limits).toEqual([
    ['*:requests', 'requests', 10, 1],
    ['*:tokens', 'tokens', 100, 8],
    ['*:concurrency', 'concurrency', 4, 4],
  ]);
});

test('limits of one name are told apart by their order; a mapping is a list of one', () => {
  const { policy } = config('tenants: [{ id: a, limits: [{ models: ["x*", y], tokensPerMinute: 1 }, { models: ["x*", y], tokensPerMinute: 2, enforcement: shadow, countCachedInput: false }] }]');
  const limits = policy.tenants.get('a')!.limits;
  expect(limits.map(({ id, enforcement, countCachedInput }) => [id, enforcement, countCachedInput])).toEqual([
    ['x*,y:tokens', null, true],
    ['x*,y:tokens#2', 'shadow', false],
  ]);
  expect(['xyz', 'y', 'yy'].map(limits[0]!.matches)).toEqual([true, true, false]);
});

test('identity: keys in lower case, header names in lower case, claims by map', () => {
  const { policy } = config(
    `identity: { anonymous: t, unknownKey: t, trustedTenantHeader: X-Team, jwt: { payloadKey: p, claim: org.id, tenants: { o1: t } } }\ntenants: [{ id: t, keys: ["sha256:${'AB'.repeat(32)}"] }]`,
  );
  expect(policy.identity).toMatchObject({ anonymousTenantId: 't', unknownKeyTemplateId: 't', trustedTenantHeader: 'x-team' });
  expect(policy.identity.keys.get('ab'.repeat(32))).toBe('t');
  expect(policy.identity.jwt).toEqual({ metadataNamespace: 'envoy.filters.http.jwt_authn', payloadKey: 'p', claim: 'org.id', tenants: new Map([['o1', 't']]) });
});

test('of several entries on a model, the first that tells a field counts', () => {
  const { policy } = config('models: [{ match: ["a*"], askForUsage: false }, { match: ["*"], maxOutputTokens: 5, askForUsage: true }]');
  expect([policy.maxOutputTokens('ab'), policy.asksForUsage('ab'), policy.asksForUsage('b')]).toEqual([5, false, true]);
  expect([config('log: {}').policy.maxOutputTokens('x'), config('log: {}').policy.asksForUsage('x')]).toEqual([null, true]);
});

test('a tenant’s models are an allow-list; an empty one allows none', () => {
  const { policy } = config('tenants: [{ id: a, models: ["gpt-*"] }, { id: b, models: [] }, { id: c }]');
  expect(['a', 'b', 'c'].map((id) => policy.tenants.get(id)?.allowsModel('gpt-4'))).toEqual([true, false, true]);
  expect(policy.tenants.get('a')?.allowsModel('claude')).toBe(false);
});

test.each([
  ['1.5KiB', 1536],
  ['512B', 512],
  ['4096', 4096],
  ['1GiB', 1024 ** 3],
])('maxBodyBytes %s is %i bytes', (size, bytes) => {
  expect(config(`server: { maxBodyBytes: ${size} }`).policy.maxBodyBytes).toBe(bytes);
});
