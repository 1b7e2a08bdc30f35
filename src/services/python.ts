import { runCommand } from './command.js';
import { ServiceError } from './service-error.js';

const OLDEST = [3, 9] as const;

/**
 * Finds a Python that can make virtual environments: `TOKENWEIR_PYTHON`, else `python3`, else `python`.
 * @throws ServiceError where there is none, it is too old, or its venv module is missing.
 */
export async function findPython(env: NodeJS.ProcessEnv): Promise<string> {
  const named = env['TOKENWEIR_PYTHON'];
  const candidates = named ? [named] : ['python3', 'python'];
  let tooOld: string | null = null;
  for (const python of candidates) {
    const version = await pythonVersion(python, env);
    if (version === null) continue;
    if (isOlder(version)) tooOld = `${python} is ${version.join('.')}`;
    else return withVenv(python, env);
  }
  const need = `Python ${OLDEST.join('.')} or later is needed to install it`;
  throw new ServiceError(tooOld === null ? `${need}, and none was found (${candidates.join(', ')})` : `${need}, and ${tooOld}`);
}

async function pythonVersion(python: string, env: NodeJS.ProcessEnv): Promise<[number, number] | null> {
  const result = await runCommand(python, ['-c', 'import sys; print(*sys.version_info[:2])'], { env, timeoutMs: 20_000 });
  const match = result.code === 0 ? /^(\d+) (\d+)/m.exec(result.output) : null;
  return match === null ? null : [Number(match[1]), Number(match[2])];
}

function isOlder([major, minor]: [number, number]): boolean {
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

/** Debian ships Python without `ensurepip`: `import venv` works there and making one fails. */
async function withVenv(python: string, env: NodeJS.ProcessEnv): Promise<string> {
  const result = await runCommand(python, ['-c', 'import venv, ensurepip'], { env, timeoutMs: 20_000 });
  if (result.code === 0) return python;
  throw new ServiceError(`${python} has no venv module: install it (Debian and Ubuntu: apt install python3-venv)`);
}

/** The environment without the settings that make pip or Python work outside the virtual environment. */
export function cleanPythonEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const clean = { ...env, PYTHONNOUSERSITE: '1' };
  const outside = ['PIP_USER', 'PIP_TARGET', 'PIP_PREFIX', 'PIP_ROOT', 'PIP_BREAK_SYSTEM_PACKAGES', 'PYTHONPATH', 'PYTHONHOME', 'PYTHONUSERBASE', 'VIRTUAL_ENV'];
  return Object.fromEntries(Object.entries(clean).filter(([name]) => !outside.includes(name)));
}
