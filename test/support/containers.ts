import { GenericContainer, Wait } from 'testcontainers';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import type { EnvoyOptions, RunningEnvoy } from '../../src/services/envoy.js';
import { accessLines, envoyAt } from '../../src/services/envoy.js';

const IMAGE = 'envoyproxy/envoy:v1.40.0';
const DEFAULT_SOCKET = '/var/run/docker.sock';

/** Containers are used only on request (`TOKENWEIR_TEST_CONTAINERS=1`) and where a Docker engine answers; else the local binary. */
export async function useContainers(env: NodeJS.ProcessEnv = process.env): Promise<boolean> {
  return env['TOKENWEIR_TEST_CONTAINERS'] === '1' && (await engineAnswers(env));
}

function engineAnswers(env: NodeJS.ProcessEnv): Promise<boolean> {
  const socketPath = env['DOCKER_HOST']?.startsWith('unix://') ? env['DOCKER_HOST'].slice('unix://'.length) : DEFAULT_SOCKET;
  if (!existsSync(socketPath)) return Promise.resolve(false);
  return new Promise((resolve) => {
    const ping = request({ socketPath, path: '/_ping', timeout: 2_000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    ping.once('timeout', () => ping.destroy());
    ping.once('error', () => {
      resolve(false);
    });
    ping.end();
  });
}

/** The same Envoy from the official image, on the machine's own network: addresses and ports stay as rendered. */
export async function startEnvoyContainer(options: EnvoyOptions): Promise<RunningEnvoy> {
  let output = '';
  const config = '/etc/envoy/tokenweir.yaml';
  const container = await new GenericContainer(IMAGE)
    .withNetworkMode('host')
    .withCopyFilesToContainer([{ source: options.config, target: config, mode: 0o644 }])
    .withCommand(['envoy', '-c', config, '--disable-hot-restart', '--concurrency', String(options.concurrency ?? 1), '--file-flush-interval-msec', '200'])
    .withLogConsumer((stream) => stream.on('data', (chunk: Buffer | string) => (output += chunk.toString())))
    .withWaitStrategy(Wait.forLogMessage(/starting main dispatch loop/))
    .start();
  return {
    ...envoyAt(`http://127.0.0.1:${options.listenerPort}`, `http://127.0.0.1:${options.adminPort}`),
    logFile: options.config.replace(/\.yaml$/, '.log'),
    accessLog: () => accessLines(output),
    stop: async () => {
      await container.stop();
    },
  };
}
