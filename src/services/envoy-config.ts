import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Document } from 'yaml';
import { isMap, parseDocument, visit } from 'yaml';
import { PROJECT_ROOT } from './resolve.js';
import { ServiceError } from './service-error.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface EnvoyAddresses {
  /** Where clients connect. */
  readonly listener: Address;
  /** Envoy's own admin interface. */
  readonly admin: Address;
  /** The processor's gRPC port. */
  readonly processor: Address;
  /** The gateway or model server behind. */
  readonly upstream: Address;
}

export interface RenderOptions {
  /** Where the rendered file goes; default a new temporary folder. */
  readonly dir?: string;
  /** Bound of the upstream's circuit breaker; default as in the file. */
  readonly upstreamMaxRequests?: number;
  /** Any other change, made last: the document keeps its comments. */
  readonly edit?: (config: Document) => void;
}

/** The ports by which the reference files name each place. */
const WELL_KNOWN: ReadonlyMap<unknown, keyof EnvoyAddresses> = new Map([
  [10000, 'listener'],
  [9901, 'admin'],
  [9002, 'processor'],
  [4000, 'upstream'],
]);

/**
 * Takes a configuration (a name in `envoy/`, or a path), puts in these addresses and writes it to a file of its own.
 * Only addresses are changed: what runs is the reference configuration.
 * @returns the path of the rendered file.
 * @throws ServiceError if one of the four places is not in the file.
 */
export async function renderEnvoyConfig(file: string, addresses: EnvoyAddresses, options: RenderOptions = {}): Promise<string> {
  const source = file.includes('/') ? resolve(file) : join(PROJECT_ROOT, 'envoy', file);
  const config = parseDocument(await readFile(source, 'utf8'));
  const found = replaceAddresses(config, addresses);
  for (const [port, place] of WELL_KNOWN) {
    if (!found.has(place)) throw new ServiceError(`${file} has no address with port ${String(port)} (${place})`);
  }
  if (options.upstreamMaxRequests !== undefined) setUpstreamMaxRequests(config, options.upstreamMaxRequests);
  options.edit?.(config);
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'tokenweir-envoy-')));
  const target = join(dir, 'envoy.yaml');
  await writeFile(target, config.toString({ lineWidth: 0 }));
  return target;
}

/** One walk, so that a new port that equals a well-known one is not replaced again. */
function replaceAddresses(config: Document, addresses: EnvoyAddresses): Set<keyof EnvoyAddresses> {
  const found = new Set<keyof EnvoyAddresses>();
  visit(config, {
    Map(_, node) {
      const place = WELL_KNOWN.get(node.get('port_value'));
      if (place === undefined || !node.has('address')) return;
      node.set('address', addresses[place].host);
      node.set('port_value', addresses[place].port);
      found.add(place);
    },
  });
  return found;
}

function setUpstreamMaxRequests(config: Document, maxRequests: number): void {
  visit(config, {
    Map(_, node) {
      if (node.get('name') !== 'upstream' || !node.has('circuit_breakers')) return;
      const threshold = node.getIn(['circuit_breakers', 'thresholds', 0]);
      if (isMap(threshold)) threshold.set('max_requests', maxRequests);
    },
  });
}
