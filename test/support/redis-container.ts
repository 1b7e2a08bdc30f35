import { GenericContainer, getContainerRuntimeClient, Wait, type StartedTestContainer } from 'testcontainers';
import { freePort } from '../../src/services/ports.js';
import { BASE_ARGS, portArgs, urlOf, type RedisOptions, type RedisServer } from './redis-types.js';

/** Where no image can be pulled, one that was built on the machine may be named. */
const IMAGE = process.env['TOKENWEIR_REDIS_IMAGE'] ?? 'redis:7.4.6-alpine';
const READY = /Ready to accept connections/;

/** As `startRedis`, from an image, on the machine's own network. */
export async function startRedisContainer(options: RedisOptions): Promise<RedisServer> {
  const port = options.port ?? (await freePort());
  const command = ['redis-server', ...portArgs(port, options.tls), ...BASE_ARGS, ...(options.args ?? [])];
  const start = (): Promise<StartedTestContainer> =>
    new GenericContainer(IMAGE).withNetworkMode('host').withCommand(command).withWaitStrategy(Wait.forLogMessage(READY)).start();
  let started = await start();
  const { container: engine } = await getContainerRuntimeClient();
  const current = () => engine.getById(started.getId());
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    const { State: state } = await current().inspect();
    if (state.Paused) await current().unpause();
    if (state.Running) await current().kill({ signal });
    await current().wait();
  };
  const stop = async (): Promise<void> => {
    await kill();
    await started.stop({ remove: true, removeVolumes: true });
  };
  return {
    url: urlOf(port, options.tls),
    port,
    kill,
    pause: async () => {
      await current().pause();
    },
    resume: async () => {
      await current().unpause();
    },
    restart: async ({ keepData } = { keepData: false }) => {
      await kill();
      if (keepData) return started.restart();
      await stop();
      started = await start();
    },
    stop,
  };
}
