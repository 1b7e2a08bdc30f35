import { expect, it } from 'vitest';
import { Exchange } from '../../../src/admission/exchange.js';
import { harness, policyOf, settled, tenant, type Harness } from '../../support/harness.js';
import { poolEntitlement, poolPolicy } from '../../support/pool-policies.js';

const BODY = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'a question' }], max_tokens: 50 }));
const KEYS = 200;

/** Two tenants and strangers, who are made from the template `guest`, at a pool of four slots. */
function world(guest: Parameters<typeof poolEntitlement>[1], baseline: Parameters<typeof poolEntitlement>[2] = {}): Harness {
  const pool = poolPolicy('chat', { slots: 4, tokensPerSecond: 100_000 }, [poolEntitlement('a', 'elastic'), poolEntitlement('guest', guest, baseline)]);
  const policy = policyOf([tenant('a'), tenant('guest')], { pools: [pool], identity: { unknownKeyTemplateId: 'guest', maxTemplateTenants: 100 } });
  const keys = new Map([...policy.identity.keys].filter(([, id]) => id !== 'guest'));
  return harness({ ...policy, identity: { ...policy.identity, keys } });
}

async function ask(h: Harness, key: string): Promise<Exchange> {
  const headers = new Map([['authorization', `Bearer ${key}`]]);
  const exchange = new Exchange(h.admission, { method: 'POST', path: '/v1/chat/completions', endOfStream: false, stage: 'front', externalId: null, metadata: () => undefined, headers });
  expect(exchange.begin().kind).toBe('read_body');
  void exchange.decide(BODY);
  await settled();
  return exchange;
}

async function strangers(h: Harness): Promise<Exchange[]> {
  const all: Exchange[] = [];
  for (let i = 0; i < KEYS; i++) all.push(await ask(h, `invented-${i}`));
  return all;
}

const snapshot = async (h: Harness) => (await h.pools.snapshot('chat', h.clock.nowMs()))!;

it('however many keys are invented, the pool knows one entitlement of them all, also beyond the tenants that are told apart', async () => {
  const h = world('elastic');
  await strangers(h);
  const { entitlements } = await snapshot(h);
  expect(h.admission.templates.list()).toHaveLength(100);
  expect(entitlements.map(({ id }) => id)).toEqual(['guest']);
  expect(entitlements[0]).toMatchObject({ inFlight: 4, waiting: KEYS - 4 });
});

it('one tenant beside two hundred strangers is next, and gets half of what becomes free', async () => {
  const h = world('elastic');
  const running = await strangers(h);
  for (let i = 0; i < 8; i++) await ask(h, 'key-a');
  for (let i = 0; i < 4; i++) {
    running[i]!.close();
    await settled();
  }
  const inFlight = (await snapshot(h)).entitlements.map(({ id, inFlight: count }) => `${id} ${count}`);
  expect(inFlight).toEqual(['a 2', 'guest 2']);
});

it('their baseline is one baseline: beyond it they share as one', async () => {
  const h = world('guaranteed', { slots: 2 });
  const first: Exchange[] = [];
  for (let i = 0; i < 12; i++) first.push(await ask(h, 'key-a'));
  await strangers(h);
  const inFlight = async () => (await snapshot(h)).entitlements.map(({ id, inFlight: count }) => `${id} ${count}`);
  expect(await inFlight()).toEqual(['a 4', 'guest 0']);
  for (const exchange of first.slice(0, 2)) exchange.close();
  await settled();
  expect(await inFlight()).toEqual(['a 2', 'guest 2']);
  for (const exchange of first.slice(2, 4)) exchange.close();
  await settled();
  expect(await inFlight()).toEqual(['a 1', 'guest 3']);
});
