import type { Document } from 'yaml';

type Edit = (config: Document) => void;
type Path = readonly (string | number)[];

const LISTENER: Path = ['static_resources', 'listeners', 0];
const MANAGER: Path = [...LISTENER, 'filter_chains', 0, 'filters', 0, 'typed_config'];
const EXT_PROC: Path = [...MANAGER, 'http_filters', 0, 'typed_config'];
const ROUTE: Path = [...MANAGER, 'route_config', 'virtual_hosts', 0, 'routes', 0, 'route'];
const CLUSTERS = { tokenweir: 0, upstream: 1 } as const;

/** Paths into the reference configurations, for tests that change or remove one line of them. */
export const at = {
  manager: (...rest: Path): Path => [...MANAGER, ...rest],
  extProc: (...rest: Path): Path => [...EXT_PROC, ...rest],
  route: (...rest: Path): Path => [...ROUTE, ...rest],
  filters: (): Path => [...MANAGER, 'http_filters'],
  cluster: (name: keyof typeof CLUSTERS, ...rest: Path): Path => ['static_resources', 'clusters', CLUSTERS[name], ...rest],
  /** HTTP options of a cluster. */
  http: (name: keyof typeof CLUSTERS, ...rest: Path): Path => [
    ...['static_resources', 'clusters', CLUSTERS[name], 'typed_extension_protocol_options'],
    ...['envoy.extensions.upstreams.http.v3.HttpProtocolOptions', ...rest],
  ],
};

/** Puts a value at a path. */
export function set(path: Path, value: unknown): Edit {
  return (config) => {
    config.setIn(path, config.createNode(value));
  };
}

/** Removes what is at a path, and fails where nothing is: a test that removes nothing proves nothing. */
export function without(path: Path): Edit {
  return (config) => {
    if (!config.deleteIn(path)) throw new Error(`nothing at ${path.join('.')}`);
  };
}

/** All of these, one after the other. */
export function all(...edits: readonly Edit[]): Edit {
  return (config) => {
    for (const edit of edits) edit(config);
  };
}
