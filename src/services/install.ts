import { mkdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastLines, runCommand } from './command.js';
import { withLock } from './lock.js';
import { cleanPythonEnv, findPython } from './python.js';
import { ServiceError } from './service-error.js';

/** A part that is installed from a Python package into a virtual environment of its own. */
export interface Part {
  /** How it is called in messages. */
  readonly title: string;
  /** Folder in the cache, with the version in its name: a new version is a new folder. */
  readonly folder: string;
  /** Requirement for pip, pinned. */
  readonly requirement: string;
  /** Free disk space that the install takes at its peak. */
  readonly needsBytes: number;
  /** Checks what was installed before anything of it runs, or finishes it. Throws to reject it. */
  readonly finish?: (install: InstallContext) => Promise<void>;
}

export interface InstallContext {
  /** The part's folder: `venv/` is in it. */
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly progress: Progress;
}

/** Told one line of progress at a time. */
export type Progress = (line: string) => void;

const STAMP = 'installed.json';
const NETWORK_FAULT =
  /ConnectionError|Connection (reset|refused|aborted|broken)|timed? ?out|Temporary failure in name resolution|NewConnectionError|ProtocolError|IncompleteRead|SSLError|50[0234] (Server|Bad|Service|Gateway)|hash(es)? (do|does) not match|No matching distribution/i;

/**
 * Makes sure a part is installed in the cache and returns its folder. A folder without a stamp is a half-finished install
 * and is made anew; a virtual environment is never moved, as its scripts hold its path.
 * @throws ServiceError with one sentence about what is missing.
 */
export async function ensureInstalled(cacheDir: string, part: Part, env: NodeJS.ProcessEnv, progress: Progress): Promise<string> {
  const dir = join(cacheDir, part.folder);
  if (await isInstalled(dir, part)) return dir;
  await mkdir(cacheDir, { recursive: true });
  const waiting = (pid: number): void => {
    progress(`${part.title}: waiting for another process (${pid}) that installs it`);
  };
  await withLock(`${dir}.lock`, waiting, async () => {
    if (!(await isInstalled(dir, part))) await install(cacheDir, dir, part, env, progress);
  });
  return dir;
}

async function isInstalled(dir: string, part: Part): Promise<boolean> {
  try {
    const stamp: unknown = JSON.parse(await readFile(join(dir, STAMP), 'utf8'));
    return JSON.stringify(stamp) === JSON.stringify(stampOf(dir, part));
  } catch {
    return false;
  }
}

/** The folder is in the stamp: a copied or moved project must not run scripts that point to its old place. */
function stampOf(dir: string, part: Part): { requirement: string; dir: string } {
  return { requirement: part.requirement, dir };
}

async function install(cacheDir: string, dir: string, part: Part, env: NodeJS.ProcessEnv, progress: Progress): Promise<void> {
  const startMs = performance.now();
  const clean = cleanPythonEnv(env);
  const python = await explain(part, () => findPython(clean));
  await checkSpace(cacheDir, part);
  await rm(dir, { recursive: true, force: true });
  progress(`${part.title}: installing ${part.requirement} into ${part.folder} (once)`);
  try {
    await makeVenv(python, dir, part, clean);
    await pipInstall(dir, part, clean, progress);
    await part.finish?.({ dir, env: clean, progress });
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
  const stamp = join(dir, STAMP);
  await writeFile(`${stamp}.new`, JSON.stringify(stampOf(dir, part)));
  await rename(`${stamp}.new`, stamp);
  progress(`${part.title}: installed in ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
}

async function explain<T>(part: Part, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ServiceError ? new ServiceError(`${part.title}: ${error.message}`) : error;
  }
}

async function checkSpace(cacheDir: string, part: Part): Promise<void> {
  const disk = await statfs(cacheDir);
  const freeBytes = disk.bavail * disk.bsize;
  if (freeBytes >= part.needsBytes) return;
  const mebibytes = (bytes: number): string => `${Math.floor(bytes / 1_048_576)} MiB`;
  throw new ServiceError(`${part.title}: not enough disk space to install it: ${mebibytes(part.needsBytes)} needed, ${mebibytes(freeBytes)} free in ${cacheDir}`);
}

async function makeVenv(python: string, dir: string, part: Part, env: NodeJS.ProcessEnv): Promise<void> {
  const made = await runCommand(python, ['-m', 'venv', join(dir, 'venv')], { env, timeoutMs: 120_000 });
  if (made.code !== 0) throw new ServiceError(`${part.title}: no virtual environment could be made: ${lastLines(made.output, 3)}`);
}

async function pipInstall(dir: string, part: Part, env: NodeJS.ProcessEnv, progress: Progress): Promise<void> {
  const args = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--progress-bar', 'off', '--only-binary', ':all:'];
  const onLine = (line: string): void => {
    // Of a hundred packages only the large ones take time.
    const shown = /^\s*(Downloading .* MB\)|Installing|WARNING|ERROR)/.test(line);
    if (shown) progress(`${part.title}: ${line.trim().slice(0, 100)}`);
  };
  for (let attempt = 1; ; attempt++) {
    const result = await runCommand(join(dir, 'venv', 'bin', 'python'), [...args, part.requirement], { env, onLine, timeoutMs: 900_000 });
    if (result.code === 0) return;
    if (/No space left on device/.test(result.output)) throw new ServiceError(`${part.title}: the disk is full`);
    if (attempt === 2 || !NETWORK_FAULT.test(result.output)) {
      throw new ServiceError(`${part.title}: pip could not install ${part.requirement}: ${lastLines(result.output, 3)}`);
    }
    progress(`${part.title}: the network failed, trying once more`);
  }
}
