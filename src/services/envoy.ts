import { dirname, join } from 'node:path';
import type { RunningProcess } from './process.js';
import { startProcess } from './process.js';

export interface EnvoyOptions {
  /** Path of the Envoy binary, as the resolver gives it. */
  readonly program: string;
  /** Path of a rendered configuration. */
  readonly config: string;
  readonly listenerPort: number;
  readonly adminPort: number;
  /** Worker threads. Default 1. */
  readonly concurrency?: number;
  /** Default: beside the configuration. */
  readonly logFile?: string;
  /** Default `warning`. */
  readonly logLevel?: 'trace' | 'debug' | 'info' | 'warning' | 'error';
}

export interface RunningEnvoy {
  /** Where clients connect, without a slash at the end. */
  readonly url: string;
  readonly adminUrl: string;
  /** Its own messages and the access log. */
  readonly logFile: string;
  /** Value of one counter or gauge by its full name; 0 where Envoy has none of that name yet. */
  stats(name: string): Promise<number>;
  /** Lines of the access log so far. */
  accessLog(): Record<string, unknown>[];
  stop(): Promise<void>;
}

/**
 * Starts Envoy and waits until it serves. Hot restart is off: it would share memory between Envoys of one machine.
 * @throws ServiceError with Envoy's own last lines.
 */
export async function startEnvoy(options: EnvoyOptions): Promise<RunningEnvoy & RunningProcess> {
  const adminUrl = `http://127.0.0.1:${options.adminPort}`;
  const running = await startProcess({
    title: 'Envoy',
    command: options.program,
    args: [
      ...['-c', options.config, '--disable-hot-restart'],
      ...['--concurrency', String(options.concurrency ?? 1), '--log-level', options.logLevel ?? 'warning'],
      // The access log is written this often; the default of 10 s is too long for somebody who watches.
      ...['--file-flush-interval-msec', '200'],
    ],
    logFile: options.logFile ?? join(dirname(options.config), 'envoy.log'),
    ready: { httpUrl: `${adminUrl}/ready` },
  });
  return {
    ...running,
    ...envoyAt(`http://127.0.0.1:${options.listenerPort}`, adminUrl),
    accessLog: () => accessLines(running.tail()),
  };
}

/** The part that needs nothing but addresses: the same for an Envoy in a container. */
export function envoyAt(url: string, adminUrl: string): Pick<RunningEnvoy, 'url' | 'adminUrl' | 'stats'> {
  return { url, adminUrl, stats: (name) => readStat(adminUrl, name) };
}

async function readStat(adminUrl: string, name: string): Promise<number> {
  const pattern = `^${name.replaceAll('.', '\\.')}$`;
  const answer = await fetch(`${adminUrl}/stats?filter=${encodeURIComponent(pattern)}`);
  const match = /: (\d+)\s*$/m.exec(await answer.text());
  return match === null ? 0 : Number(match[1]);
}

/** The access log is the lines that are JSON objects. */
export function accessLines(output: string): Record<string, unknown>[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
