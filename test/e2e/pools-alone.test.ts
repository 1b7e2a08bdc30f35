import { Redis } from 'ioredis';
import { afterEach, describe, expect, test } from 'vitest';
import type { PoolStatus } from '../../src/admin/pool-status.js';
import { PoolKeys } from '../../src/stores/pools/keys.js';
import { chat } from '../support/clients.js';
import { tenantsYaml } from '../support/pool-rig.js';
import { until } from '../support/redis-cluster.js';
import { startRedis } from '../support/redis-server.js';
import { startRig, type Rig } from '../support/rig.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The program over Redis, where a processor that is silent claims the pool for an hour. */
async function start(mode: string): Promise<{ rig: Rig; leave(): Promise<unknown> }> {
  const server = await startRedis();
  ends.push(() => server.stop());
  const client = new Redis(server.url);
  ends.push(() => client.quit());
  const { claim } = new PoolKeys('', 'chat');
  await client.set(claim, `${Date.now() + 3_600_000} 1 silent`);
  const pools = 'pools: [{ id: chat, kind: self-hosted, models: ["*"], capacity: { slots: 4 } }]\nentitlements: [{ tenant: acme, pool: chat, class: elastic }]';
  const rig = await startRig(`store: ${server.url}\nonStoreFailure: ${mode}\n${tenantsYaml('acme')}${pools}`, { envoyConfig: 'envoy.yaml' });
  ends.push(() => rig.stop());
  return { rig, leave: () => client.del(claim) };
}

async function post(rig: Rig): Promise<number> {
  const answer = await rig.post(chat());
  await answer.text();
  return answer.status;
}

async function ready({ processor }: Rig): Promise<string> {
  const answer = await fetch(`${processor.adminUrl}/readyz`);
  return `${answer.status} ${(await answer.text()).trim()}`;
}

async function shown(rig: Rig): Promise<Pick<PoolStatus, 'partial' | 'stale'>> {
  const { partial, stale } = (await rig.processor.app.status()).pools['chat']!;
  return { partial, stale };
}

const lines = async (rig: Rig): Promise<string[]> => (await rig.metrics()).split('\n').filter((line) => /^tokenweir_pool_(keeper|takeovers_total|alone)\{/.test(line));

describe('a pool that no processor keeps', () => {
  test.each([['local', 200], ['open', 200], ['closed', 503]])('%s: what clients get, and what /readyz, /status and metrics tell, until there is a keeper', async (mode, expected) => {
    const { rig, leave } = await start(mode);
    expect(await ready(rig)).toBe('200 ready');
    for (let i = 0; i < 4; i++) expect(await post(rig)).toBe(expected);
    expect(await ready(rig)).toBe(`200 ready, 1 pool(s) without a keeper: ${mode}`);
    expect(await shown(rig)).toEqual({ partial: true, stale: false });
    expect(await lines(rig)).toEqual(['tokenweir_pool_keeper{pool="chat"} 0', 'tokenweir_pool_takeovers_total{pool="chat"} 0', 'tokenweir_pool_alone{pool="chat"} 1']);
    expect(await rig.metrics()).toContain(`tokenweir_decisions_without_store_total{how="${mode}"} 4`);
    await leave();
    await until(async () => (await ready(rig)) === '200 ready');
    expect(await post(rig)).toBe(200);
    expect(await shown(rig)).toEqual({ partial: false, stale: false });
    expect(await lines(rig)).toEqual(['tokenweir_pool_keeper{pool="chat"} 1', 'tokenweir_pool_takeovers_total{pool="chat"} 1', 'tokenweir_pool_alone{pool="chat"} 0']);
  });
});
