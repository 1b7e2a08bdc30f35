import { dirname, join } from 'node:path';
import type { RunningService } from './litellm.js';
import { freePort } from './ports.js';
import { startProcess } from './process.js';

export interface LlamaOptions {
  /** Path of `llama-server`, as the resolver gives it. */
  readonly program: string;
  /** Path of the gguf file. */
  readonly model: string;
  /** The name that clients ask for. Default `gemma`. */
  readonly alias?: string;
  /** Its log goes here. */
  readonly dir: string;
  /** Default: the system chooses. */
  readonly port?: number;
  /** Sequences at once. Default 4. */
  readonly slots?: number;
  /** For all slots together. Default 8,192. */
  readonly contextTokens?: number;
  /** Default 2. */
  readonly threads?: number;
}

const READY_WITHIN_MS = 120_000;

/**
 * Starts llama.cpp's server on the CPU.
 * @throws ServiceError with its last lines.
 */
export async function startLlama(options: LlamaOptions): Promise<RunningService> {
  const port = options.port ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  const running = await startProcess({
    title: 'llama.cpp server',
    command: options.program,
    args: [
      ...['-m', options.model, '--alias', options.alias ?? 'gemma', '--host', '127.0.0.1', '--port', String(port)],
      ...['--device', 'none', '-ngl', '0', '-t', String(options.threads ?? 2), '-np', String(options.slots ?? 4), '-c', String(options.contextTokens ?? 8_192)],
      ...['--metrics', '--slots', '--no-webui'],
    ],
    // Its libraries lie beside it.
    env: { LD_LIBRARY_PATH: [dirname(options.program), process.env['LD_LIBRARY_PATH'] ?? ''].filter((path) => path !== '').join(':') },
    logFile: join(options.dir, 'llama.log'),
    ready: { httpUrl: `${url}/health` },
    readyWithinMs: READY_WITHIN_MS,
  });
  return { ...running, url };
}
