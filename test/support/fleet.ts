import type { Document } from 'yaml';
import { visit } from 'yaml';
import type { StatusDocument } from '../../src/admin/status.js';
import type { LedgerEvent } from '../../src/domain/lease.js';
import { startServing, type ServerYaml, type Serving } from './serving.js';
import { startStack, type Stack, type StackOptions } from './stack.js';

export interface FleetOptions extends Omit<StackOptions, 'processorPort'> {
  /** How many processes. Default 2. */
  readonly processors?: number;
  /** The same for all. */
  readonly yaml: string;
  readonly server?: ServerYaml;
}

/** Several processors, each a process of its own, behind one real Envoy. */
export interface Fleet {
  readonly processors: readonly Serving[];
  readonly stack: Stack;
  status(processor: number): Promise<StatusDocument>;
  /** The latest settled requests, as any of them tells. */
  ledger(processor: number): Promise<readonly LedgerEvent[]>;
  /** The sum of a metric over its labels (those that match, if told); 0 where there is none. */
  metric(processor: number, name: string, labels?: RegExp): Promise<number>;
  /** Starts one again that ended. */
  restart(processor: number): Promise<void>;
  stop(): Promise<void>;
}

/** Long enough for two health checks of the reference configuration. */
const DRAINING: ServerYaml = (extProc, admin) => `server: { extProc: "${extProc}", admin: "${admin}", drain: { noticeMs: 1500, timeoutMs: 10000 } }`;

export async function startFleet({ processors: count = 2, yaml, server = DRAINING, ...options }: FleetOptions): Promise<Fleet> {
  const processors = await Promise.all(Array.from({ length: count }, () => startServing(yaml, server)));
  const edit = (config: Document): void => {
    addProcessors(config, processors.slice(1).map(({ port }) => port));
    options.edit?.(config);
  };
  const stack = await startStack({ ...options, edit, processorPort: processors[0]!.port });
  const admin = (processor: number, path: string): Promise<Response> => fetch(`${processors[processor]!.adminUrl}${path}`);
  return {
    processors, stack,
    status: async (processor) => (await admin(processor, '/status')).json() as Promise<StatusDocument>,
    ledger: async (processor) => ((await (await admin(processor, '/ledger?limit=1000')).json()) as { events: LedgerEvent[] }).events,
    metric: async (processor, name, labels = /./) => sumOf(await (await admin(processor, '/metrics')).text(), name, labels),
    restart: async (processor) => {
      processors[processor] = await processors[processor]!.restart();
    },
    stop: async () => {
      await stack.stop();
      await Promise.all(processors.map((processor) => processor.stop()));
    },
  };
}

/** What the reference configuration says of a second processor: one more endpoint. */
function addProcessors(config: Document, ports: readonly number[]): void {
  visit(config, {
    Map(_, node) {
      if (node.get('cluster_name') !== 'tokenweir' || !node.has('endpoints')) return;
      for (const port_value of ports) {
        const endpoint = { endpoint: { address: { socket_address: { address: '127.0.0.1', port_value } } } };
        node.addIn(['endpoints', 0, 'lb_endpoints'], config.createNode(endpoint));
      }
    },
  });
}

function sumOf(text: string, name: string, labels: RegExp): number {
  const lines = [...text.matchAll(/^(\w+)(\{.*\})? (\S+)$/gm)];
  return lines.filter(([, named, told = '{}']) => named === name && labels.test(told)).reduce((sum, [, , , value]) => sum + Number(value), 0);
}
