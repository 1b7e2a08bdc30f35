import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Document } from 'yaml';
import { isMap, visit } from 'yaml';
import { hashKey } from '../../src/config/hash-key.js';
import { renderEnvoyConfig } from '../../src/services/envoy-config.js';
import { freePorts } from '../../src/services/ports.js';
import { PROJECT_ROOT, resolveEnvoy } from '../../src/services/resolve.js';
import { start, startModule, type Child } from './children.js';
import type { Measured, Task } from './load.js';
import type { Options } from './options.js';
import { KEY } from './payloads.js';

/** What a request may go through. */
export type Way = 'none' | 'noop' | 'ours';

export interface Rig {
  /** Port of the Envoy of each way. */
  readonly port: Readonly<Record<Way, number>>;
  /** Process of the processor. */
  readonly pid: Readonly<Record<'noop' | 'ours', number>>;
  run(task: Task): Promise<Measured>;
  /** Leases that are open at the processor under test. */
  leases(): Promise<number>;
  /** Messages that the Envoy of a way has sent to its processor. */
  messages(way: Way): Promise<number>;
  stop(): Promise<void>;
}

/** A tenant below another, with limits of each kind that are never reached: every request gets the whole decision. */
const CONFIG = (extProc: number, admin: number, store: string): string => `
store: ${store}
server: { extProc: "127.0.0.1:${extProc}", admin: "127.0.0.1:${admin}" }
tenants:
  - id: unit
    limits: { requestsPerMinute: 1000000000, tokensPerMinute: 1000000000 }
  - id: team
    parent: unit
    keys: ["${hashKey(KEY)}"]
    limits:
      - { requestsPerMinute: 1000000000, tokensPerMinute: 1000000000, concurrency: 1000000 }
      - { models: ["sim-*"], inputTokensPerMinute: 1000000000, outputTokensPerMinute: 1000000000 }
`;

/** Starts the processor under test, the one that does nothing, upstream, load generator, and an Envoy for each way. */
export async function startRig({ envoyConfig, redis, envoy, processor, nodeOptions }: Options): Promise<Rig> {
  const dir = join(PROJECT_ROOT, '.cache', 'bench-run');
  await mkdir(dir, { recursive: true });
  const [oursPort, admin, noopPort, upstream, store, ...envoyPorts] = (await freePorts(11)) as [number, number, number, number, number, ...number[]];
  const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  const program = (await resolveEnvoy({ flag: envoy, progress: (line) => process.stderr.write(`${line}\n`) })).path;
  await writeFile(join(dir, 'tokenweir.yaml'), CONFIG(oursPort, admin, redis ? `redis://127.0.0.1:${store}` : 'memory'));
  const node = process.execPath;
  const children: Child[] = [];
  const add = (child: Child): Child => (children.push(child), child);
  if (redis) {
    add(start(process.env['TOKENWEIR_REDIS'] ?? 'redis-server', ['--bind', '127.0.0.1', '--port', String(store), '--save', '', '--dir', dir], dir, 'redis'));
    await listening(store);
  }
  const ours = add(start(node, [...nodeOptions, processor, 'serve', '--config', join(dir, 'tokenweir.yaml')], dir, 'ours'));
  const noop = add(start(node, [here('noop.js'), String(noopPort)], dir, 'noop'));
  add(start(node, [here('upstream.js'), String(upstream)], dir, 'upstream'));
  const load = add(startModule(here('load.js'), [], dir, 'load'));
  const ways: Way[] = ['none', 'noop', 'ours'];
  await Promise.all([oursPort, admin, noopPort, upstream].map(listening));
  for (const [i, way] of ways.entries()) {
    const ports = { listener: envoyPorts[i * 2]!, admin: envoyPorts[i * 2 + 1]!, processor: way === 'ours' ? oursPort : noopPort, upstream };
    const config = await envoyFile(envoyConfig, ports, join(dir, way), way);
    add(start(program, ['-c', config, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'warning'], dir, `envoy-${way}`));
  }
  await Promise.all(envoyPorts.map(listening));
  // The health checks of a way's processor have to be through, else its first requests find none that is healthy.
  await new Promise((resume) => setTimeout(resume, 1_000));
  return {
    port: { none: envoyPorts[0]!, noop: envoyPorts[2]!, ours: envoyPorts[4]! },
    pid: { noop: noop.pid, ours: ours.pid },
    run: (task) => runTask(load, task),
    leases: async () => ((await (await fetch(`http://127.0.0.1:${admin}/status`)).json()) as { leases: number }).leases,
    messages: (way) => messagesSent(envoyPorts[ways.indexOf(way) * 2 + 1]!),
    stop: async () => {
      await Promise.all(children.map((child) => child.stop()));
    },
  };
}

type Ports = Readonly<Record<'listener' | 'admin' | 'processor' | 'upstream', number>>;

/** The reference configuration with other addresses; the way `none` is without the filter. */
async function envoyFile(file: string, ports: Ports, dir: string, way: Way): Promise<string> {
  await mkdir(dir, { recursive: true });
  const at = (port: number) => ({ host: '127.0.0.1', port });
  const addresses = { listener: at(ports.listener), admin: at(ports.admin), processor: at(ports.processor), upstream: at(ports.upstream) };
  // Thousands of streams at one time are more than the reference lets through to one upstream.
  return renderEnvoyConfig(file, addresses, { dir, upstreamMaxRequests: 65_536, edit: way === 'none' ? withoutFilter : undefined });
}

function withoutFilter(config: Document): void {
  visit(config, {
    Pair(_, pair) {
      if (!('value' in (pair.key as object)) || (pair.key as { value: unknown }).value !== 'http_filters') return;
      const filters = pair.value as { items: unknown[] };
      filters.items = filters.items.filter((item) => !(isMap(item) && item.get('name') === 'envoy.filters.http.ext_proc'));
    },
  });
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => { socket.destroy(); resolve(true); });
      socket.on('error', () => { resolve(false); });
    });
    if (open) return;
    await new Promise((resume) => setTimeout(resume, 25));
  }
  throw new Error(`nobody listens on port ${port}; see .cache/bench-run/*.err`);
}

function runTask(load: Child, task: Task): Promise<Measured> {
  return new Promise((resolve) => {
    load.process.once('message', (result) => { resolve(result as Measured); });
    load.process.send(task);
  });
}

async function messagesSent(adminPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/stats?filter=stream_msgs_sent`)).text();
  return [...text.matchAll(/: (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}
