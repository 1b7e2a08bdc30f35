import { describe, expect, it } from 'vitest';
import type { RequestHead } from '../../../src/admission/head.js';
import { identify } from '../../../src/admission/identify.js';
import { TemplateTenants } from '../../../src/admission/templates.js';
import { sha256Hex } from '../../../src/lib/hash.js';
import { limit, policyOf, tenant } from '../../support/harness.js';

const nobodyIsIdle = new TemplateTenants(() => Promise.resolve(false));

function head(headers: Record<string, string>, metadata: Record<string, unknown> = {}): RequestHead {
  return {
    method: 'POST', path: '/v1/chat/completions', headers: new Map(Object.entries(headers)), endOfStream: false, stage: 'front',
    externalId: null, metadata: (namespace) => metadata[namespace],
  };
}

const who = (headers: Record<string, string>, more: Parameters<typeof policyOf>[1] = {}, metadata = {}) => {
  const found = identify(head(headers, metadata), policyOf([tenant('a'), tenant('b')], more), nobodyIsIdle);
  return found.kind === 'known' ? found.tenant.id : found.why;
};

describe('identity', () => {
  it.each([
    [{ authorization: 'Bearer key-a' }, 'a'],
    [{ authorization: 'bearer   key-a' }, 'a'],
    [{ 'x-api-key': 'key-a' }, 'a'],
    [{ 'api-key': 'key-b' }, 'b'],
    [{ 'x-goog-api-key': 'key-b' }, 'b'],
    [{ 'x-api-key': 'key-a', 'x-goog-api-key': 'key-b' }, 'a'],
    [{ authorization: 'AWS4-HMAC-SHA256 Credential=key-a' }, 'no_key'],
    // The first that is there decides: a second key must not rescue or change it.
    [{ authorization: 'Bearer key-a', 'x-api-key': 'key-b' }, 'a'],
    [{ authorization: 'Bearer wrong', 'x-api-key': 'key-b' }, 'unknown_key'],
    // Two of the same header arrive joined, and are no key.
    [{ 'x-api-key': 'key-a, key-b' }, 'unknown_key'],
    [{ authorization: 'Basic key-a' }, 'no_key'],
    [{}, 'no_key'],
    [{ authorization: 'Bearer ' }, 'no_key'],
    [{ 'x-api-key': sha256Hex('key-a') }, 'unknown_key'],
    [{ 'x-api-key': 'k'.repeat(100_000) }, 'unknown_key'],
  ])('%j is %s', (headers, expected) => {
    expect(who(headers as Record<string, string>)).toBe(expected);
  });

  it('Google’s APIs take a key in the query, others do not', () => {
    const at = (path: string, queryHoldsKey: boolean, more: Parameters<typeof policyOf>[1] = {}, headers: Record<string, string> = {}) => {
      const found = identify({ ...head(headers), path }, policyOf([tenant('a'), tenant('b')], more), nobodyIsIdle, queryHoldsKey);
      return found.kind === 'known' ? found.tenant.id : found.why;
    };
    expect(at('/v1beta/models/m:generateContent?alt=sse&key=key-b', true)).toBe('b');
    expect(at('/v1beta/models/m:generateContent?key=key%2Db#x', true)).toBe('b');
    expect(at('/v1beta/models/m:generateContent?key=key-b', true, {}, { 'x-goog-api-key': 'key-a' })).toBe('a');
    expect(at('/v1/chat/completions?key=key-b', false)).toBe('no_key');
    expect(at('/m:generateContent#?key=key-b', true)).toBe('no_key');
    // LiteLLM takes the last one: where keys are judged behind us, several are none.
    const template = { identity: { unknownKeyTemplateId: 'a' } };
    expect(at('/m:generateContent?key=x&key=y', true, template)).toBe('several_keys');
    expect(at('/m:generateContent?key=x', true, template, { authorization: 'Bearer y' })).toBe('several_keys');
    expect(at('/m:generateContent?key=x&key=x', true, template)).toBe(`a:${sha256Hex('x').slice(0, 16)}`);
  });

  it('nothing else that a client controls decides (PostHog/posthog#50542)', () => {
    expect(who({ authorization: 'Bearer key-a', 'x-tenant-id': 'b', 'x-forwarded-for': '10.0.0.9', 'x-tokenweir-tenant': 'b' })).toBe('a');
  });

  it('a trusted header names the tenant, and only while it is configured', () => {
    const headers = { 'x-team': 'b', authorization: 'Bearer key-a' };
    expect(who(headers)).toBe('a');
    expect(who(headers, { identity: { trustedTenantHeader: 'x-team' } })).toBe('b');
    expect(who({ ...headers, 'x-team': 'nobody' }, { identity: { trustedTenantHeader: 'x-team' } })).toBe('unknown_tenant');
  });

  it('verified claims name the tenant, by value or by a table, by a path or a whole name', () => {
    const jwt = { metadataNamespace: 'ns', payloadKey: 'payload', claim: 'org.team', tenants: null };
    const claims = (payload: unknown) => ({ ns: { payload } });
    expect(who({}, { identity: { jwt } }, claims({ org: { team: 'b' } }))).toBe('b');
    expect(who({}, { identity: { jwt } }, claims({ 'org.team': 'a' }))).toBe('a');
    expect(who({}, { identity: { jwt: { ...jwt, tenants: new Map([['blue', 'b']]) } } }, claims({ org: { team: 'blue' } }))).toBe('b');
    expect(who({}, { identity: { jwt: { ...jwt, tenants: new Map([['blue', 'b']]) } } }, claims({ org: { team: 'b' } }))).toBe('unknown_tenant');
    expect(who({ authorization: 'Bearer key-a' }, { identity: { jwt } }, claims({ other: 1 }))).toBe('a');
    expect(who({}, { identity: { jwt: { ...jwt, claim: 'constructor.name' } } }, claims({}))).toBe('no_key');
  });

  it('without a key: the anonymous tenant, where there is one', () => {
    expect(who({}, { identity: { anonymousTenantId: 'b' } })).toBe('b');
    expect(who({ authorization: 'Bearer nobody' }, { identity: { anonymousTenantId: 'b' } })).toBe('unknown_key');
  });
});

describe('tenants made from a template', () => {
  const template = tenant('keys', [limit('requests', 10)], { parentId: 'org' });
  const hash = (n: number) => sha256Hex(`unknown-${n}`);

  it('gives each unknown key limits of its own, under the template’s parent', () => {
    const templates = new TemplateTenants(() => Promise.resolve(false));
    const [one, again, two] = [templates.resolve(template, hash(1), 10), templates.resolve(template, hash(1), 10), templates.resolve(template, hash(2), 10)];
    expect(one.id).toBe(`keys:${hash(1).slice(0, 16)}`);
    expect(again).toBe(one);
    expect(two.id).not.toBe(one.id);
    expect(one).toMatchObject({ parentId: 'org', label: 'keys', limits: template.limits });
  });

  it.each([
    [{ authorization: 'Bearer real', 'x-api-key': 'random' }, 'several_keys'],
    [{ authorization: 'Bearer random', 'x-litellm-api-key': 'Bearer real' }, 'several_keys'],
    [{ authorization: 'Basic real', 'x-api-key': 'random' }, 'several_keys'],
    [{ authorization: 'Bearer one', 'x-api-key': 'one', 'x-litellm-api-key': 'Bearer one' }, `a:${sha256Hex('one').slice(0, 16)}`],
    // A key that is listed decides, whatever stands beside it.
    [{ authorization: 'Bearer key-b', 'x-api-key': 'random' }, 'b'],
  ])('a random key beside the one that the gateway takes is no fresh set of limits: %j', (headers, expected) => {
    expect(who(headers as Record<string, string>, { identity: { unknownKeyTemplateId: 'a' } })).toBe(expected);
  });

  it('keeps their number bounded; while none is idle, further keys share the template’s own limits', async () => {
    const busy = new Set<string>();
    const templates = new TemplateTenants((id) => Promise.resolve(!busy.has(id)));
    for (let i = 0; i < 3; i++) busy.add(templates.resolve(template, hash(i), 3).id);
    expect(templates.resolve(template, hash(9), 3).id).toBe('keys');
    await templates.sweep();
    expect(templates.list()).toHaveLength(3);
    busy.delete(`keys:${hash(1).slice(0, 16)}`);
    await templates.sweep();
    expect(templates.list().map(({ id }) => id).sort()).toEqual([hash(0), hash(2)].map((each) => `keys:${each.slice(0, 16)}`).sort());
    expect(templates.resolve(template, hash(9), 3).id).toBe(`keys:${hash(9).slice(0, 16)}`);
  });

  it('forgets nobody when the store can’t tell', async () => {
    const templates = new TemplateTenants(() => Promise.reject(new Error('away')));
    templates.resolve(template, hash(1), 1);
    await templates.sweep();
    expect(templates.list()).toHaveLength(1);
  });

  it('takes the template’s limits as they are now', () => {
    const templates = new TemplateTenants(() => Promise.resolve(false));
    templates.resolve(template, hash(1), 10);
    const changed = { ...template, limits: [limit('requests', 99)] };
    expect(templates.resolve(changed, hash(1), 10).limits).toBe(changed.limits);
  });
});
