import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { renderEnvoyConfig } from '../services/envoy-config.js';
import { startEnvoy } from '../services/envoy.js';
import { freePorts } from '../services/ports.js';
import { startProcess, type RunningProcess } from '../services/process.js';
import { PROJECT_ROOT } from '../services/resolve.js';
import { ServiceError } from '../services/service-error.js';
import { openBooks, type Books } from './books.js';
import { configText, makeKeys, type Keys } from './cast.js';
import { keepRunning, type Backstage, type DemoUpstream } from './upstream.js';

/** Everything that runs while the story is played. */
export interface Stage {
  /** Envoy's address for clients. */
  readonly url: string;
  readonly keys: Keys;
  readonly books: Books;
  readonly upstream: DemoUpstream;
}

const at = (port: number): { host: string; port: number } => ({ host: '127.0.0.1', port });

/** Starts the processor and Envoy, as an operator would: a process each, the reference configuration, only addresses put in. */
export async function setStage(envoyProgram: string, upstream: DemoUpstream, backstage: Backstage): Promise<Stage> {
  const keys = makeKeys();
  const { extProcPort, admin } = await startProcessor(keys, backstage);
  const url = await onFreePorts(2, ([listener, adminPort]) =>
    startGateway({ program: envoyProgram, ports: { listener: listener!, admin: adminPort! }, processor: extProcPort, upstream: upstream.port }, backstage),
  );
  return { url, keys, books: openBooks(admin), upstream };
}

async function startProcessor(keys: Keys, backstage: Backstage): Promise<{ extProcPort: number; admin: string }> {
  const program = join(PROJECT_ROOT, 'dist', 'main.js');
  await access(program).catch(() => {
    throw new ServiceError('the program is not built: npm run build');
  });
  const { dir, progress } = backstage;
  const config = join(dir, 'tokenweir.yaml');
  await writeFile(config, configText(keys), { mode: 0o600 });
  const running = await startProcess({
    title: 'Tokenweir',
    command: process.execPath,
    args: [program, 'serve', '--config', config],
    logFile: join(dir, 'tokenweir.log'),
    ready: { line: /"msg":"serving"/ },
  });
  keepRunning('Tokenweir', running, backstage);
  const listening = servingLine(running);
  progress(`processor: tokenweir serve, ext_proc on 127.0.0.1:${listening.extProcPort}, admin on ${listening.admin}`);
  return listening;
}

/** The line in which the processor tells where it listens. */
function servingLine(running: RunningProcess): { extProcPort: number; admin: string } {
  const line = running.tail().split('\n').find((text) => text.includes('"msg":"serving"'));
  return JSON.parse(line ?? '{}') as { extProcPort: number; admin: string };
}

interface Gateway {
  readonly program: string;
  readonly ports: { readonly listener: number; readonly admin: number };
  readonly processor: number;
  readonly upstream: number;
}

async function startGateway({ program, ports, processor, upstream }: Gateway, backstage: Backstage): Promise<string> {
  const addresses = { listener: at(ports.listener), admin: at(ports.admin), processor: at(processor), upstream: at(upstream) };
  const config = await renderEnvoyConfig('envoy.yaml', addresses, { dir: backstage.dir });
  const envoy = await startEnvoy({ program, config, listenerPort: ports.listener, adminPort: ports.admin });
  keepRunning('Envoy', envoy, backstage);
  backstage.progress(`Envoy: ${envoy.url} with envoy/envoy.yaml, its own admin on ${envoy.adminUrl}`);
  return envoy.url;
}

const TAKEN = /address already in use|cannot bind|could ?n.t bind/i;
const ATTEMPTS = 3;

/** Somebody else may take a free port before our program has it: then it is tried with others. */
export async function onFreePorts<T>(count: number, start: (ports: readonly number[]) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await freePorts(count));
    } catch (error) {
      const taken = error instanceof ServiceError && TAKEN.test(error.message);
      if (!taken || attempt === ATTEMPTS) throw error;
    }
  }
}
