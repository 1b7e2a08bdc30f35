import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { RenderOptions } from '../../src/services/envoy-config.js';
import { renderEnvoyConfig } from '../../src/services/envoy-config.js';
import type { RunningEnvoy } from '../../src/services/envoy.js';
import { startEnvoy } from '../../src/services/envoy.js';
import { freePorts } from '../../src/services/ports.js';
import type { SimulatedUpstreamOptions } from '../../src/upstream/options.js';
import { INSTANT } from '../../src/upstream/options.js';
import type { SimulatedUpstream } from '../../src/upstream/server.js';
import { createSimulatedUpstream } from '../../src/upstream/server.js';
import { startEnvoyContainer, useContainers } from './containers.js';

export interface StackOptions extends Pick<RenderOptions, 'edit' | 'upstreamMaxRequests'> {
  /** A file in `envoy/`, or a path. */
  readonly envoyConfig: 'envoy.yaml' | 'envoy.duplex.yaml' | 'envoy.alone.yaml' | (string & {});
  /** Where the processor listens; without one, a port on which nobody does. */
  readonly processorPort?: number;
  /** The simulated upstream; instant unless told otherwise. */
  readonly upstream?: SimulatedUpstreamOptions;
  /** Instead of the simulated upstream. */
  readonly upstreamPort?: number;
  /** Envoy's worker threads, 1 or 2. Default 1. */
  readonly concurrency?: number;
}

export interface Stack {
  /** Envoy's address for clients. */
  readonly url: string;
  readonly envoy: RunningEnvoy;
  /** It exists also where `upstreamPort` is given, but gets nothing then. */
  readonly upstream: SimulatedUpstream;
  /** A port on which nobody listened when the stack was started: for a processor that comes later. */
  readonly processorPort: number;
  stop(): Promise<void>;
}

/** Starts the simulated upstream and a real Envoy with a reference configuration in front of it. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const [listener, admin, spare] = (await freePorts(3)) as [number, number, number];
  const processorPort = options.processorPort ?? spare;
  const upstream = await createSimulatedUpstream({ timing: INSTANT, ...options.upstream });
  const dir = await mkdtemp(join(tmpdir(), 'tokenweir-stack-'));
  const at = (port: number): { host: string; port: number } => ({ host: '127.0.0.1', port });
  const addresses = { listener: at(listener), admin: at(admin), processor: at(processorPort), upstream: at(options.upstreamPort ?? upstream.port) };
  const config = await renderEnvoyConfig(options.envoyConfig, addresses, { dir, edit: options.edit, upstreamMaxRequests: options.upstreamMaxRequests });
  const start = (await useContainers()) ? startEnvoyContainer : startEnvoy;
  const envoy = await start({ program: inject('envoyPath'), config, listenerPort: listener, adminPort: admin, concurrency: options.concurrency });
  return {
    url: envoy.url,
    envoy,
    upstream,
    processorPort,
    stop: async () => {
      await envoy.stop();
      await upstream.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
