import { afterEach, describe, expect, it } from 'vitest';
import { PoolReadings } from '../../../src/admission/pool-readings.js';
import type { PoolDecision } from '../../../src/domain/decision.js';
import type { PoolPolicy } from '../../../src/domain/policy.js';
import type { PoolSnapshot } from '../../../src/domain/pool.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { Metrics } from '../../../src/telemetry/metrics.js';
import { tenantLabelOf } from '../../../src/telemetry/tenant-label.js';
import { tenant } from '../../support/policies.js';
import { poolEntitlement, poolPolicy, poolSnapshot, poolUser } from '../../support/pool-policies.js';
import { policy } from '../admin/policies.js';
import { record } from './records.js';

const CHAT = poolPolicy('chat', { slots: 20, tokensPerSecond: 1_000 }, [poolEntitlement('acme', 'guaranteed', { slots: 8 }), poolEntitlement('team', 'elastic', { tokensPerSecond: 400 })]);
const GUEST = tenant('guest', []);
const POLICY = policy([tenant('acme', []), tenant('team', []), GUEST], { identity: { ...policy([]).identity, unknownKeyTemplateId: 'guest' } });

const open: Metrics[] = [];
afterEach(() => {
  for (const metrics of open.splice(0)) metrics.close();
});

/** Metrics over a store that answers so. */
function watching(snapshot: (poolId: string) => Promise<PoolSnapshot | null>, pools: readonly PoolPolicy[] = [CHAT], alone = false) {
  const metrics = new Metrics({ version: '0', processMetrics: false });
  open.push(metrics);
  const clock = new VirtualClock(0);
  const readings = new PoolReadings({ pools: { snapshot }, clock, alone: () => alone, configured: () => pools });
  metrics.watchPools({ read: () => readings.read(), labelOf: (id) => tenantLabelOf(POLICY, id) });
  return { metrics, clock };
}

async function samples(metrics: Metrics, prefix: string): Promise<string[]> {
  const { body } = await metrics.text();
  return body.split('\n').filter((line) => line.startsWith(prefix));
}

const team = poolUser('team', 'elastic', {
  inFlight: 4, waiting: 6, waitingWork: 600, servedTokensPerSecond: 250, demandTokensPerSecond: 310, debtTokens: 800, weight: 15, debtFactor: 1.5,
  baseline: CHAT.entitlements.get('team')!.baseline, inUse: { tokensPerSecond: 250, kvBytes: 0, slots: 4 },
});

describe('metrics of pools (point 7)', () => {
  it('carry the fixed names, from a snapshot that is taken at the scrape', async () => {
    let snapshot = poolSnapshot([team], { pressure: 'elevated' });
    const { metrics } = watching(() => Promise.resolve(snapshot));
    expect(await samples(metrics, 'tokenweir_waiting{')).toEqual(['tokenweir_waiting{pool="chat"} 6']);
    expect(await samples(metrics, 'tokenweir_pool_pressure{')).toEqual(['tokenweir_pool_pressure{pool="chat"} 1']);
    expect(await samples(metrics, 'tokenweir_entitlement_')).toEqual(expect.arrayContaining([
      'tokenweir_entitlement_served_tokens_per_second{pool="chat",tenant="team"} 250',
      'tokenweir_entitlement_debt_tokens{pool="chat",tenant="team"} 800',
      'tokenweir_entitlement_priority{pool="chat",tenant="team"} 150',
      'tokenweir_entitlement_share{pool="chat",tenant="team"} 1',
      'tokenweir_entitlement_waiting{pool="chat",tenant="team"} 6',
      'tokenweir_entitlement_in_flight{pool="chat",tenant="team"} 4',
      'tokenweir_entitlement_baseline{pool="chat",tenant="team",dimension="tokens_per_second"} 400',
      'tokenweir_entitlement_baseline{pool="chat",tenant="acme",dimension="slots"} 8',
      'tokenweir_entitlement_priority{pool="chat",tenant="acme"} 100',
      'tokenweir_entitlement_factor{pool="chat",tenant="team",factor="debt"} 1.5',
    ]));
    snapshot = poolSnapshot([]);
    expect(await samples(metrics, 'tokenweir_waiting{')).toEqual(['tokenweir_waiting{pool="chat"} 0']);
    expect(await samples(metrics, 'tokenweir_entitlement_debt_tokens{')).toContain('tokenweir_entitlement_debt_tokens{pool="chat",tenant="team"} 0');
  });

  it('tell capacity, use, need and utilisation in each dimension that the pool counts (point 6)', async () => {
    const { metrics } = watching(() => Promise.resolve(poolSnapshot([{ ...team, debtTokens: 0 }])));
    expect(await samples(metrics, 'tokenweir_pool_capacity{')).toEqual([
      'tokenweir_pool_capacity{pool="chat",dimension="tokens_per_second"} 1000',
      'tokenweir_pool_capacity{pool="chat",dimension="slots"} 20',
    ]);
    expect(await samples(metrics, 'tokenweir_pool_in_use{')).toContain('tokenweir_pool_in_use{pool="chat",dimension="slots"} 4');
    // 250 served and 60 to drain, as are asked for; at 4 / 250 slots each.
    expect(await samples(metrics, 'tokenweir_pool_needed{pool="chat",dimension="tokens_per_second"}')).toEqual(['tokenweir_pool_needed{pool="chat",dimension="tokens_per_second"} 310']);
    expect(await samples(metrics, 'tokenweir_pool_utilisation{')).toEqual([
      'tokenweir_pool_utilisation{pool="chat",dimension="tokens_per_second"} 0.31',
      'tokenweir_pool_utilisation{pool="chat",dimension="slots"} 0.248',
    ]);
  });

  it('are missing, and said to be, while the pool does not answer: a scrape neither fails nor hangs, and no scaler goes by old figures', async () => {
    let answer = (): Promise<PoolSnapshot | null> => Promise.resolve(poolSnapshot([team]));
    const { metrics, clock } = watching(() => answer());
    await metrics.text();
    answer = () => new Promise(() => undefined);
    const scrape = samples(metrics, 'tokenweir_pool_');
    clock.advance(3_000);
    expect(await scrape).toEqual(['tokenweir_pool_stale{pool="chat"} 1']);
    answer = () => Promise.reject(new Error('away'));
    expect(await samples(metrics, 'tokenweir_waiting')).toEqual([]);
    answer = () => Promise.resolve(null);
    expect(await samples(metrics, 'tokenweir_pool_stale')).toEqual(['tokenweir_pool_stale{pool="chat"} 0']);
  });

  it('tell no scaler what is needed while only a part of the pool is known', async () => {
    const { metrics } = watching(() => Promise.resolve(poolSnapshot([team])), [CHAT], true);
    expect(await samples(metrics, 'tokenweir_waiting{')).toEqual(['tokenweir_waiting{pool="chat"} 6']);
    expect([...(await samples(metrics, 'tokenweir_pool_needed{')), ...(await samples(metrics, 'tokenweir_pool_utilisation{'))]).toEqual([]);
  });

  it('show tenants of a template under its name and the unknown as other, added up, with the highest priority among them', async () => {
    const some = ['guest:a', 'guest:b', 'x', 'y'].map((id, i) => poolUser(id, 'elastic', { inFlight: 1 + i, weight: 10 + i, servedTokensPerSecond: 10 }));
    const { metrics } = watching(() => Promise.resolve(poolSnapshot(some)));
    expect(await samples(metrics, 'tokenweir_entitlement_in_flight{')).toEqual(expect.arrayContaining([
      'tokenweir_entitlement_in_flight{pool="chat",tenant="guest"} 3',
      'tokenweir_entitlement_in_flight{pool="chat",tenant="other"} 7',
    ]));
    expect(await samples(metrics, 'tokenweir_entitlement_priority{')).toEqual(expect.arrayContaining([
      'tokenweir_entitlement_priority{pool="chat",tenant="guest"} 110',
      'tokenweir_entitlement_priority{pool="chat",tenant="other"} 130',
    ]));
    expect(await samples(metrics, 'tokenweir_entitlement_share{pool="chat",tenant="guest"}')).toEqual(['tokenweir_entitlement_share{pool="chat",tenant="guest"} 0.5']);
  });

  it('stay bounded over 10 pools with 1,000 tenants each', async () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => `t${i}`);
    const many = policy(ids.map((id) => tenant(id, [])));
    const pools = Array.from({ length: 10 }, (_, i) => poolPolicy(`p${i}`, {}, []));
    const metrics = new Metrics({ version: '0', processMetrics: false });
    open.push(metrics);
    const snapshot = (): Promise<PoolSnapshot> => Promise.resolve(poolSnapshot(ids.map((id) => poolUser(id, 'elastic', { inFlight: 1 }))));
    const readings = new PoolReadings({ pools: { snapshot }, clock: new VirtualClock(0), alone: () => false, configured: () => pools });
    metrics.watchPools({ read: () => readings.read(), labelOf: (id) => tenantLabelOf(many, id) });
    const lines = await samples(metrics, 'tokenweir_entitlement_in_flight{');
    expect(lines).toHaveLength(2_000 + 8);
    expect(lines).toContain('tokenweir_entitlement_in_flight{pool="p9",tenant="other"} 1000');
  });
});

function decided(waitedMs: number, tier: 0 | 1 | 'spot' = 1): PoolDecision {
  const factors = {
    entitlementId: 'acme', serviceClass: 'elastic', tier, weight: 15.5, sloFactor: 2, burstFactor: 0.5, debtFactor: 1.55, debtTokens: 2_200.12345, servedTokensPerSecond: 33,
    virtualTime: 1_234, waiting: 17,
  } as const;
  return { poolId: 'chat', waitedMs, factors };
}

describe('requests of a pool', () => {
  it('are counted by it, and the time that they were held by tier and how it ended', async () => {
    const metrics = new Metrics({ version: '0', processMetrics: false });
    open.push(metrics);
    metrics.request(record({ pool: decided(0) }));
    metrics.request(record({ pool: decided(1_500, 0) }));
    metrics.request(record({ pool: decided(10_000), decision: 'refused', reason: 'queue_timeout', usage: null }));
    metrics.request(record({ pool: decided(700), decision: 'passed', reason: 'client_left', usage: null }));
    expect(await samples(metrics, 'tokenweir_requests_total')).toEqual([
      'tokenweir_requests_total{tenant="acme",pool="chat",decision="admitted",reason="none"} 2',
      'tokenweir_requests_total{tenant="acme",pool="chat",decision="refused",reason="queue_timeout"} 1',
      'tokenweir_requests_total{tenant="acme",pool="chat",decision="passed",reason="client_left"} 1',
    ]);
    expect(await samples(metrics, 'tokenweir_hold_seconds_sum')).toEqual([
      'tokenweir_hold_seconds_sum{pool="chat",tier="0",outcome="granted"} 1.5',
      'tokenweir_hold_seconds_sum{pool="chat",tier="1",outcome="queue_timeout"} 10',
      'tokenweir_hold_seconds_sum{pool="chat",tier="1",outcome="client_left"} 0.7',
    ]);
    expect(await samples(metrics, 'tokenweir_hold_seconds_bucket{le="2",pool="chat",tier="0"')).toEqual([
      'tokenweir_hold_seconds_bucket{le="2",pool="chat",tier="0",outcome="granted"} 1',
    ]);
  });
});
