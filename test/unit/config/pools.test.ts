import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../../src/config/load.js';
import type { PoolEntitlement, PoolPolicy } from '../../../src/domain/policy.js';
import { UNBOUNDED } from '../../../src/domain/pool.js';

const GiB = 1024 ** 3;
const TENANTS = 'tenants: [{ id: a }, { id: b }, { id: c }, { id: d }]';

function pools(text: string): readonly PoolPolicy[] {
  const result = parseConfig(`${TENANTS}\n${text}`, 'c.yaml');
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config.policy.pools;
}

function pool(text: string): PoolPolicy {
  return pools(text)[0]!;
}

/** One pool of 64 slots, with these entitlements. */
function chat(...entitlements: readonly string[]): PoolPolicy {
  const capacity = '{ tokensPerSecond: 2400, kvBytes: 40GiB, slots: 64 }';
  const lines = entitlements.map((entitlement) => `  - { pool: chat, ${entitlement} }\n`).join('');
  return pool(`pools: [{ id: chat, kind: self-hosted, models: ["llama-*"], capacity: ${capacity}, kvBytesPerToken: 131072 }]\nentitlements:${lines === '' ? ' []' : `\n${lines}`}`);
}

function entitlementOf(policy: PoolPolicy, tenantId: string): PoolEntitlement | undefined {
  return policy.entitlements.get(tenantId);
}

describe('pools', () => {
  test('a pool that says nearly nothing: nothing is bounded, all tenants share alike', () => {
    const { settings, kind, prefillWeight, kvBytesPerToken, holdMs, entitlements, implicit } = pool('pools: [{ id: p, kind: self-hosted, models: ["*"] }]');
    const none = { tokensPerSecond: 0, kvBytes: 0, slots: 0 };
    expect(settings).toEqual({
      id: 'p', capacity: UNBOUNDED, burstSeconds: 4, tier0Baselines: none, elasticTokensPerSecond: 0, lentToNone: none, lentToSpot: none,
      maxWaiting: 1000, maxWaitingBytes: 256 * 1024 * 1024, reclaimMs: 1000, pressure: 'normal',
    });
    expect([kind, prefillWeight, kvBytesPerToken('m'), holdMs, entitlements.size]).toEqual(['self-hosted', 0.25, 0, { interactive: 10_000, background: 60_000 }, 0]);
    expect(implicit('x')).toEqual({ id: 'x', serviceClass: 'elastic', baseline: UNBOUNDED, classWeight: 10, sloMs: 2000, lend: 'all', preemptible: false, defaultWork: 'interactive' });
  });

  test('everything that can be told is taken', () => {
    const { settings, prefillWeight, holdMs, implicit } = pool(
      'pools: [{ id: p, kind: self-hosted, models: ["*"], capacity: { tokensPerSecond: 9, kvBytes: 1.5TiB, slots: 3 }, kvBytesPerToken: 5, burstSeconds: 7, prefillWeight: 0.1, ' +
        'classWeights: { elastic: 3 }, hold: { interactiveMs: 1, backgroundMs: 2, maxRequests: 3, maxBytes: 4KiB }, reclaimMs: 0 }]',
    );
    expect(settings).toMatchObject({ capacity: { tokensPerSecond: 9, requestsPerSecond: null, kvBytes: 1536 * GiB, slots: 3 }, burstSeconds: 7, maxWaiting: 3, maxWaitingBytes: 4096, reclaimMs: 0 });
    expect([prefillWeight, holdMs, implicit('x').classWeight]).toEqual([0.1, { interactive: 1, background: 2 }, 3]);
  });

  test('a provider’s limits a minute are a capacity a second, and its prompts weigh as much as its answers', () => {
    const { settings, prefillWeight } = pool('pools: [{ id: p, kind: provider, provider: openai, models: ["gpt-*"], limits: { requestsPerMinute: 600, tokensPerMinute: 90 } }]');
    expect(settings.capacity).toEqual({ tokensPerSecond: 1.5, requestsPerSecond: 10, kvBytes: null, slots: null });
    expect(prefillWeight).toBe(1);
  });

  test('pools keep the order of the file: the first that matches a model has it', () => {
    const all = pools('pools: [{ id: small, kind: self-hosted, models: ["llama-3-8b", "x?"] }, { id: rest, kind: self-hosted, models: ["*"] }]');
    const poolOf = (model: string): string | undefined => all.find(({ matches }) => matches(model))?.settings.id;
    expect(['llama-3-8b', 'llama-3-70b', 'x1', 'x12'].map(poolOf)).toEqual(['small', 'rest', 'small', 'rest']);
  });

  test('KV bytes a token by model: the first entry that matches; the largest for a model that none matches', () => {
    const { kvBytesPerToken } = pool('pools: [{ id: p, kind: self-hosted, models: ["*"], kvBytesPerToken: [{ models: ["a*"], bytes: 5 }, { models: ["ab", "b"], bytes: 7 }] }]');
    expect(['ab', 'b', 'c'].map(kvBytesPerToken)).toEqual([5, 7, 7]);
  });
});

describe('entitlements', () => {
  test('what is not told: no baseline in that dimension, SLO 2 s, interactive, lent to all, only spot may be ended', () => {
    const policy = chat('tenant: a, class: guaranteed, baseline: { tokensPerSecond: 800 }', 'tenant: b, class: spot');
    expect(entitlementOf(policy, 'a')).toEqual({
      id: 'a', serviceClass: 'guaranteed', baseline: { ...UNBOUNDED, tokensPerSecond: 800 }, classWeight: 10, sloMs: 2000, lend: 'all', preemptible: false, defaultWork: 'interactive',
    });
    expect(entitlementOf(policy, 'b')).toMatchObject({ baseline: UNBOUNDED, preemptible: true });
  });

  test('what is told is taken', () => {
    const policy = chat('tenant: a, class: elastic, baseline: { kvBytes: 10GiB, tokensPerSecond: 5 }, sloMs: 30000, work: background, lend: spot, preemptible: true', 'tenant: b, class: spot, preemptible: false');
    expect(entitlementOf(policy, 'a')).toMatchObject({ baseline: { tokensPerSecond: 5, kvBytes: 10 * GiB }, sloMs: 30_000, defaultWork: 'background', lend: 'spot', preemptible: true });
    expect(entitlementOf(policy, 'b')?.preemptible).toBe(false);
  });

  test('a baseline in slots alone has that share of the pool’s tokens, in whole ones; below one none', () => {
    const policy = chat('tenant: a, class: guaranteed, baseline: { slots: 16 }', 'tenant: b, class: elastic, baseline: { slots: 7 }', 'tenant: c, class: elastic, baseline: { slots: 16, tokensPerSecond: 5 }');
    expect(['a', 'b', 'c'].map((id) => entitlementOf(policy, id)?.baseline.tokensPerSecond)).toEqual([600, 262, 5]);
    const slow = pool('pools: [{ id: p, kind: self-hosted, models: ["*"], capacity: { tokensPerSecond: 10, slots: 64 } }]\nentitlements: [{ tenant: a, pool: p, class: elastic, baseline: { slots: 1 } }]');
    expect(entitlementOf(slow, 'a')?.baseline).toEqual({ ...UNBOUNDED, slots: 1 });
    const untold = pool('pools: [{ id: p, kind: self-hosted, models: ["*"], capacity: { slots: 64 } }]\nentitlements: [{ tenant: a, pool: p, class: elastic, baseline: { slots: 1 } }]');
    expect(entitlementOf(untold, 'a')?.baseline.tokensPerSecond).toBeNull();
  });

  test('in a provider pool baselines are a minute’s too, and requests alone have their share of its tokens', () => {
    const policy = pool(
      'pools: [{ id: p, kind: provider, models: ["*"], limits: { requestsPerMinute: 600, tokensPerMinute: 60000 } }]\n' +
        'entitlements: [{ tenant: a, pool: p, class: guaranteed, baseline: { requestsPerMinute: 60 } }, { tenant: b, pool: p, class: guaranteed, baseline: { tokensPerMinute: 90 } }]',
    );
    expect(entitlementOf(policy, 'a')?.baseline).toEqual({ ...UNBOUNDED, requestsPerSecond: 1, tokensPerSecond: 100 });
    expect(entitlementOf(policy, 'b')?.baseline).toEqual({ ...UNBOUNDED, tokensPerSecond: 1.5 });
  });

  test('sums: baselines of tier 0, of elastic, and what is not lent to all', () => {
    const { settings } = chat(
      'tenant: a, class: dedicated, baseline: { tokensPerSecond: 100, kvBytes: 1GiB, slots: 2 }, lend: none',
      'tenant: b, class: guaranteed, baseline: { tokensPerSecond: 200, slots: 4 }, lend: spot',
      'tenant: c, class: elastic, baseline: { tokensPerSecond: 400, slots: 8 }, lend: none',
      'tenant: d, class: spot',
    );
    expect(settings.tier0Baselines).toEqual({ tokensPerSecond: 300, kvBytes: GiB, slots: 6 });
    expect(settings.elasticTokensPerSecond).toBe(400);
    expect(settings.lentToNone).toEqual({ tokensPerSecond: 500, kvBytes: GiB, slots: 10 });
    expect(settings.lentToSpot).toEqual({ tokensPerSecond: 200, kvBytes: 0, slots: 4 });
  });

  test('an entitlement in another pool counts there alone', () => {
    const [p, q] = pools('pools: [{ id: p, kind: self-hosted, models: ["x"], capacity: { slots: 4 } }, { id: q, kind: self-hosted, models: ["y"] }]\nentitlements: [{ tenant: a, pool: p, class: guaranteed, baseline: { slots: 4 } }]');
    expect([p?.settings.tier0Baselines.slots, q?.settings.tier0Baselines.slots, q?.entitlements.size, q?.implicit('a').serviceClass]).toEqual([4, 0, 0, 'elastic']);
  });
});

describe('BerriAI/litellm#14832: who has no entitlement has the lowest class that is named in the pool, without a baseline', () => {
  const guaranteed = 'class: guaranteed, baseline: { slots: 1 }';
  test.each([
    ['none', [], 'elastic', false],
    ['all of them', [`tenant: a, ${guaranteed}`, 'tenant: b, class: spot', 'tenant: c, class: elastic'], 'spot', true],
    ['guaranteed and elastic', [`tenant: a, ${guaranteed}`, 'tenant: b, class: elastic'], 'elastic', false],
    ['guaranteed and dedicated', ['tenant: b, class: dedicated, baseline: { slots: 1 }', `tenant: a, ${guaranteed}`], 'guaranteed', false],
    ['dedicated', ['tenant: b, class: dedicated, baseline: { slots: 1 }'], 'dedicated', false],
  ])('of %s', (_, entitlements, serviceClass, preemptible) => {
    expect(chat(...entitlements).implicit('x')).toMatchObject({ id: 'x', serviceClass, baseline: UNBOUNDED, preemptible });
  });
});
