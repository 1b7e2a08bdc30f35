import { randomUUID } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { createApp, type App } from './app.js';
import type { Config } from './config/config.js';
import { formatProblems, problemLines, loadConfig } from './config/load.js';
import { watchConfig, type ConfigWatch } from './config/reload.js';
import { systemClock } from './lib/clock.js';
import { fdDestination } from './telemetry/log-destination.js';
import { Log } from './telemetry/log.js';
import { VERSION } from './version.js';

/** A processor that runs until it is told to stop. */
export interface Serving {
  reload(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the processor that a configuration file describes. @throws Error in one sentence, or with all problems of the file. */
export async function serve(configPath: string): Promise<Serving> {
  const loaded = await loadConfig(configPath);
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  const log = new Log({ level: loaded.config.logLevel, clock: systemClock, destination: fdDestination(systemClock) });
  const app = await createApp({ config: loaded.config, clock: systemClock, log, version: VERSION, newId: randomUUID });
  for (const warning of problemLines(loaded.warnings)) log.warn(warning);
  const unguard = tellUnhandled(process, app);
  const listening = await app.start();
  log.info('serving', { extProc: loaded.config.server.extProc, extProcPort: listening.extProcPort, admin: listening.admin });
  const watch = watchConfiguration(configPath, loaded.config, app, log);
  return {
    reload: async () => {
      await watch.reload();
    },
    stop: async () => {
      log.info('draining');
      watch.close();
      await app.close();
      unguard();
    },
  };
}

/**
 * A failed promise that nobody waited for is a bug, and by default the end of the process with every stream in it: here it is
 * counted and told instead. An exception that nobody caught still ends the process. @returns how to stop that.
 */
export function tellUnhandled(source: EventEmitter, app: Pick<App, 'unhandled'>): () => void {
  const tell = (error: unknown): void => {
    app.unhandled(error);
  };
  source.on('unhandledRejection', tell);
  return () => {
    source.off('unhandledRejection', tell);
  };
}

function watchConfiguration(path: string, config: Config, app: App, log: Log): ConfigWatch {
  return watchConfig({
    path,
    current: config,
    clock: systemClock,
    onReload: (next, warnings) => {
      app.reconfigure(next);
      log.setLevel(next.logLevel);
      for (const warning of problemLines(warnings)) log.warn(warning);
      log.info('configuration reloaded', { path });
    },
    onProblem: (problems) => {
      log.error(`configuration not taken, the old one stays in force:\n${formatProblems(problems)}`);
      app.reloadRefused();
    },
    onWatchFault: (error) => {
      log.error('the configuration file is not watched any longer; SIGHUP still reloads it', error);
    },
  });
}
