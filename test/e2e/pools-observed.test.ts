import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StatusDocument } from '../../src/admin/status.js';
import { startPoolRig, tenantsYaml, type PoolRig } from '../support/pool-rig.js';

const YAML = `${tenantsYaml('acme', 'gold', 'cheap')}
pools:
  - { id: chat, kind: self-hosted, models: ["*"], capacity: { slots: 2, tokensPerSecond: 1000 }, hold: { interactiveMs: 20000, maxRequests: 50 } }
entitlements:
  - { tenant: gold, pool: chat, class: guaranteed, baseline: { slots: 1, tokensPerSecond: 200 }, sloMs: 500 }
  - { tenant: acme, pool: chat, class: elastic, baseline: { tokensPerSecond: 400 } }
  - { tenant: cheap, pool: chat, class: spot }
`;

let pools: PoolRig;
beforeAll(async () => {
  pools = await startPoolRig(YAML, { envoyConfig: 'envoy.yaml' });
});
afterAll(async () => {
  await pools.stop();
});

const status = async (): Promise<StatusDocument> => (await (await fetch(`${pools.rig.processor.adminUrl}/status`)).json()) as StatusDocument;
const lines = async (prefix: string): Promise<string[]> => (await pools.rig.metrics()).split('\n').filter((line) => line.startsWith(prefix));
const logOf = (match: (line: Record<string, unknown>) => boolean) => pools.rig.processor.log.find((line) => line['msg'] === 'request' && match(line));

describe('a pool through /status, /metrics and the log (point 7)', () => {
  it('is shown before anybody asked', async () => {
    expect(await status()).toMatchObject({
      waiting: 0,
      pools: {
        chat: {
          waiting: 0, pressure: 'normal', capacity: { slots: 2, tokensPerSecond: 1_000 }, stale: false,
          entitlements: { gold: { class: 'guaranteed', inFlight: 0, debt: 0, priority: 200 }, acme: { class: 'elastic', priority: 100 }, cheap: { class: 'spot', priority: 0 } },
        },
      },
    });
    expect(await lines('tokenweir_waiting{')).toEqual(['tokenweir_waiting{pool="chat"} 0']);
    expect(await lines('tokenweir_waiting_limit')).toEqual(['tokenweir_waiting_limit{pool="chat"} 50']);
  });

  it('shows what runs, what waits and what that needs, while it does', async () => {
    const running = [pools.send('acme', 'one'), pools.send('acme', 'two')];
    await pools.until(({ inFlight }) => inFlight === 2);
    const held = pools.send('acme', 'three');
    await pools.until(({ waiting }) => waiting === 1);
    const refused = await pools.send('cheap', 'four').answer;
    expect(refused.status).toBe(429);

    const now = await status();
    expect(now.waiting).toBe(1);
    expect(now.leases).toBe(3);
    expect(now.pools['chat']).toMatchObject({ waiting: 1, inFlight: 2, inUse: { slots: 2 }, entitlements: { acme: { inFlight: 2, waiting: 1, share: 1 }, gold: { inFlight: 0 } } });
    expect(now.pools['chat']!.entitlements['acme']!.servedTokensPerSecond).toBeGreaterThan(0);
    expect(await lines('tokenweir_entitlement_')).toEqual(expect.arrayContaining([
      'tokenweir_entitlement_waiting{pool="chat",tenant="acme"} 1',
      'tokenweir_entitlement_in_flight{pool="chat",tenant="acme"} 2',
      'tokenweir_entitlement_priority{pool="chat",tenant="gold"} 200',
      'tokenweir_entitlement_baseline{pool="chat",tenant="acme",dimension="tokens_per_second"} 400',
    ]));
    const needed = Number((await lines('tokenweir_pool_needed{pool="chat",dimension="slots"}'))[0]?.split(' ')[1]);
    // It rises over seconds.
    expect(needed).toBeGreaterThan(0);
    expect(await lines('tokenweir_pool_in_use{pool="chat",dimension="slots"}')).toEqual(['tokenweir_pool_in_use{pool="chat",dimension="slots"} 2']);

    pools.upstream.openAll();
    for (const sent of [...running, held]) expect((await sent.answer).status).toBe(200);
    await pools.rig.settled();
  });

  it('counts the requests by their pool, and how long they were held', async () => {
    await expect.poll(() => lines('tokenweir_requests_total')).toEqual(expect.arrayContaining([
      'tokenweir_requests_total{tenant="acme",pool="chat",decision="admitted",reason="none"} 3',
      'tokenweir_requests_total{tenant="cheap",pool="chat",decision="refused",reason="pool_busy"} 1',
    ]));
    expect(await lines('tokenweir_hold_seconds_count')).toEqual(['tokenweir_hold_seconds_count{pool="chat",tier="1",outcome="granted"} 1']);
    expect(await lines('tokenweir_waiting{')).toEqual(['tokenweir_waiting{pool="chat"} 0']);
  });

  it('tells the factors that decided in the log line of what was held, and of what was refused', () => {
    expect(logOf((line) => line['decision'] === 'admitted' && Number(line['poolWaitedMs']) > 0)).toMatchObject({
      pool: 'chat', entitlement: 'acme', serviceClass: 'elastic', tier: 1, weight: expect.any(Number), sloFactor: 1, burstFactor: expect.any(Number), debtFactor: expect.any(Number),
      debtTokens: expect.any(Number), servedTokensPerSecond: expect.any(Number), poolWaiting: expect.any(Number),
    });
    expect(logOf((line) => line['reason'] === 'pool_busy')).toMatchObject({ tenant: 'cheap', entitlement: 'cheap', serviceClass: 'spot', tier: 'spot', weight: 0, poolWaiting: 1, poolWaitedMs: 0 });
  });
});
