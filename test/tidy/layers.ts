import { foreignImports, isGenerated, ownImports, type Source } from './sources.js';

/** Lower layers know nothing of higher ones. Layers of one rank do not import each other. */
const RANK: Readonly<Record<string, number>> = {
  lib: 0,
  domain: 1,
  wire: 2,
  estimate: 2,
  quota: 2,
  pool: 2,
  admission: 3,
  extproc: 4,
  fleet: 4,
  counting: 4,
  ledger: 4,
  stores: 4,
  config: 4,
  admin: 4,
  telemetry: 4,
  services: 4,
  upstream: 4,
  sim: 4,
  version: 4,
  app: 5,
  demo: 5,
  cli: 5,
  serve: 6,
  simulate: 6,
  main: 7,
};

/** The shells: everything that does I/O; nothing below them may. */
const SHELL_RANK = 4;
const ADMISSION_RANK = 3;

/** Of Node's own modules, those that only compute. */
const PURE_NODE_MODULES: ReadonlySet<string> = new Set([
  'node:buffer',
  'node:crypto',
  'node:string_decoder',
  'node:util',
  'node:zlib',
]);

/** The first folder below `src`, or the file's own name there: `src/app.ts` is the layer `app`. */
export function layerOf(path: string): string {
  return path.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

/** Each import goes down, or stays in its folder. */
export function layerProblems(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const from = layerOf(source.path);
    if (RANK[from] === undefined) return [`${source.path}: the layer ${from} is not in the table of layers`];
    return ownImports(source)
      .filter((target) => !target.startsWith('src/') || !mayImport(from, layerOf(target)))
      .map((target) => `${source.path}: ${from} must not import ${target}`);
  });
}

function mayImport(from: string, to: string): boolean {
  return from === to || (RANK[to] ?? Infinity) < (RANK[from] ?? -1);
}

/** Packages that only compute. */
const PURE_PACKAGES: ReadonlySet<string> = new Set(['@smithy/eventstream-codec', '@smithy/util-utf8', 'fzstd', 'xxhash-wasm']);

/** Layers below the shells do no I/O: of modules and packages they use only the listed ones. */
export function ioImportProblems(sources: readonly Source[]): string[] {
  return sources
    .filter(isPure)
    .flatMap((source) =>
      foreignImports(source)
        .filter((specifier) => !PURE_NODE_MODULES.has(specifier) && !PURE_PACKAGES.has(specifier))
        .map((specifier) => `${source.path}: ${layerOf(source.path)} must not import ${specifier}`),
    );
}

/** Whether a file belongs to `domain`, the middle layers or `admission`. */
export function isPure(source: Source): boolean {
  const rank = RANK[layerOf(source.path)] ?? SHELL_RANK;
  return rank >= 1 && rank <= ADMISSION_RANK;
}

/** Imports that point at nothing: a rule that follows imports must not lose its way silently. */
export function unresolvedProblems(sources: readonly Source[]): string[] {
  const known = new Set(sources.map((source) => source.path));
  return sources.flatMap((source) =>
    ownImports(source)
      .filter((target) => target.startsWith('src/') && !known.has(target) && !isGenerated(target))
      .map((target) => `${source.path}: imports ${target}, which is not there`),
  );
}

/** Files that reach themselves by their imports, type imports included. */
export function cycleProblems(sources: readonly Source[]): string[] {
  const graph = graphOf(sources);
  const done = new Set<string>();
  const problems: string[] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) problems.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (done.has(path) || trail.includes(path)) return;
    for (const next of graph.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  return problems;
}

/** Files that no entry reaches, and entries that are not there. */
export function deadFileProblems(sources: readonly Source[], entries: readonly string[]): string[] {
  const graph = graphOf(sources);
  const reached = new Set<string>();
  const queue = [...entries];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    queue.push(...(graph.get(path) ?? []));
  }
  const dead = [...graph.keys()].filter((path) => !reached.has(path));
  const missing = entries.filter((path) => !graph.has(path));
  return [...dead.map((path) => `${path}: no entry reaches it`), ...missing.map((path) => `${path}: no such entry`)];
}

function graphOf(sources: readonly Source[]): Map<string, string[]> {
  return new Map(sources.map((source) => [source.path, ownImports(source)]));
}
