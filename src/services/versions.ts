import { readdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runCommand } from './command.js';
import { sitePackages } from './parts.js';

/** The oldest Envoy whose external processing does what we need: 1.37 does not know `allow_content_length_header`. */
export const OLDEST_ENVOY = '1.38.0';

/** Version of an Envoy binary, like `1.40.0`; null where it does not run or is no Envoy. */
export async function envoyVersion(path: string): Promise<string | null> {
  const result = await runCommand(path, ['--version'], { timeoutMs: 20_000 });
  return /version: [0-9a-f]+\/(\d+\.\d+\.\d+)/.exec(result.output)?.[1] ?? null;
}

/** Whether `version` is `oldest` or later; both are dotted numbers. */
export function isAtLeast(version: string, oldest: string): boolean {
  const parts = version.split('.').map(Number);
  const bounds = oldest.split('.').map(Number);
  for (const [i, bound] of bounds.entries()) {
    const part = parts[i] ?? 0;
    if (part !== bound) return part > bound;
  }
  return true;
}

/**
 * Version of the LiteLLM that a `litellm` script belongs to, read from its package folder: to ask the program itself
 * would run it. Null where that can't be told.
 */
export async function litellmVersion(script: string): Promise<string | null> {
  for (const path of [script, await realpath(script).catch(() => script)]) {
    const packages = await sitePackages(dirname(dirname(path)));
    const names = packages === null ? [] : await readdir(packages).catch(() => []);
    const info = names.map((name) => /^litellm-(.+)\.dist-info$/.exec(name)).find((match) => match !== null);
    if (info) return info[1] ?? null;
  }
  return null;
}

/** Path of a file inside an installed part's packages. Programs are started from there, not by the wheel's scripts, which start Python first. */
export async function packagedFile(dir: string, ...segments: string[]): Promise<string> {
  return join((await sitePackages(join(dir, 'venv'))) ?? dir, ...segments);
}
