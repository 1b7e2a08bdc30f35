import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Document } from 'yaml';
import { visit } from 'yaml';
import type { StatusDocument } from '../../src/admin/status.js';
import type { LedgerEvent } from '../../src/domain/lease.js';
import { startServing, until, type ServerYaml, type Serving } from './serving.js';
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
  /**
   * What the files of all of them hold, each event once; waits until it adds up to the totals that this one shows. Needs `LEDGER_FILE` in the
   * configuration.
   */
  ledger(processor: number): Promise<readonly LedgerEvent[]>;
  /** The sum of a metric over its labels (those that match, if told); 0 where there is none. */
  metric(processor: number, name: string, labels?: RegExp): Promise<number>;
  /** Starts one again that ended. */
  restart(processor: number): Promise<void>;
  stop(): Promise<void>;
}

/** Every settled request goes into a file. */
export const LEDGER_FILE = 'ledger: { file: ledger.jsonl }';

/** An exporter that met faults pauses for 10 s, as does one that waits for a dead one's turn to end. */
const LEDGER_WITHIN_MS = 25_000;

/** Long enough for two health checks of the reference configuration. */
const DRAINING: ServerYaml = (extProc, admin) => `server: { extProc: "${extProc}", admin: "${admin}", drain: { noticeMs: 1500, timeoutMs: 10000 } }`;

export async function startFleet({ processors: count = 2, yaml, server = DRAINING, ...options }: FleetOptions): Promise<Fleet> {
  const processors = await Promise.all(Array.from({ length: count }, () => startServing(yaml, server)));
  const edit = (config: Document): void => {
    addProcessors(config, processors.slice(1).map(({ port }) => port));
    options.edit?.(config);
  };
  const stack = await startStack({ ...options, edit, processorPort: processors[0]!.port });
  // Envoy balances over those whose health it knows: at first that may be some of them.
  await until(async () => (await stack.envoy.stats('cluster.tokenweir.membership_healthy')) === count, `Envoy sees ${count} healthy processors`);
  const admin = (processor: number, path: string): Promise<Response> => fetch(`${processors[processor]!.adminUrl}${path}`);
  const status = async (processor: number): Promise<StatusDocument> => (await admin(processor, '/status')).json() as Promise<StatusDocument>;
  return {
    processors, stack,
    status,
    ledger: async (processor) => {
      const deadline = Date.now() + LEDGER_WITHIN_MS;
      for (;;) {
        const events = await eventsOf(processors);
        const [kept, told] = [totalOf(events), totalOf(Object.values((await status(processor)).tenants).map(({ usage }) => usage))];
        if (kept.every((value, i) => value === told[i])) return events;
        if (Date.now() > deadline) throw new Error(`the files add up to ${kept.join(', ')}, the totals are ${told.join(', ')} (requests, input, output), the upstream counted ${JSON.stringify(stack.upstream.usageTotals)}`);
        await delay(100);
      }
    },
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

type Counts = Pick<LedgerEvent, 'inputTokens' | 'outputTokens'> & { readonly corrects?: boolean; readonly requests?: number };

/** Requests, input and output tokens of events, or of totals. */
function totalOf(counts: readonly Counts[]): readonly number[] {
  const requestsOf = ({ requests, corrects }: Counts): number => requests ?? (corrects === true ? 0 : 1);
  return [requestsOf, ({ inputTokens }: Counts) => inputTokens, ({ outputTokens }: Counts) => outputTokens].map((of) => counts.reduce((sum, count) => sum + of(count), 0));
}

async function eventsOf(processors: readonly Serving[]): Promise<readonly LedgerEvent[]> {
  const texts = await Promise.all(processors.map(({ configPath }) => readFile(join(dirname(configPath), 'ledger.jsonl'), 'utf8').catch(() => '')));
  const lines = texts.flatMap((text) => text.split('\n').slice(0, -1)).map((line) => JSON.parse(line) as LedgerEvent & { readonly key: string });
  return [...new Map(lines.map((event) => [event.key, event])).values()];
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
