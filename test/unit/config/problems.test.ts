import { describe, expect, test } from 'vitest';
import { formatProblems, parseConfig, type LoadResult } from '../../../src/config/load.js';
import { NOTHING_OUTSIDE, type Outside } from '../../../src/config/outside.js';

const HASH = `sha256:${'a1'.repeat(32)}`;

function lines(result: LoadResult): string[] {
  return result.ok ? [] : formatProblems(result.problems).split('\n');
}

function problems(text: string, outside?: Outside): string[] {
  return lines(parseConfig(text, 'c.yaml', outside));
}

test('all problems come at once, in the order of the file, each with line, column and field', () => {
  const text = [
    'server:',
    '  admin: 0.0.0.0:9003',
    '  extproc: 127.0.0.1:1',
    'enforcement: shadwo',
    'enforcement: enforce',
    'tenants:',
    '  - id: a',
    '    keys: [sk-live-1234]',
    '    parent: nobody',
    '    limits: { requestPerMinute: 5, tokensPerMinute: many }',
    '  - id: a',
    '    limits: [{}]',
  ].join('\n');
  expect(problems(text)).toEqual([
    'c.yaml:2:10 server.admin: listens on more than loopback: give adminToken or adminTokenFile too',
    'c.yaml:3:3 server.extproc: unknown key (did you mean "extProc"?)',
    'c.yaml:5:1 this key stands here twice',
    'c.yaml:8:12 tenants[0].keys[0]: is not a hash: never put a key itself into the configuration, put what `tokenweir hash-key KEY` prints',
    'c.yaml:9:13 tenants[0].parent: no tenant has this id',
    'c.yaml:10:15 tenants[0].limits.requestPerMinute: unknown key (did you mean "requestsPerMinute"?)',
    'c.yaml:10:53 tenants[0].limits.tokensPerMinute: must be a whole number, not text',
    'c.yaml:11:9 tenants[1].id: this id is taken by tenants[0] (line 7)',
    expect.stringMatching(/^c\.yaml:12:14 tenants\[1\]\.limits\[0\]: limits nothing: give it at least one of requestsPerMinute/),
  ]);
});

describe('one problem alone, at its place', () => {
  test.each([
    ['an empty file', '', '1:1 the file is empty: see tokenweir.example.yaml for a start'],
    ['only comments', '# nothing\n', '1:1 the file is empty: see tokenweir.example.yaml for a start'],
    ['not a mapping', '- a\n', '1:1 must be a mapping, not a list'],
    ['broken YAML', 'log:\n\t- x', '2:1 not valid YAML: Tabs are not allowed as indentation'],
    ['two documents', 'log: {}\n---\nlog: {}\n', '2:1 a second document starts here: only one is allowed'],
    ['a tag', 'log: !odd {}\n', '1:6 not valid YAML: Unresolved tag'],
    ['a repeated key', 'log:\n  level: info\n  level: warn\n', '3:3 this key stands here twice'],
    ['a wrong word', 'enforcement: shadwo', '1:14 enforcement: must be one of enforce, shadow, off (did you mean "shadow"?)'],
    ['a switch for a word', 'unmetered: { media: true }', '1:21 unmetered.media: must be one of pass, reject, not true or false'],
    ['an unknown kind', 'unmetered: { realtme: pass }', '1:14 unmetered.realtme: unknown key (did you mean "realtime"?)'],
    ['a wrong type', 'tenants: {}', '1:10 tenants: must be a list, not a mapping'],
    ['a number for text', 'tenants: [{ id: 12 }]', '1:17 tenants[0].id: must be text, not a number (put it in quotes)'],
    ['no value', 'log: {}\ntenants:\n  # none yet\n', '2:1 tenants: has no value: give it one, or leave the line out'],
    ['a missing field', 'tenants:\n  - parent: null\n', '2:5 tenants[0].id: is required'],
    ['below the range', 'server: { drain: { noticeMs: -1 } }', '1:30 server.drain.noticeMs: must be at least 0'],
    ['above the range', 'tenants: [{ id: a, limits: { burstSeconds: 3601, concurrency: 1 } }]', '1:44 tenants[0].limits.burstSeconds: must be at most 3600'],
    ['a fraction', 'server: { drain: { timeoutMs: 1.5 } }', '1:31 server.drain.timeoutMs: must be a whole number, not a number with a fraction'],
    ['a limit of zero', 'tenants: [{ id: a, limits: { concurrency: 0 } }]', '1:43 tenants[0].limits.concurrency: must be at least 1'],
    ['a size', 'server: { maxBodyBytes: 16MB }', '1:25 server.maxBodyBytes: must be a number of bytes, or a size such as 16MiB (B, KiB, MiB, GiB, TiB)'],
    ['a size too large', 'server: { maxBodyBytes: 2GiB }', '1:25 server.maxBodyBytes: must be at least 1 byte and at most 1GiB'],
    ['neither of two types', 'tenants: [{ id: a, limits: 5 }]', '1:28 tenants[0].limits: must be a mapping or a list, not a number'],
    ['an address', 'server: { extProc: "127.0.0.1:99999" }', '1:20 server.extProc: must be host:port (0 to 65535), [IPv6]:port or unix:/path'],
    ['a socket for admin', 'server: { admin: "unix:/a" }', '1:18 server.admin: must be host:port (0 to 65535) or [IPv6]:port'],
    ['one address for two', 'server: { admin: "localhost:1", extProc: "localhost:1" }', '1:18 server.admin: must not be the address of server.extProc'],
    ['a store of another kind', 'store: mongodb://h/0', '1:8 store: must be "memory", redis://host:port/db, redis+cluster://h1,h2 or redis+sentinel://h1,h2/name (rediss… for TLS)'],
    ['a later part of a pool', 'pools:\n  - { id: a, kind: self-hosted, models: ["*"], pressure: {} }\n', '2:48 pools[0].pressure: "pressure" is not supported by this version'],
    ['nodes of a pool', 'pools: [{ id: a, kind: self-hosted, models: ["*"], nodes: [] }]', '1:52 pools[0].nodes: "nodes" is not supported by this version'],
    ['heavy prompts of a pool', 'pools: [{ id: a, kind: self-hosted, models: ["*"], heavyPromptTokens: 1 }]', '1:52 pools[0].heavyPromptTokens: "heavyPromptTokens" is not supported by this version'],
    ['a later part of a tenant', 'tenants:\n  - id: a\n    budget: { daily: 5 }\n', '3:5 tenants[0].budget: "budget" is not supported by this version'],
    ['merge keys', 'log: { <<: {} }', '1:8 log["<<"]: unknown key (merge keys are not read: use an alias for the whole value)'],
    ['a dangerous key', 'log: { __proto__: {} }', '1:8 log.__proto__: unknown key; known here: level'],
    ['a short hash', 'tenants: [{ id: a, keys: ["sha256:abc"] }]', '1:27 tenants[0].keys[0]: must have exactly 64 hex digits after "sha256:"'],
    ['a repeated key hash', `tenants:\n  - { id: a, keys: ["${HASH}"] }\n  - { id: b, keys: ["${HASH.toUpperCase().replace('SHA', 'sha')}"] }\n`, '3:21 tenants[1].keys[0]: this key stands already at tenants[0].keys[0] (line 2)'],
    ['an unknown parent', 'tenants: [{ id: acme }, { id: b, parent: acne }]', '1:42 tenants[1].parent: no tenant has this id (did you mean "acme"?)'],
    ['its own parent', 'tenants: [{ id: a, parent: a }]', '1:28 tenants[0].parent: parents go round in a circle: a → a'],
    ['a circle behind a tenant', 'tenants:\n  - { id: x, parent: a }\n  - { id: a, parent: b }\n  - { id: b, parent: a }\n', '3:22 tenants[1].parent: parents go round in a circle: a → b → a'],
    ['a reserved id', 'tenants: [{ id: reject }]', '1:17 tenants[0].id: "reject" is reserved: identity uses it for "no tenant"'],
    ['an unknown template', 'identity: { unknownKey: trial }', '1:25 identity.unknownKey: no tenant has this id'],
    ['an unknown anonymous', 'identity: { anonymous: guest }', '1:24 identity.anonymous: no tenant has this id'],
    ['an unknown claim tenant', 'identity: { jwt: { payloadKey: p, claim: c, tenants: { x: nobody } } }', '1:59 identity.jwt.tenants.x: no tenant has this id'],
    ['a header with keys', 'identity: { trustedTenantHeader: Authorization }', '1:34 identity.trustedTenantHeader: must not be a header that carries keys or addresses'],
    ['deep nesting', '['.repeat(100_000), '1:65 is nested more than 64 levels deep'],
    ['deep blocks', '- '.repeat(100_000), '1:128 is nested more than 64 levels deep'],
  ])('%s', (_, text, expected) => {
    expect(problems(text)).toEqual([`c.yaml:${expected}`]);
  });
});

test('missing fields of one mapping are each told', () => {
  expect(problems('identity:\n  jwt: {}\n')).toEqual(['c.yaml:2:3 identity.jwt.payloadKey: is required', 'c.yaml:2:3 identity.jwt.claim: is required']);
});

test('an alias bomb is refused, and what an alias repeats is told once', () => {
  const nine = (name: string): string => Array.from({ length: 9 }, () => `*${name}`).join(',');
  const bomb = `a: &a [x,x]\nb: &b [${nine('a')}]\nc: &c [${nine('b')}]\nd: &d [${nine('c')}]\ne: [${nine('d')}]\n`;
  expect(problems(bomb)).toEqual(['c.yaml:5:29 aliases repeat too much, or contain themselves']);
  const shared = 'tenants:\n  - { id: a, limits: &l { concurrency: -1 } }\n  - { id: b, limits: *l }\n';
  expect(problems(shared)).toEqual(['c.yaml:2:40 tenants[1].limits.concurrency: must be at least 1']);
});

test('no value that could be a secret is in any message', () => {
  const secret = 'sk-very-secret';
  const text = `store: redis://u:${secret}@\nadminToken: [${secret}]\nenforcement: ${secret}\ntenants: [{ id: a, keys: [${secret}, "sha256:${secret}"], parent: ${secret} }]\n`;
  expect(problems(text)).toHaveLength(6);
  expect(problems(text).join()).not.toContain(secret);
  expect(problems(`adminToken: "a" ${secret}: x\n`).join()).not.toContain(secret);
});

test('the admin token: needed off loopback; literal, from the environment, or from a file', () => {
  const open = 'server: { admin: "0.0.0.0:0" }\n';
  const token = (text: string, outside: Outside = NOTHING_OUTSIDE): string | null | string[] => {
    const result = parseConfig(open + text, 'c.yaml', outside);
    return result.ok ? result.config.adminToken : lines(result);
  };
  expect(token('adminToken: literal')).toBe('literal');
  expect(token('adminToken: env:T', { env: { T: 'from-env\n' }, files: new Map() })).toBe('from-env');
  expect(token('adminToken: env:T')).toEqual(['c.yaml:2:13 adminToken: names an environment variable that is not set or empty']);
  expect(token('adminTokenFile: t', { env: {}, files: new Map([['t', { ok: true, text: 'from-file\n' }]]) })).toBe('from-file');
  expect(token('adminTokenFile: t', { env: {}, files: new Map([['t', { ok: true, text: ' \n' }]]) })).toEqual(['c.yaml:2:17 adminTokenFile: this file is empty: it should hold a secret']);
  expect(token('adminToken: a\nadminTokenFile: t', { env: {}, files: new Map([['t', { ok: true, text: 'x' }]]) })).toEqual([
    'c.yaml:3:17 adminTokenFile: give either adminToken or adminTokenFile, not both',
  ]);
});

test.each(['127.0.0.1:0', '127.9.9.9:1', 'localhost:0', '"[::1]:0"'])('admin at %s needs no token', (address) => {
  expect(problems(`server: { admin: ${address} }`)).toEqual([]);
});

test.each(['0.0.0.0:1', '10.0.0.1:1', '"[::]:1"', 'example.org:1', '127.0.0.1.example.org:1'])('admin at %s needs a token', (address) => {
  expect(problems(`server: { admin: ${address} }`)).toHaveLength(1);
});
