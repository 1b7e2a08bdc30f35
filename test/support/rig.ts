import type { LedgerEvent } from '../../src/domain/lease.js';
import type { PoolStore } from '../../src/domain/pool.js';
import type { Store } from '../../src/domain/store.js';
import type { Clock } from '../../src/lib/clock.js';
import { JSON_HEADERS } from './clients.js';
import { startProcessor, type RunningProcessor } from './processor.js';
import { startStack, type Stack, type StackOptions } from './stack.js';

export type RigOptions = Omit<StackOptions, 'processorPort'>;

/** The whole program in this process, with a real Envoy and a simulated upstream. */
export interface Rig {
  readonly processor: RunningProcessor;
  readonly stack: Stack;
  /** Posts to chat completions with the key `key-acme`. */
  post(body: string | Buffer, headers?: Record<string, string>, init?: RequestInit): Promise<Response>;
  /** The latest settled requests, once nothing runs any more. */
  settled(): Promise<readonly LedgerEvent[]>;
  /** The metrics' text. */
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

export async function startRig(yaml: string, options: RigOptions, store?: Store, clock?: Clock, pools?: PoolStore): Promise<Rig> {
  const processor = await startProcessor(yaml, store, clock, pools);
  const stack = await startStack({ ...options, processorPort: processor.port });
  const admin = (path: string): Promise<Response> => fetch(`${processor.adminUrl}${path}`);
  return {
    processor, stack,
    post: (body, headers = {}, init = {}) =>
      fetch(`${stack.url}/v1/chat/completions`, { method: 'POST', body, headers: { ...JSON_HEADERS('key-acme'), ...headers }, ...init }),
    settled: async () => {
      await processor.idle();
      return ((await (await admin('/ledger')).json()) as { events: LedgerEvent[] }).events;
    },
    metrics: async () => (await admin('/metrics')).text(),
    stop: async () => {
      await stack.stop();
      await processor.stop();
    },
  };
}
