import { Cluster } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { createRedisStore } from '../../src/stores/redis/redis-store.js';
import { describeSharedStore } from '../conformance/store-shared.js';
import { startCluster, type RedisCluster } from '../support/redis-cluster.js';

let cluster: RedisCluster;
const clients: Cluster[] = [];

beforeAll(async () => {
  cluster = await startCluster();
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
  for (let i = 0; i < 3; i++) clients.push(new Cluster(nodes, { redisOptions: { protocol: 2 } }));
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await cluster.stop();
});

let stores = 0;
const onFault = (error: unknown): never => {
  throw error;
};

describeSharedStore('redis cluster', async () => {
  const keyPrefix = `t${++stores}:`;
  const [first, second, third] = clients.map((client) => createRedisStore({ client, time: 'caller', onFault, keyPrefix, keepEvents: true }));
  return [first!, second!, third!];
});
