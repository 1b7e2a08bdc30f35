import { watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { CancelTimer, Clock } from '../lib/clock.js';
import type { Config, ServerSettings } from './config.js';
import { sha256Hex } from '../lib/hash.js';
import { judgeFile, readBounded, type LoadResult, type Problem } from './load.js';
import type { FileContent } from './outside.js';
import type { Path } from './problem.js';

/** Editors and volume mounts change a file in several steps: they are taken as one. */
const DEBOUNCE_MS = 200;

export interface WatchOptions {
  readonly path: string;
  readonly clock: Clock;
  /** The configuration in force: its `server` part, its store and its admin token stay, whatever the file says later. */
  readonly current: Config;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A new configuration, whole and right, with warnings for the log. */
  readonly onReload: (config: Config, warnings: readonly Problem[]) => void;
  /** The file is not as it should be: nothing of it was taken. */
  readonly onProblem: (problems: readonly Problem[]) => void;
  /** The file can't be watched (any longer); an explicit reload still works. */
  readonly onWatchFault: (error: unknown) => void;
}

export interface ConfigWatch {
  /** Reads the file and what it refers to now, changed or not (for SIGHUP). Reloads run one after the other. */
  reload(): Promise<LoadResult>;
  close(): void;
}

/** Follows a configuration file: all of a change is taken, or, where anything is wrong with it, none. */
export function watchConfig(options: WatchOptions): ConfigWatch {
  const { path, clock, env = process.env } = options;
  let seen = options.current.fingerprint;
  let queue: Promise<unknown> = Promise.resolve();
  let closed = false;

  async function take(content: FileContent): Promise<LoadResult> {
    seen = fingerprint(content);
    const result = keepServer(await judgeFile(path, content, env), options.current);
    if (closed) return result;
    if (result.ok) options.onReload(result.config, result.warnings);
    else options.onProblem(result.problems);
    return result;
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work);
    queue = done.catch(() => undefined);
    return done;
  }

  const stopWatching = watchFile(options, () => {
    inTurn(async () => {
      const content = await readBounded(path);
      if (fingerprint(content) !== seen) await take(content);
    }).catch(options.onWatchFault);
  });
  return {
    reload: () => inTurn(async () => take(await readBounded(path))),
    close: () => {
      closed = true;
      stopWatching();
    },
  };

  function watchFile({ onWatchFault }: WatchOptions, changed: () => void): () => void {
    const name = basename(path);
    let cancel: CancelTimer = () => undefined;
    let watcher: FSWatcher | null = null;
    try {
      // The folder, not the file: a renamed-over file is another file. `..data` is how Kubernetes swaps a mounted volume.
      watcher = watch(dirname(path), { persistent: false }, (_, file) => {
        if (file !== null && file !== name && !file.startsWith('..')) return;
        cancel();
        cancel = clock.after(DEBOUNCE_MS, changed);
      });
      watcher.on('error', onWatchFault);
    } catch (error) {
      onWatchFault(error);
    }
    return () => {
      cancel();
      watcher?.close();
    };
  }
}

function fingerprint(content: FileContent): string {
  return content.ok ? sha256Hex(content.text) : content.reason;
}

/** Where the settings of the server stand, under `server`. */
const SERVER_PATHS: Record<keyof ServerSettings, Path> = {
  extProc: ['extProc'], admin: ['admin'], tls: ['tls'], drainNoticeMs: ['drain', 'noticeMs'], drainTimeoutMs: ['drain', 'timeoutMs'], maxBodyBytes: ['maxBodyBytes'],
};

/** Sockets and the store are open already: what the file says of them now holds after a restart, and a warning tells so. */
function keepServer(result: LoadResult, current: Config): LoadResult {
  if (!result.ok) return result;
  const { server, policy } = result.config;
  const fields = Object.keys(server) as (keyof ServerSettings)[];
  const changed = fields.filter((field) => JSON.stringify(server[field]) !== JSON.stringify(current.server[field]));
  const warn = (path: Path, what: string): Problem => result.place({ path, message: `${what}: this needs a restart and is ignored until then`, at: 'value' });
  const warnings = changed.map((field) => warn(['server', ...SERVER_PATHS[field]], 'changed in the file'));
  if (result.config.adminToken !== current.adminToken) warnings.push(warn(['adminToken'], 'the admin token changed'));
  if (JSON.stringify(result.config.store) !== JSON.stringify(current.store)) warnings.push(warn(['store'], 'the store changed'));
  const kept = { ...result.config, server: current.server, store: current.store, adminToken: current.adminToken, policy: { ...policy, maxBodyBytes: current.server.maxBodyBytes } };
  return { ...result, config: kept, warnings: [...result.warnings, ...warnings] };
}
