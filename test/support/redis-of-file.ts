import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { startRedis, type RedisServer } from './redis-server.js';

/** A server for all tests of one file. @returns its client, to be asked for when they run. */
export function redisOfFile(): () => Redis {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.url, { protocol: 2 });
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });
  return () => client;
}
