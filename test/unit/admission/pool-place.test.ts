import { describe, expect, it } from 'vitest';
import { demandOf, placeOf, trueWork, useOf, type Estimates } from '../../../src/admission/pool-place.js';
import { poolRefusal } from '../../../src/admission/pool-refusal.js';
import { UNBOUNDED, type PoolSettings } from '../../../src/domain/pool.js';
import { NO_USAGE } from '../../../src/domain/usage.js';
import { tenant } from '../../support/policies.js';
import { entitlement, poolPolicy, poolSettings } from '../../support/scripted-pools.js';

const tenants = new Map([tenant('corp'), tenant('unit', [], { parentId: 'corp' }), tenant('acme', [], { parentId: 'unit' })].map((each) => [each.id, each]));
const acme = tenants.get('acme')!;

describe('where a request belongs', () => {
  const small = poolPolicy(poolSettings('small'), { matches: (model) => model === 'llama-8b' }, [entitlement('corp'), entitlement('unit', { serviceClass: 'guaranteed' })]);
  const rest = poolPolicy(poolSettings('rest'), { matches: (model) => model.startsWith('llama') });
  const policy = { pools: [small, rest], tenants };

  it('the first pool that serves the model, none for others', () => {
    expect(placeOf(policy, acme, 'llama-8b')?.pool).toBe(small);
    expect(placeOf(policy, acme, 'llama-70b')?.pool).toBe(rest);
    expect(placeOf(policy, acme, 'gpt')).toBeNull();
  });

  it('with the nearest entitlement of the tenant and those above it, else one of its own that nobody configured', () => {
    expect(placeOf(policy, acme, 'llama-8b')?.entitlement).toMatchObject({ id: 'unit', serviceClass: 'guaranteed' });
    expect(placeOf(policy, tenants.get('corp')!, 'llama-8b')?.entitlement.id).toBe('corp');
    expect(placeOf(policy, acme, 'llama-70b')?.entitlement.id).toBe('acme');
  });

  it('tenants made from a template share its one entitlement, before that of its parent; without one each has its own', () => {
    const made = (key: string) => tenant(`guest:${key}`, [], { parentId: 'corp', label: 'guest' });
    const guest = tenant('guest', [], { parentId: 'corp' });
    const withGuest = { tenants: new Map([...tenants, ['guest', guest]]), pools: [poolPolicy(poolSettings('chat'), {}, [entitlement('corp'), entitlement('guest')])] };
    const places = ['0123', '4567'].map((key) => placeOf(withGuest, made(key), 'm')?.entitlement);
    expect(places.map((one) => one?.id)).toEqual(['guest', 'guest']);
    expect(places[0]).toBe(placeOf(withGuest, guest, 'm')?.entitlement);
    expect(placeOf({ ...policy, tenants: withGuest.tenants }, made('0123'), 'llama-8b')?.entitlement.id).toBe('corp');
    expect(placeOf({ ...policy, tenants: withGuest.tenants }, made('0123'), 'llama-70b')?.entitlement.id).toBe('guest:0123');
  });
});

const estimates = ({ tokens = 1_000, lowerBoundTokens = 800, cachedShare = 0, reservedTokens = 500, expectedTokens = 100, explicitCapTokens = null as number | null, choices = 1 } = {}): Estimates =>
  ({ facts: { model: 'm', choices }, prompt: { tokens, lowerBoundTokens, cachedShare }, output: { reservedTokens, expectedTokens, explicitCapTokens } }) as unknown as Estimates;

describe('what a request takes', () => {
  const pool = poolPolicy(poolSettings('chat', { capacity: { ...UNBOUNDED, kvBytes: 1_200_000 } }), { prefillWeight: 0.25, kvBytesPerToken: () => 1_000 });

  it('work as expected, with the prompt that is not cached by its weight; memory for all that could come', () => {
    const roomy = poolPolicy(poolSettings('chat'), { prefillWeight: 0.25, kvBytesPerToken: () => 1_000 });
    expect(demandOf(roomy, estimates({ cachedShare: 0.6, choices: 3 }))).toEqual({ work: 200, kvBytes: 1_500_000, slots: 3 });
    expect(demandOf(roomy, estimates({ tokens: 0, expectedTokens: 0, reservedTokens: 0 }))).toEqual({ work: 1, kvBytes: 0, slots: 1 });
  });

  it('memory beyond the pool only where the request itself says so', () => {
    expect(demandOf(pool, estimates()).kvBytes).toBe(1_200_000);
    expect(demandOf(pool, estimates({ explicitCapTokens: 500 })).kvBytes).toBe(1_500_000);
    expect(demandOf(pool, estimates({ explicitCapTokens: 1e300, reservedTokens: 1e300 })).kvBytes).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('while it runs: what it put out until now, and at the end the truth', () => {
    expect(useOf(pool, estimates(), 0)).toEqual({ work: 250, kvBytes: 1_000_000 });
    expect(useOf(pool, estimates({ tokens: 0 }), 0).work).toBe(1);
    expect(useOf(pool, estimates(), 600)).toEqual({ work: 850, kvBytes: 1_600_000 });
    expect(trueWork(pool, { ...NO_USAGE, inputTokens: 1_000, cachedInputTokens: 400, outputTokens: 70 })).toBe(220);
    expect(trueWork(pool, NO_USAGE)).toBe(0);
  });
});

describe('what the client of a refused request is told', () => {
  const demand = { work: 40, kvBytes: 9_000, slots: 2 };
  const refused = { reason: 'queue_timeout', waitedMs: 10_000, neededWaitMs: 12_340, waiting: 7 } as const;
  const told = (settings: Partial<PoolSettings>, more: object = {}) => poolRefusal(poolSettings('chat', settings), demand, { ...refused, ...more }, 'id');

  it('how long it waited, what it would have needed, and by which bound', () => {
    expect(told({ capacity: { ...UNBOUNDED, slots: 8, tokensPerSecond: 100 } })).toEqual({
      kind: 'limited', requestId: 'id', limit: 'queue_timeout', scope: { kind: 'pool', id: 'chat' }, limitValue: 8, used: 8, needed: 2, retryAfterMs: 12_340, exact: false,
      message: 'pool chat had no room within the 10 s that this request waited: it would have needed about 22.4 s; 2 of 8 slots needed; retry in about 12.4 s',
    });
    expect(told({ capacity: { ...UNBOUNDED, tokensPerSecond: 100 } })).toMatchObject({ limitValue: 100, used: 100, needed: 40 });
    expect(told({ capacity: { ...UNBOUNDED, kvBytes: 10_000 } })).toMatchObject({ limitValue: 10_000, needed: 9_000 });
    expect(told({ capacity: { ...UNBOUNDED, requestsPerSecond: 3 } })).toMatchObject({ limitValue: 3, needed: 1 });
  });

  it('of a wait that ended a little late, what it was meant to be', () => {
    expect(told({}, { waitedMs: 3_006, neededWaitMs: 1_000 }).message).toContain('within the 3 s that this request waited: it would have needed about 4.1 s');
  });

  it('of a full queue, its places', () => {
    expect(told({ maxWaiting: 7 }, { reason: 'queue_full', waitedMs: 0 })).toMatchObject({ limit: 'queue_full', limitValue: 7, used: 7, needed: 1 });
  });

  it('of one that does not wait, that there is no room now', () => {
    expect(told({}, { reason: 'pool_busy', waitedMs: 0 }).message).toContain('does not wait');
    expect(told({}, { reason: 'pool_busy', waitedMs: 900 }).message).toContain('waited 0.9 s');
  });

  it('of what never fits, 400 and by which bound', () => {
    const tooSmall = { reason: 'pool_too_small', waitedMs: 0, neededWaitMs: 0 };
    expect(told({ capacity: { ...UNBOUNDED, slots: 1, kvBytes: 100 } }, tooSmall)).toMatchObject({ kind: 'too_large', limitValue: 1, needed: 2, used: 0 });
    expect(told({ capacity: { ...UNBOUNDED, slots: 2, kvBytes: 100 } }, tooSmall)).toMatchObject({ kind: 'too_large', limitValue: 100, needed: 9_000 });
    expect(told({ capacity: { ...UNBOUNDED, slots: 1 } }, tooSmall).message).toMatch(/: ask for fewer answers\.$/);
  });
});
