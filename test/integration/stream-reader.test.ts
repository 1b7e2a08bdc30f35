import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.js';
import { StreamReader } from '../../src/stores/pools/stream-reader.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

let server: RedisServer;
let clients: readonly [Redis, Redis];
beforeAll(async () => {
  server = await startRedis();
  clients = [new Redis(server.url, { protocol: 2 }), new Redis(server.url, { protocol: 2 })];
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

it('a stream that is read no more, and was deleted, does not come back for ever when another begins to be read', async () => {
  const [client, blocking] = clients;
  const reader = new StreamReader({ blocking, client, clock: systemClock });
  const heard: string[] = [];
  const read = (key: string): void => { reader.add(key, '0', (text) => heard.push(text), (error) => { throw error; }); };
  read('old');
  await client.xadd('old', '*', 'b', 'one');
  await expect.poll(() => heard).toEqual(['one']);
  // Until the next read waits.
  await delay(50);
  reader.remove('old');
  await client.del('old');
  read('new');
  await client.xadd('new', '*', 'b', 'two');
  await expect.poll(() => heard).toEqual(['one', 'two']);
  expect(await client.pttl('old'), 'it expires, or is not there (-2)').not.toBe(-1);
  reader.close();
});
