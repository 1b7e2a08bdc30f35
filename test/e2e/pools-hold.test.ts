import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { at, set } from '../support/envoy-edits.js';
import { startPoolRig, tenantsYaml, type PoolRig, type Sent } from '../support/pool-rig.js';
import type { RigOptions } from '../support/rig.js';

const yaml = (hold: string, slots = 1): string => `${tenantsYaml('acme', 'gold', 'cheap')}
pools:
  - { id: chat, kind: self-hosted, models: ["*"], capacity: { slots: ${slots} }, hold: { ${hold} } }
entitlements:
  - { tenant: gold, pool: chat, class: guaranteed, baseline: { slots: 1 } }
  - { tenant: acme, pool: chat, class: elastic, work: background }
  - { tenant: cheap, pool: chat, class: spot }
`;

const HELD = 'interactiveMs: 20000, backgroundMs: 30000';
const open: PoolRig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.stop();
});

async function start(config: string, options: Partial<RigOptions> = {}): Promise<PoolRig> {
  const rig = await startPoolRig(config, { envoyConfig: 'envoy.yaml', ...options });
  open.push(rig);
  return rig;
}

const lineOf = (pools: PoolRig, requestId: unknown) => pools.rig.processor.log.find((line) => line['msg'] === 'request' && line['requestId'] === requestId);
const bodyOf = (answer: { body: Buffer }) => JSON.parse(answer.body.toString()) as { tokenweir: Record<string, unknown>; error: Record<string, unknown> };

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('a pool without room, %s', (envoyConfig) => {
  it('holds requests and lets them go in the order of their priority, each with its wait told', async () => {
    const pools = await start(yaml(HELD), { envoyConfig });
    const first = pools.send('acme', 'first');
    await pools.until(({ inFlight }) => inFlight === 1);
    const second = pools.send('acme', 'second', { body: { stream: true } });
    await pools.until(({ waiting }) => waiting === 1);
    const gold = pools.send('gold', 'gold', { body: { messages: [{ role: 'user', content: 'word '.repeat(20_000) }] } });
    await pools.until(({ waiting }) => waiting === 2);
    // Longer than the filter's message_timeout (2 s).
    await delay(2_500);
    expect(pools.upstream.came).toEqual(['first']);
    for (const sent of [first, gold, second]) {
      pools.upstream.release();
      const answer = await sent.answer;
      expect(answer.status).toBe(200);
      expect(Number(answer.headers['x-tokenweir-wait-ms'])).toBeGreaterThanOrEqual(sent === first ? 0 : 2_400);
      await pools.until(({ inFlight, waiting }) => inFlight === (sent === second ? 0 : 1) && waiting < 2);
    }
    expect(pools.upstream.came).toEqual(['first', 'gold', 'second']);
    expect((await second.answer).body.toString()).not.toContain('prompt_tokens');
    const events = await pools.rig.settled();
    expect(events).toHaveLength(3);
    expect(events.every((event) => event.pool === 'chat' && event.inputTokens === 10 && event.outputTokens === 5)).toBe(true);
    expect(await pools.snapshot()).toMatchObject({ waiting: 0, inFlight: 0, inUse: { slots: 0 } });
  });

  it('lets a client leave while it is held: out of the queue, nothing upstream, nothing charged (vllm-project/vllm-ascend#10812)', async () => {
    const pools = await start(yaml(HELD), { envoyConfig });
    const first = pools.send('acme', 'first');
    await pools.until(({ inFlight }) => inFlight === 1);
    const leaving = pools.send('acme', 'leaving');
    const left = leaving.answer.then(() => 'answered', () => 'left');
    await pools.until(({ waiting }) => waiting === 1);
    leaving.leave();
    await pools.until(({ waiting }) => waiting === 0);
    expect(await left).toBe('left');
    expect((await pools.rig.processor.app.status()).leases).toBe(1);
    pools.upstream.release();
    expect((await first.answer).status).toBe(200);
    // The next one is admitted, and its client resets before response headers.
    const second = pools.send('acme', 'second');
    await pools.until(({ inFlight }) => inFlight === 1);
    await expect.poll(() => pools.upstream.came).toEqual(['first', 'second']);
    second.leave();
    await pools.until(({ inFlight }) => inFlight === 0);
    const events = await pools.rig.settled();
    expect(events.map(({ outcome }) => outcome)).toEqual(['completed', 'cut']);
    expect((await pools.rig.processor.app.status()).leases).toBe(0);
    expect(pools.upstream.came).toEqual(['first', 'second']);
    const line = pools.rig.processor.log.find(({ reason }) => reason === 'client_left');
    expect(line).toMatchObject({ pool: 'chat', serviceClass: 'elastic', tier: 1, poolWaiting: expect.any(Number) });
    expect(line!['poolWaitedMs']).toBeGreaterThan(0);
  });

  it('refuses with 429 queue_timeout when the time is up, and says what it would have needed', async () => {
    const pools = await start(yaml('interactiveMs: 700, backgroundMs: 700'), { envoyConfig });
    const first = pools.send('acme', 'first');
    await pools.until(({ inFlight }) => inFlight === 1);
    const startMs = performance.now();
    const answer = await pools.send('gold', 'late').answer;
    const tookMs = performance.now() - startMs;
    expect(answer.status).toBe(429);
    expect(tookMs).toBeGreaterThanOrEqual(695);
    expect(bodyOf(answer).tokenweir).toMatchObject({ limit: 'queue_timeout', scope: { kind: 'pool', id: 'chat' }, limitValue: 1, used: 1, needed: 1, retryAfterKind: 'estimate' });
    expect(answer.headers['x-tokenweir-decision']).toBe('refused; reason=queue_timeout');
    expect(Number(answer.headers['x-tokenweir-wait-ms'])).toBeGreaterThanOrEqual(700);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(bodyOf(answer).error['message']).toMatch(/waited/);
    pools.upstream.release();
    await first.answer;
    expect(await pools.rig.settled()).toHaveLength(1);
    expect(pools.upstream.came).toEqual(['first']);
    expect(lineOf(pools, answer.headers['x-tokenweir-request-id'])).toMatchObject({
      decision: 'refused', reason: 'queue_timeout', pool: 'chat', tier: 0, serviceClass: 'guaranteed', entitlement: 'gold', sloFactor: 1, debtTokens: 0,
    });
  });
});

describe('what does not wait', () => {
  it('spot is refused at once; so is what says so itself (x-tokenweir-max-wait-ms: 0); anything but a number there is no word', async () => {
    const pools = await start(yaml(HELD));
    const first = pools.send('acme', 'first');
    await pools.until(({ inFlight }) => inFlight === 1);
    for (const [tenantId, headers] of [['cheap', {}], ['acme', { 'x-tokenweir-max-wait-ms': '0' }]] as const) {
      const answer = await pools.send(tenantId, 'at once', { headers }).answer;
      expect(answer.status).toBe(429);
      expect(bodyOf(answer).tokenweir).toMatchObject({ limit: 'pool_busy', scope: { kind: 'pool', id: 'chat' } });
      expect(answer.headers['x-tokenweir-wait-ms']).toBe('0');
    }
    const short = await pools.send('acme', 'short', { headers: { 'x-tokenweir-max-wait-ms': '300' } }).answer;
    expect(bodyOf(short).tokenweir['limit']).toBe('queue_timeout');
    const waiting = ['-1', '1e9', '0x10', '1.5', ' ', 'NaN', '99999999999999999999'].map((value) => pools.send('acme', value, { headers: { 'x-tokenweir-max-wait-ms': value } }));
    await pools.until((pool) => pool.waiting === waiting.length);
    pools.upstream.openAll();
    for (const { answer } of [first, ...waiting]) expect((await answer).status).toBe(200);
    expect((await pools.rig.settled())).toHaveLength(1 + waiting.length);
  });

  it('one more than the queue holds is refused: queue_full', async () => {
    const pools = await start(yaml(`${HELD}, maxRequests: 2`));
    const sent = [pools.send('acme', 'runs')];
    await pools.until(({ inFlight }) => inFlight === 1);
    sent.push(pools.send('acme', 'a'), pools.send('acme', 'b'));
    await pools.until(({ waiting }) => waiting === 2);
    const answer = await pools.send('acme', 'c').answer;
    expect(answer.status).toBe(429);
    expect(bodyOf(answer).tokenweir).toMatchObject({ limit: 'queue_full', limitValue: 2, used: 2, needed: 1 });
    pools.upstream.openAll();
    for (const each of sent) expect((await each.answer).status).toBe(200);
  });

  it('what never fits is refused for good: 400', async () => {
    const pools = await start(yaml(HELD));
    const answer = await pools.send('acme', 'large', { body: { n: 2 } }).answer;
    expect(answer.status).toBe(400);
    expect(bodyOf(answer).tokenweir).toMatchObject({ limit: 'request_too_large', scope: { kind: 'pool', id: 'chat' }, limitValue: 1, needed: 2 });
    expect(await pools.rig.settled()).toEqual([]);
  });
});

describe('while requests are held', () => {
  it('a reload with more room lets them go at once', async () => {
    const pools = await start(yaml(HELD));
    const sent = [pools.send('acme', 'a')];
    await pools.until(({ inFlight }) => inFlight === 1);
    sent.push(pools.send('acme', 'b'), pools.send('acme', 'c'));
    await pools.until(({ waiting }) => waiting === 2);
    pools.rig.processor.reconfigure(yaml(HELD, 3));
    await pools.until(({ inFlight, waiting }) => inFlight === 3 && waiting === 0);
    pools.upstream.openAll();
    for (const { answer } of sent) expect((await answer).status).toBe(200);
    expect(await pools.snapshot()).toMatchObject({ inFlight: 0 });
  });

  it('Envoy gives up (its own idle timeout): they leave the queue', async () => {
    const pools = await start(yaml(HELD), { edit: set(at.manager('stream_idle_timeout'), '1s') });
    pools.send('acme', 'first');
    await pools.until(({ inFlight }) => inFlight === 1);
    const held = pools.send('acme', 'held');
    await pools.until(({ waiting }) => waiting === 1);
    expect((await held.answer).status).toBe(504);
    await pools.until(({ waiting }) => waiting === 0);
    expect(pools.upstream.came).toEqual(['first']);
  });

  it.each(['envoy.yaml', 'envoy.duplex.yaml'])('the processor stops: 503 with Retry-After for all, and none reaches the upstream (%s)', async (envoyConfig) => {
    const pools = await start(yaml(HELD), { envoyConfig });
    const first = pools.send('acme', 'first');
    await pools.until(({ inFlight }) => inFlight === 1);
    const held = Array.from({ length: 20 }, (_, i) => pools.send('acme', `held ${i}`));
    await pools.until(({ waiting }) => waiting === 20);
    const stopped = pools.rig.processor.stop();
    for (const { answer } of held) {
      const { status, headers, ...rest } = await answer;
      expect(status).toBe(503);
      expect(headers['retry-after']).toBe('1');
      expect(bodyOf(rest).tokenweir).toMatchObject({ reason: 'draining' });
    }
    pools.upstream.release();
    expect((await first.answer).status).toBe(200);
    await stopped;
    expect(pools.upstream.came).toEqual(['first']);
    expect(await pools.snapshot()).toMatchObject({ waiting: 0, inFlight: 0 });
  });

  it('a thousand of them are no trouble: all are served, one after the other', async () => {
    const pools = await start(yaml(`${HELD}, maxRequests: 5000`));
    const first = pools.send('acme', 'first');
    await pools.until(({ inFlight }) => inFlight === 1);
    const held: Sent[] = [];
    // In bursts: clients, Envoy and all else share this machine, and a processor that is not heard within message_timeout is passed by.
    while (held.length < 1_000) {
      for (let i = 0; i < 100; i++) held.push(pools.send('acme', `held ${held.length}`));
      await pools.until(({ waiting }) => waiting === held.length);
    }
    expect(pools.upstream.came).toEqual(['first']);
    pools.upstream.openAll();
    const statuses = await Promise.all([first, ...held].map(async ({ answer }) => (await answer).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await pools.rig.stack.envoy.stats('http.clients.ext_proc.tokenweir.message_timeouts')).toBe(0);
    expect(await pools.rig.settled()).not.toHaveLength(0);
    expect(await pools.snapshot()).toMatchObject({ waiting: 0, inFlight: 0, inUse: { slots: 0, kvBytes: 0 } });
    expect(pools.rig.processor.log.filter(({ msg }) => msg === 'fault')).toEqual([]);
  });
});

describe('in shadow', () => {
  it('nothing waits and nothing is refused: a pool without room is noted', async () => {
    const pools = await start(`enforcement: shadow\n${yaml(HELD)}`);
    pools.send('acme', 'first');
    await pools.until(({ inFlight }) => inFlight === 1);
    pools.send('acme', 'second');
    await expect.poll(() => pools.upstream.came).toEqual(['first', 'second']);
    pools.upstream.openAll();
    await pools.rig.settled();
    await expect.poll(() => pools.rig.processor.log.find(({ decision }) => decision === 'would_refuse')).toMatchObject({ reason: 'pool_busy' });
    expect(await pools.snapshot()).toMatchObject({ waiting: 0, inFlight: 0 });
  });
});
