import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CLAIM_MS } from '../../src/stores/pools/keeping.js';
import { PoolKeys } from '../../src/stores/pools/keys.js';
import { definePoolScripts, type PoolScripts } from '../../src/stores/pools/scripts.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

const GONE_MS = 5_000;
const NOW_MS = 1_700_000_000_000;

let server: RedisServer;
let client: Redis;
let scripts: PoolScripts;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url, { protocol: 2 });
  scripts = definePoolScripts(client);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});
beforeEach(() => client.flushall());

const keys = new PoolKeys('', 'chat');

async function beat(processor: string, atMs: number, epoch = ''): Promise<{ keeper: string; taken: boolean; processors: string[] }> {
  const { claim, processors, saved, asks } = keys;
  const args = [String(atMs), processor, epoch, '1', CLAIM_MS, '', GONE_MS, 600_000, '', ''];
  const [keeper = '', , , taken, , , ...live] = await scripts.twPoolBeat(claim, processors, saved, asks, keys.told(processor), ...args);
  return { keeper, taken: taken === '1', processors: live };
}

describe('a claim to keep a pool', () => {
  it('holds until its time is over', async () => {
    expect(await beat('a', NOW_MS)).toEqual({ keeper: 'a', taken: true, processors: ['a'] });
    expect(await beat('b', NOW_MS + CLAIM_MS - 1)).toMatchObject({ keeper: 'a', taken: false });
    expect(await beat('b', NOW_MS + CLAIM_MS)).toEqual({ keeper: 'b', taken: true, processors: ['b'] });
  });

  it('of a dead processor is none once the clock of the server was set back, and neither counts as alive', async () => {
    await beat('dead', NOW_MS);
    await beat('dead too', NOW_MS);
    expect(await beat('b', NOW_MS - 3_600_000)).toEqual({ keeper: 'b', taken: true, processors: ['b'] });
  });

  it.each(['saved', 'processors', 'asks'] as const)('is not left behind by a beat that fails, since somebody wrote to the key of %s', async (name) => {
    await (name === 'processors' ? client.set(keys[name], 'x') : client.rpush(keys[name], 'x'));
    await expect(beat('a', NOW_MS)).rejects.toThrow('WRONGTYPE');
    expect(await client.exists(keys.claim)).toBe(0);
  });
});
