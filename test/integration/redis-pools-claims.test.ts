import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.js';
import { CLAIM_MS } from '../../src/stores/pools/keeping.js';
import { PoolKeys } from '../../src/stores/pools/keys.js';
import { RedisLink } from '../../src/stores/pools/redis-link.js';
import { definePoolScripts, type PoolScripts } from '../../src/stores/pools/scripts.js';
import { StreamReader } from '../../src/stores/pools/stream-reader.js';
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

  it('of a dead processor ends within its time once the clock of the server was set back, and neither counts as alive for longer', async () => {
    await beat('dead', NOW_MS);
    await beat('dead too', NOW_MS);
    const backMs = NOW_MS - 3_600_000;
    expect(await beat('b', backMs)).toMatchObject({ keeper: 'dead', taken: false });
    expect(await beat('b', backMs + CLAIM_MS)).toMatchObject({ keeper: 'b', taken: true });
    expect(await beat('b', backMs + GONE_MS + 1)).toMatchObject({ keeper: 'b', processors: ['b'] });
  });

  it.each(['saved', 'processors', 'asks'] as const)('is not left behind by a beat that fails, since somebody wrote to the key of %s', async (name) => {
    await (name === 'processors' ? client.set(keys[name], 'x') : client.rpush(keys[name], 'x'));
    await expect(beat('a', NOW_MS)).rejects.toThrow('WRONGTYPE');
    expect(await client.exists(keys.claim)).toBe(0);
  });

  it('is given up by a processor that can give signs of life, and hears nothing', async () => {
    let fails = true;
    const xread = async (): Promise<null> => {
      if (fails) throw new Error('no connection');
      await delay(10);
      return null;
    };
    const reader = new StreamReader({ blocking: { xread } as unknown as Redis, client, clock: systemClock });
    const link = new RedisLink({ client, reader, keyPrefix: '', poolId: 'chat', processor: 'deaf', refusal: () => null });
    const first = await link.beat({ epoch: null, claims: true, save: null });
    expect(first).toMatchObject({ keeper: 'deaf', taken: { saved: null } });
    await expect.poll(() => reader.isFailing).toBe(true);
    const renew = (): Promise<string> => link.beat({ epoch: first.epoch, claims: true, save: null }).then(({ keeper }) => keeper);
    // Alone it has nobody to hear.
    for (let i = 0; i < 10; i++) expect(await renew()).toBe('deaf');
    await beat('other', Date.now());
    // A moment without a connection is nothing.
    for (let i = 0; i < 4; i++) expect(await renew()).toBe('deaf');
    const before = await client.get(keys.claim);
    await expect(renew()).rejects.toThrow('hears nobody');
    expect(await client.get(keys.claim), 'another takes it when it has ended').toBe(before);
    fails = false;
    await expect.poll(() => reader.isFailing).toBe(false);
    await expect(renew()).rejects.toThrow('hears nobody');
    expect(await renew()).toBe('deaf');
    reader.close();
  });
});
