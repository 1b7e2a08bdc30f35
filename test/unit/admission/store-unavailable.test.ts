import { describe, expect, it } from 'vitest';
import { Exchange, type BodyVerdict } from '../../../src/admission/exchange.js';
import type { RequestHead } from '../../../src/admission/head.js';
import { bucketSpecsOf } from '../../../src/quota/charges.js';
import { createMemoryStore } from '../../../src/stores/memory.js';
import { harness, limit, policyOf, settled, tenant, type Harness } from '../../support/harness.js';
import { poolPolicy, poolSettings, ScriptedPools } from '../../support/scripted-pools.js';

const BODY = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }], max_tokens: 50 }));
const HEAD: RequestHead = {
  method: 'POST', path: '/v1/chat/completions', endOfStream: false, stage: 'front', externalId: null, metadata: () => undefined,
  headers: new Map([['authorization', 'Bearer key-a']]),
};

/** A store that is away, where what it can't count is refused. */
function away(enforcement: 'enforce' | 'shadow'): Harness {
  const store = createMemoryStore();
  store.reserve = async () => ({ kind: 'unavailable', levels: [] });
  return harness(policyOf([tenant('a', [limit('requests', 20)])], { enforcement }), store);
}

async function decide(h: Harness): Promise<BodyVerdict> {
  const exchange = new Exchange(h.admission, HEAD);
  expect(exchange.begin().kind).toBe('read_body');
  return exchange.decide(BODY);
}

describe('a store that is away, with onStoreFailure: closed', () => {
  it('is a 503 with Retry-After, counted as store_unavailable', async () => {
    const h = away('enforce');
    const verdict = await decide(h);
    if (verdict.kind !== 'answer') throw new Error('it passed');
    expect(verdict.answer.status).toBe(503);
    expect(new Map(verdict.answer.headers).get('retry-after')).toBe('1');
    expect(h.witness.records.at(-1)).toMatchObject({ decision: 'refused', reason: 'store_unavailable', leaseId: null });
    expect(h.witness.leases).toBe(0);
  });

  it('lets pass in shadow, counted as what the store did not decide', async () => {
    const h = away('shadow');
    expect((await decide(h)).kind).toBe('forward');
    expect(h.witness.passed).toEqual(['store_failed']);
  });
});

/** A pool that nobody decides about; the limits are there. */
function awayPool(enforcement: 'enforce' | 'shadow'): Harness {
  const pools = new ScriptedPools();
  pools.answer = () => ({ kind: 'unavailable' });
  return harness(policyOf([tenant('a', [limit('requests', 20)])], { enforcement, pools: [poolPolicy(poolSettings('chat'))] }), createMemoryStore(), undefined, pools);
}

const remaining = async (h: Harness): Promise<number> => {
  const { levels } = await h.store.snapshot(bucketSpecsOf(h.policy.tenants.get('a')!), h.clock.nowMs());
  return levels[0]!.remaining;
};

describe('a pool that no processor keeps, with onStoreFailure: closed', () => {
  it('is the same 503, and gives back what the limits took', async () => {
    const h = awayPool('enforce');
    const verdict = await decide(h);
    if (verdict.kind !== 'answer') throw new Error('it passed');
    expect(verdict.answer.status).toBe(503);
    expect(new Map(verdict.answer.headers).get('retry-after')).toBe('1');
    expect(JSON.parse(String(verdict.answer.body))).toMatchObject({ error: { code: 'service_unavailable' }, tokenweir: { reason: 'store_unavailable' } });
    expect(h.witness.records.at(-1)).toMatchObject({ decision: 'refused', reason: 'store_unavailable', leaseId: null });
    await settled();
    expect(h.witness.leases).toBe(0);
    expect(await remaining(h)).toBe(20);
  });

  it('lets pass in shadow, counted as what the store did not decide', async () => {
    const h = awayPool('shadow');
    expect((await decide(h)).kind).toBe('forward');
    expect(h.witness.passed).toEqual(['store_failed']);
    expect(await remaining(h)).toBe(20);
  });
});
