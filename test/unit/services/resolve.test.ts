import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ensureInstalled } from '../../../src/services/install.js';
import { withLock } from '../../../src/services/lock.js';
import { checkStartupHooks } from '../../../src/services/parts.js';
import { whyNoEnvoyWheel } from '../../../src/services/platform.js';
import { resolveEnvoy, resolveLitellm } from '../../../src/services/resolve.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tokenweir-resolve-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function script(name: string, body: string): Promise<string> {
  const path = join(dir, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
  return path;
}

const envoy = (name: string, version: string): Promise<string> => script(name, `echo "envoy  version: 0123abcd/${version}/Clean/RELEASE/BoringSSL"`);

describe('the resolver looks in order', () => {
  test('flag before variable before PATH', async () => {
    const [flag, variable] = [await envoy('flag/envoy', '1.40.0'), await envoy('variable/envoy', '1.39.1')];
    await envoy('path/envoy', '1.38.0');
    const env = { PATH: `${dir}/path:/usr/bin:/bin`, TOKENWEIR_ENVOY: variable };
    expect(await resolveEnvoy({ flag, env })).toEqual({ path: flag, from: 'flag', version: '1.40.0' });
    expect(await resolveEnvoy({ env })).toEqual({ path: variable, from: 'variable', version: '1.39.1' });
    expect(await resolveEnvoy({ env: { PATH: env.PATH } })).toEqual({ path: join(dir, 'path/envoy'), from: 'path', version: '1.38.0' });
  });

  test('what was named and is too old is an error; on the PATH it is passed over', async () => {
    const old = await envoy('old/envoy', '1.35.9');
    await envoy('new/envoy', '1.38.0');
    await expect(resolveEnvoy({ flag: old })).rejects.toThrow('is Envoy 1.35.9; 1.38.0 or later is needed');
    expect(await resolveEnvoy({ env: { PATH: `${dir}/old:${dir}/new:/usr/bin:/bin` } })).toMatchObject({ version: '1.38.0' });
  });

  test('a path that names nothing is said by its source', async () => {
    await expect(resolveEnvoy({ env: { TOKENWEIR_ENVOY: '/nowhere/envoy', PATH: '' } })).rejects.toThrow('TOKENWEIR_ENVOY names /nowhere/envoy');
  });

  test('a malicious LiteLLM is refused without being run', async () => {
    const proof = join(dir, 'ran');
    const path = await script('v/bin/litellm', `touch ${proof}`);
    await mkdir(join(dir, 'v/lib/python3.11/site-packages/litellm-1.82.8.dist-info'), { recursive: true });
    await expect(resolveLitellm({ flag: path })).rejects.toThrow('malicious release');
    await expect(readFile(proof)).rejects.toThrow();
  });
});

describe('installing', () => {
  const part = { title: 'Thing', folder: 'thing-1', requirement: 'thing==1', needsBytes: 1 };

  /** A Python whose venv is a script that fails so often with such words. */
  async function python(failures: number, words: string): Promise<NodeJS.ProcessEnv> {
    const venvPython = `case "$*" in *"pip install"*) n=$(cat ${dir}/n 2>/dev/null || echo 0); echo $((n+1)) > ${dir}/n; if [ $n -lt ${failures} ]; then echo "${words}"; exit 1; fi;; esac`;
    await script('venv-python', venvPython);
    const body = `case "$*" in *version_info*) echo 3 11;; *"-m venv"*) mkdir -p "$3/bin"; cp ${dir}/venv-python "$3/bin/python";; esac`;
    return { ...process.env, TOKENWEIR_PYTHON: await script('python3', body) };
  }

  const attempts = async (): Promise<number> => Number(await readFile(join(dir, 'n'), 'utf8'));

  test('is done once, and again where it was left half-finished', async () => {
    const env = await python(0, '');
    const cache = join(dir, 'cache');
    await mkdir(join(cache, 'thing-1', 'venv'), { recursive: true });
    const lines: string[] = [];
    await ensureInstalled(cache, part, env, (line) => lines.push(line));
    await ensureInstalled(cache, part, env, (line) => lines.push(line));
    expect(await attempts()).toBe(1);
    expect(lines[0]).toBe('Thing: installing thing==1 into thing-1 (once)');
  });

  test('two at once install once', async () => {
    const env = await python(0, '');
    await Promise.all([1, 2, 3].map(() => ensureInstalled(join(dir, 'cache'), part, env, () => undefined)));
    expect(await attempts()).toBe(1);
  });

  test('is tried once more after a network fault, and only once', async () => {
    const env = await python(1, 'ConnectionError: reset');
    await ensureInstalled(join(dir, 'cache'), part, env, () => undefined);
    expect(await attempts()).toBe(2);
    await rm(join(dir, 'n'));
    await expect(ensureInstalled(join(dir, 'other'), part, await python(5, 'Read timed out'), () => undefined)).rejects.toThrow('pip could not install thing==1: Read timed out');
    expect(await attempts()).toBe(2);
  });

  test('is not tried again after another fault', async () => {
    const env = await python(5, 'error: metadata is broken');
    await expect(ensureInstalled(join(dir, 'cache'), part, env, () => undefined)).rejects.toThrow('metadata is broken');
    expect(await attempts()).toBe(1);
  });

  test.each([
    ['no Python', 'exit 127', /Python 3\.9 or later is needed to install it, and none was found/],
    ['an old Python', 'echo 3 8', /Python 3\.9 or later is needed to install it, and .* is 3\.8/],
    ['no venv module', 'case "$*" in *version_info*) echo 3 11;; *) exit 1;; esac', /has no venv module/],
  ])('says in a sentence: %s', async (_, body, message) => {
    const env = { ...process.env, TOKENWEIR_PYTHON: await script('python3', body) };
    await expect(ensureInstalled(join(dir, 'cache'), part, env, () => undefined)).rejects.toThrow(message);
  });

  test('says in a sentence: no disk space', async () => {
    const env = await python(0, '');
    const huge = { ...part, needsBytes: Number.MAX_SAFE_INTEGER };
    await expect(ensureInstalled(join(dir, 'cache'), huge, env, () => undefined)).rejects.toThrow(/Thing: not enough disk space to install it: \d+ MiB needed, \d+ MiB free/);
  });

  test('the lock of a process that died is taken over', async () => {
    const lock = join(dir, 'lock');
    await writeFile(lock, '999999999\n');
    expect(await withLock(lock, () => undefined, () => Promise.resolve('done'))).toBe('done');
  });

  test.each(['evil.pth', 'sitecustomize.py', 'usercustomize.py'])('LiteLLM with %s is rejected', async (name) => {
    const packages = join(dir, 'venv/lib/python3.11/site-packages');
    await mkdir(packages, { recursive: true });
    await writeFile(join(packages, 'distutils-precedence.pth'), '');
    await expect(checkStartupHooks(dir)).resolves.toBeUndefined();
    await writeFile(join(packages, name), '');
    await expect(checkStartupHooks(dir)).rejects.toThrow(name);
  });

  test.each([
    [{ os: 'linux', arch: 'x64', glibc: '2.31' }, null],
    [{ os: 'darwin', arch: 'arm64', glibc: null }, 'there is a wheel for x86-64 Linux only, this is darwin arm64'],
    [{ os: 'linux', arch: 'x64', glibc: null }, 'the wheel needs the GNU C library'],
    [{ os: 'linux', arch: 'x64', glibc: '2.28' }, 'the wheel needs glibc 2.31, this is 2.28'],
  ])('the Envoy wheel on %o', (platform, why) => {
    expect(whyNoEnvoyWheel(platform)).toBe(why);
  });
});
