/** A Redis server of its own, on a free port of loopback, that does what a test tells it. */
export interface RedisServer {
  /** `redis://127.0.0.1:PORT/0` */
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
}

/** What every test server is started with: no snapshots, loopback only. */
export const BASE_ARGS = ['--bind', '127.0.0.1', '--save', '', '--daemonize', 'no', '--loglevel', 'notice', '--logfile', ''];
