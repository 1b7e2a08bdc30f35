import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/services/ports.js';
import { startProcess, type RunningProcess } from '../../src/services/process.js';
import { useContainers } from './containers.js';
import { redisBinary } from './redis-binary.js';
import { startRedisContainer } from './redis-container.js';
import { BASE_ARGS, portArgs, urlOf, type RedisOptions, type RedisServer } from './redis-types.js';

export type { RedisOptions, RedisServer } from './redis-types.js';

/**
 * Starts a server. With `TOKENWEIR_TEST_CONTAINERS=1` and a container engine that answers, from an image (not for TLS: it would not see the files); else the
 * program on the PATH. It ends with this process whatever happens.
 */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  if (options.binary === undefined && options.tls !== true && (await useContainers())) return startRedisContainer(options);
  const binary = options.binary ?? (await redisBinary());
  const port = options.port ?? (await freePort());
  const dir = await mkdtemp(join(tmpdir(), 'tokenweir-redis-'));
  const args = [...portArgs(port, options.tls), ...BASE_ARGS, ...(options.args ?? [])];
  return control(dir, { url: urlOf(port, options.tls), port }, () => launch(binary, dir, args));
}

/** Starts a server program in a folder. The line is the one that servers print, Sentinels print another. */
export function launch(binary: string, dir: string, args: readonly string[], line = /Ready to accept connections/): Promise<RunningProcess> {
  return startProcess({ title: 'Redis', command: binary, args, cwd: dir, logFile: join(dir, 'server.log'), ready: { line }, readyWithinMs: 20_000 });
}

async function control(dir: string, where: Pick<RedisServer, 'url' | 'port'>, start: () => Promise<RunningProcess>): Promise<RedisServer> {
  let running = await start();
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    running.kill(signal);
    // A paused process takes no other signal.
    running.kill('SIGCONT');
    await running.ended;
  };
  return {
    ...where,
    kill,
    pause: async () => {
      running.kill('SIGSTOP');
    },
    resume: async () => {
      running.kill('SIGCONT');
    },
    restart: async ({ keepData } = { keepData: false }) => {
      await kill();
      if (!keepData) await emptyFolder(dir);
      running = await start();
    },
    stop: async () => {
      await kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function emptyFolder(dir: string): Promise<void> {
  await rm(join(dir, 'appendonlydir'), { recursive: true, force: true });
  await rm(join(dir, 'dump.rdb'), { force: true });
}
