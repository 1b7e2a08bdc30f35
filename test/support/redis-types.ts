/** A Redis server of its own, on a free port of loopback, that does what a test tells it. */
export interface RedisServer {
  /** `redis://127.0.0.1:PORT/0`, or `rediss://…` */
  readonly url: string;
  readonly port: number;
  /** Ends it as a crash would, or as the signal says; resolves when it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Stands still: connections stay open and nothing answers (SIGSTOP). */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Killed if it runs, and started again on the same port: with what its append-only file holds, or empty. */
  restart(options?: { readonly keepData: boolean }): Promise<void>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

export interface RedisOptions {
  /** Added to its command line. Nothing is written to disk unless these say so: `['--appendonly', 'yes']`. */
  readonly args?: readonly string[];
  /** Another server program than `redis-server`. */
  readonly binary?: string;
  readonly port?: number;
  /** It listens for TLS only; `args` name its certificates. */
  readonly tls?: boolean;
}

/** What every test server is started with: no snapshots, loopback only. */
export const BASE_ARGS = ['--bind', '127.0.0.1', '--save', '', '--daemonize', 'no', '--loglevel', 'notice', '--logfile', ''];

/** Where it listens, on its command line. */
export function portArgs(port: number, tls = false): string[] {
  return tls ? ['--port', '0', '--tls-port', String(port)] : ['--port', String(port)];
}

/** How it is called in a configuration. */
export function urlOf(port: number, tls = false): string {
  return `${tls ? 'rediss' : 'redis'}://127.0.0.1:${port}/0`;
}
