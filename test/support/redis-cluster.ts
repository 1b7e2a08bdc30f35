import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePorts } from '../../src/services/ports.js';
import { startRedis, type RedisServer } from './redis-server.js';

export interface RedisCluster {
  /** `redis+cluster://…` with all nodes. */
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  stop(): Promise<void>;
}

const SLOTS = 16_384;

/** Starts a cluster of masters with an equal part of the slots each, and waits until all agree on it. */
export async function startCluster(size = 3, args: readonly string[] = []): Promise<RedisCluster> {
  const busPorts = await freePorts(size);
  const nodes = await Promise.all(busPorts.map((bus) => startRedis({ args: [...clusterArgs(bus), ...args] })));
  await form(nodes, busPorts);
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

function clusterArgs(busPort: number): string[] {
  return ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-node-timeout', '1000', '--cluster-port', String(busPort)];
}

async function form(nodes: readonly RedisServer[], busPorts: readonly number[]): Promise<void> {
  const clients = nodes.map(({ url }) => new Redis(url));
  const bound = (i: number): number => Math.floor((i * SLOTS) / nodes.length);
  for (const [i, client] of clients.entries()) {
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
    await client.call('CLUSTER', 'ADDSLOTSRANGE', bound(i), bound(i + 1) - 1);
    if (i > 0) await clients[0]!.call('CLUSTER', 'MEET', '127.0.0.1', nodes[i]!.port, busPorts[i]!);
  }
  await until(async () => (await Promise.all(clients.map((client) => agrees(client, nodes.length)))).every(Boolean));
  for (const client of clients) client.disconnect();
}

async function agrees(client: Redis, size: number): Promise<boolean> {
  const info = String(await client.call('CLUSTER', 'INFO'));
  return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${size}`);
}

/** Asks again and again, for 20 s at most. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > deadlineMs) throw new Error('what was waited for did not come within 20 s');
    await delay(50);
  }
}
