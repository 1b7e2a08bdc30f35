import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePort } from './ports.js';
import type { RunningProcess } from './process.js';
import { startProcess } from './process.js';

export interface LitellmModel {
  /** The name that clients ask for. */
  readonly name: string;
  /** The name under which the model server knows it; default the same. */
  readonly backendName?: string;
  /** The model server, without `/v1`. */
  readonly backendUrl: string;
}

export interface LitellmOptions {
  /** Path of the `litellm` script, as the resolver gives it. */
  readonly program: string;
  readonly models: readonly LitellmModel[];
  /** The key that clients give; null: any key is taken (whoever stands in front knows them). */
  readonly masterKey: string | null;
  /** Configuration and log go here. */
  readonly dir: string;
  /** Default: the system chooses. */
  readonly port?: number;
}

export type RunningService = RunningProcess & { readonly url: string };

const READY_WITHIN_MS = 120_000;

/**
 * Starts the real LiteLLM proxy in front of model servers, without retries and cool-downs: a refusal behind it must
 * reach the client at once, and must not take a deployment away from everybody.
 * @throws ServiceError with LiteLLM's last lines.
 */
export async function startLitellm(options: LitellmOptions): Promise<RunningService> {
  const port = options.port ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  await mkdir(options.dir, { recursive: true });
  const config = join(options.dir, 'litellm.yaml');
  await writeFile(config, stringify(litellmConfig(options)), { mode: 0o600 });
  const running = await startProcess({
    title: 'LiteLLM',
    command: options.program,
    args: ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--telemetry', 'False'],
    env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_TELEMETRY: 'False', DISABLE_ADMIN_UI: 'True', NO_DOCS: 'True', PYTHONUNBUFFERED: '1', ...openDoor(options) },
    cwd: options.dir,
    logFile: join(options.dir, 'litellm.log'),
    ready: { httpUrl: `${url}/health/liveliness` },
    readyWithinMs: READY_WITHIN_MS,
  });
  return { ...running, url };
}

/** Without a key of its own LiteLLM starts only if it is told that this is meant. It listens on loopback. */
function openDoor({ masterKey }: Pick<LitellmOptions, 'masterKey'>): NodeJS.ProcessEnv {
  return masterKey === null ? { LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true' } : {};
}

/** LiteLLM's configuration as an object. */
export function litellmConfig(options: Pick<LitellmOptions, 'models' | 'masterKey'>): object {
  return {
    model_list: options.models.map(({ name, backendName, backendUrl }) => ({
      model_name: name,
      litellm_params: { model: `hosted_vllm/${backendName ?? name}`, api_base: `${backendUrl}/v1`, api_key: 'none' },
    })),
    general_settings: { ...(options.masterKey === null ? {} : { master_key: options.masterKey }), forward_client_headers_to_llm_api: true },
    litellm_settings: { num_retries: 0 },
    router_settings: { num_retries: 0, disable_cooldowns: true },
  };
}
