import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { createRedisStore, type RedisStoreOptions } from '../../src/stores/redis/redis-store.js';
import type { RedisClient } from '../../src/stores/redis/scripts.js';
import { describeSharedStore } from '../conformance/store-shared.js';
import { describeStore } from '../conformance/store-conformance.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

const fault = (error: unknown): never => {
  throw error;
};

let server: RedisServer;
const clients: RedisClient[] = [];
const connect = (): Redis => {
  const client = new Redis(server.url, { protocol: 2 });
  clients.push(client);
  return client;
};

beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

/** Every test has keys of its own, so nothing has to be emptied. */
let stores = 0;
const options = (keyPrefix: string): Omit<RedisStoreOptions, 'client'> => ({ time: 'caller', onFault: fault, keyPrefix, keepEvents: true });
const freshPrefix = () => `t${++stores}:`;

let shared: Redis | null = null;
describeStore('redis', async () => {
  shared ??= connect();
  return createRedisStore({ client: shared, ...options(freshPrefix()) });
});

describeSharedStore('redis', async () => {
  const prefix = freshPrefix();
  const made = [connect(), connect(), connect()].map((client) => createRedisStore({ client, ...options(prefix) }));
  return [made[0]!, made[1]!, made[2]!];
});
