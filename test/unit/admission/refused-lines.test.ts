import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../src/admission/exchange.js';
import type { PoolPolicy } from '../../../src/domain/policy.js';
import { requestFields } from '../../../src/telemetry/request-fields.js';
import { harness, limit, policyOf, settled, tenant, type Harness } from '../../support/harness.js';
import { poolEntitlement, poolPolicy } from '../../support/pool-policies.js';

const SAID = { 'x-session-id': 's1', 'idempotency-key': 'k1', 'x-stainless-retry-count': '2', 'x-tokenweir-work': 'background' };
const LABELS = { session: 's1', mergeKey: 'k1', retry: 2, work: 'background' };
const FACTORS = ['entitlement', 'serviceClass', 'tier', 'weight', 'sloFactor', 'burstFactor', 'debtFactor', 'debtTokens', 'servedTokensPerSecond', 'virtualTime', 'poolWaiting', 'poolWaitedMs'];
const SLOTS = { slots: 1, tokensPerSecond: 100 };

const body = (more: Record<string, unknown> = {}): Buffer => Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'a question' }], max_tokens: 50, ...more }));

function begun(h: Harness, key: string, more: Record<string, string> = {}): Exchange {
  const headers = new Map(Object.entries({ authorization: `Bearer ${key}`, ...SAID, ...more }));
  return new Exchange(h.admission, { method: 'POST', path: '/v1/chat/completions', endOfStream: false, stage: 'front', externalId: null, metadata: () => undefined, headers });
}

/** Asks, and looks at nothing but the books. */
async function ask(h: Harness, { key = 'key-a', headers = {}, bytes = body() }: { key?: string; headers?: Record<string, string>; bytes?: Buffer } = {}): Promise<Exchange> {
  const exchange = begun(h, key, headers);
  if (exchange.begin().kind === 'read_body') void exchange.decide(bytes);
  await settled();
  return exchange;
}

/** As they are written. */
const lines = (h: Harness) => h.witness.records.map((record) => JSON.parse(JSON.stringify(requestFields(record))) as Record<string, unknown>);
const only = (h: Harness): Record<string, unknown> => {
  expect(h.witness.records).toHaveLength(1);
  return lines(h)[0]!;
};

function pools(settings: Partial<PoolPolicy['settings']> = {}, ...entitlements: Parameters<typeof poolPolicy>[2]): Harness {
  const pool = poolPolicy('chat', SLOTS, entitlements);
  return harness(policyOf([tenant('a'), tenant('b')], { pools: [{ ...pool, settings: { ...pool.settings, ...settings } }] }));
}

describe('the line of a refused request', () => {
  it('has labels, stream and estimate where a limit refused', async () => {
    const h = harness(policyOf([tenant('a', [limit('tokens', 30, { capacity: 200 })])]));
    await ask(h, { bytes: body({ max_tokens: 150 }) });
    const refused = await ask(h, { bytes: body({ max_tokens: 150, stream: true }) });
    const [record] = h.witness.records;
    expect(lines(h)[0]).toMatchObject({ decision: 'refused', limit: 'tokens_per_minute', model: 'm', stream: true, reservedOutputTokens: 0, leaseId: null, ...LABELS });
    expect(record!.estimatedInputTokens).toBeGreaterThan(0);
    expect(record!.estimateErrorShare).toBeGreaterThan(0);
    expect(refused.facts()).toMatchObject({ session: 's1', work: 'background', model: 'm', estimated_input_tokens: record!.estimatedInputTokens });
  });

  it('has what the body told where the model is not allowed, and no estimate, as none was made', async () => {
    const h = harness(policyOf([tenant('a', [], { allowsModel: () => false })]));
    await ask(h, { headers: { 'x-tokenweir-work': '' }, bytes: body({ service_tier: 'flex' }) });
    expect(only(h)).toMatchObject({ reason: 'model_not_allowed', model: 'm', ...LABELS, estimatedInputTokens: 0 });
  });

  it('has what the headers told where the body could not be read, or was not', async () => {
    const unread = harness(policyOf([tenant('a')]));
    await ask(unread, { bytes: Buffer.from('{') });
    expect(only(unread)).toMatchObject({ reason: 'bad_request', model: null, ...LABELS });

    const large = harness(policyOf([tenant('a')]));
    const exchange = begun(large, 'key-a', { 'x-tokenweir-work': 'what?' });
    exchange.begin();
    exchange.rejectBody({ kind: 'body_too_large', field: null, message: '' });
    expect(only(large)).toMatchObject({ ...LABELS, work: null });
    expect(exchange.facts()).not.toHaveProperty('work');

    const stranger = harness(policyOf([tenant('a')]));
    await ask(stranger, { key: 'nobody’s' });
    expect(only(stranger)).toMatchObject({ reason: 'unauthenticated', tenant: null, ...LABELS });
  });

  it('has them in shadow too, and not where it passed unread', async () => {
    const h = harness(policyOf([tenant('a')], { enforcement: 'shadow' }));
    (await ask(h, { bytes: Buffer.from('{') })).close();
    expect(only(h)).toMatchObject({ decision: 'would_refuse', reason: 'bad_request', ...LABELS });

    const off = harness(policyOf([tenant('a')], { enforcement: 'off' }));
    (await ask(off)).close();
    expect(only(off)).not.toHaveProperty('session');
  });

  it('has what is known where the store failed and it passed', async () => {
    const h = harness(policyOf([tenant('a')]));
    h.store.reserve = () => Promise.reject(new Error('away'));
    (await ask(h)).close();
    expect(only(h)).toMatchObject({ decision: 'passed', reason: 'store_failed', model: 'm', ...LABELS });
  });
});

describe('the line of a request that its pool held or refused has the factors that decided', () => {
  /** Checks the latest line. */
  function explained(h: Harness, told: Record<string, unknown>): void {
    const line = lines(h).at(-1)!;
    expect(line).toMatchObject({ pool: 'chat', ...LABELS, model: 'm', ...told });
    for (const field of FACTORS) expect(line, field).toHaveProperty(field);
    expect(line['estimatedInputTokens']).toBeGreaterThan(0);
  }

  it('pool_busy: spot, and who does not wait', async () => {
    const h = pools({}, poolEntitlement('a', 'elastic'), poolEntitlement('b', 'spot'));
    await ask(h);
    await ask(h, { key: 'key-b' });
    explained(h, { decision: 'refused', reason: 'pool_busy', serviceClass: 'spot', tier: 'spot', poolWaitedMs: 0 });
    expect(lines(h).at(-1)!['retryAfterMs']).toBeGreaterThan(0);
    await ask(h, { headers: { 'x-tokenweir-max-wait-ms': '0' } });
    explained(h, { reason: 'pool_busy', entitlement: 'a', serviceClass: 'elastic', tier: 1, weight: 10 });
  });

  it('queue_full: of one that comes, and of one that gives way after it waited', async () => {
    const h = pools({ maxWaiting: 1 }, poolEntitlement('a', 'elastic'), poolEntitlement('b', 'guaranteed', { slots: 1 }));
    await ask(h);
    await ask(h);
    await ask(h);
    explained(h, { reason: 'queue_full', entitlement: 'a', poolWaiting: 1, limit: 'queue_full' });
    const crowded = pools({ maxWaiting: 2 });
    await ask(crowded);
    await ask(crowded);
    await ask(crowded);
    crowded.clock.advance(500);
    await ask(crowded, { key: 'key-b' });
    await settled();
    explained(crowded, { reason: 'queue_full', entitlement: 'a', poolWaitedMs: 500 });
    expect(lines(crowded).at(-1)!['retryAfterMs']).toBeGreaterThan(0);
  });

  it('queue_timeout, with the wait that it would have needed', async () => {
    const h = pools();
    await ask(h);
    await ask(h, { headers: { 'x-tokenweir-max-wait-ms': '1000' } });
    h.clock.advance(1_500);
    await settled();
    explained(h, { reason: 'queue_timeout', entitlement: 'a', tier: 1, limit: 'queue_timeout' });
    expect(lines(h).at(-1)!['poolWaitedMs']).toBeGreaterThanOrEqual(1_000);
    expect(lines(h).at(-1)!['retryAfterMs']).toBeGreaterThan(0);
  });

  it('draining, a client that leaves the queue, and one that never fits', async () => {
    const h = pools();
    await ask(h);
    await ask(h);
    h.clock.advance(700);
    h.admission.holds.drain();
    await settled();
    explained(h, { reason: 'draining', poolWaitedMs: 700 });

    const left = pools();
    await ask(left);
    const leaving = await ask(left);
    left.clock.advance(300);
    leaving.close();
    await settled();
    explained(left, { decision: 'passed', reason: 'client_left', poolWaitedMs: 300 });

    const small = pools();
    await ask(small, { bytes: body({ n: 2 }) });
    explained(small, { reason: 'request_too_large', limit: 'request_too_large', limitValue: 1, needed: 2, poolWaitedMs: 0 });
  });

  it('granted after a wait, and ended before its answer began', async () => {
    const h = pools({}, poolEntitlement('a', 'spot'));
    const running = await ask(h);
    const waiting = await ask(h, { key: 'key-b', headers: { 'x-tokenweir-max-wait-ms': '5000' } });
    h.clock.advance(400);
    running.endNow('reclaimed');
    explained(h, { decision: 'admitted', endReason: 'reclaimed', poolWaitedMs: 0 });
    await settled();
    waiting.close();
    expect(h.witness.records).toHaveLength(2);
    explained(h, { decision: 'admitted', outcome: 'cut', poolWaitedMs: 400, entitlement: 'b' });
  });

  it('in shadow: what it would have refused', async () => {
    const h = pools();
    h.policy = { ...h.policy, enforcement: 'shadow' };
    await ask(h);
    (await ask(h)).close();
    explained(h, { decision: 'would_refuse', reason: 'pool_busy', limit: 'pool_busy' });
  });
});
