import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePorts } from '../../src/services/ports.js';
import type { RunningProcess } from '../../src/services/process.js';
import { redisBinary } from './redis-binary.js';
import { until } from './redis-cluster.js';
import { launch, startRedis, type RedisServer } from './redis-server.js';

export interface RedisSentinels {
  /** `redis+sentinel://…/main` with all Sentinels. */
  readonly url: string;
  /** The master of the start. */
  readonly master: RedisServer;
  readonly replica: RedisServer;
  /** Port of what the Sentinels hold for the master now. */
  masterPort(): Promise<number>;
  stop(): Promise<void>;
}

export interface SentinelOptions {
  /** The servers' own password. */
  readonly password?: string;
  readonly sentinelPassword?: string;
}

const NAME = 'main';

/** A master, a replica that is in step, and three Sentinels of which two decide; a master counts as down after half a second. */
export async function startSentinels({ password, sentinelPassword }: SentinelOptions = {}): Promise<RedisSentinels> {
  const login = password === undefined ? [] : ['--requirepass', password, '--masterauth', password];
  const master = await startRedis({ args: login });
  const replica = await startRedis({ args: [...login, '--replicaof', `127.0.0.1 ${master.port}`, '--repl-diskless-sync-delay', '0'] });
  const ports = await freePorts(3);
  const dir = await mkdtemp(join(tmpdir(), 'tokenweir-sentinel-'));
  const sentinels = await Promise.all(ports.map((port) => startSentinel(dir, port, sentinelConfig(port, master.port, password, sentinelPassword))));
  const clients = ports.map((port) => new Redis({ port, password: sentinelPassword }));
  await until(async () => (await Promise.all(clients.map(knowsAll))).every(Boolean));
  return {
    url: `redis+sentinel://${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${NAME}`,
    master,
    replica,
    masterPort: async () => Number(((await clients[0]!.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as string[])[1]),
    stop: async () => {
      for (const client of clients) client.disconnect();
      await Promise.all(sentinels.map((sentinel) => sentinel.stop()));
      await Promise.all([master.stop(), replica.stop()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function sentinelConfig(port: number, masterPort: number, password?: string, own?: string): string {
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${NAME} 500`,
    `sentinel failover-timeout ${NAME} 3000`,
    ...(password === undefined ? [] : [`sentinel auth-pass ${NAME} ${password}`]),
    ...(own === undefined ? [] : [`requirepass ${own}`, `sentinel sentinel-pass ${own}`]),
  ];
  return `${lines.join('\n')}\n`;
}

/** A Sentinel writes what it learns into its file. */
async function startSentinel(dir: string, port: number, config: string): Promise<RunningProcess> {
  const file = join(dir, `${port}.conf`);
  await writeFile(file, config);
  return launch(await redisBinary(), dir, [file, '--sentinel'], /\+monitor master/);
}

/** Whether a Sentinel sees the replica in step and both of the others. */
async function knowsAll(client: Redis): Promise<boolean> {
  const state = (await client.call('SENTINEL', 'MASTER', NAME)) as string[];
  const told = (name: string): string | undefined => state[state.indexOf(name) + 1];
  if (told('num-slaves') !== '1' || told('num-other-sentinels') !== '2') return false;
  const replicas = (await client.call('SENTINEL', 'REPLICAS', NAME)) as string[][];
  return replicas[0]?.includes('ok') === true;
}
