import { randomUUID } from 'node:crypto';
import { createApp, type App } from '../../src/app.js';
import { formatProblems, parseConfig, type Config } from '../../src/config/load.js';
import type { PoolStore } from '../../src/domain/pool.js';
import type { Store } from '../../src/domain/store.js';
import { systemClock, type Clock } from '../../src/lib/clock.js';
import { Log } from '../../src/telemetry/log.js';

export interface RunningProcessor {
  readonly app: App;
  readonly port: number;
  /** URL of the admin server. */
  readonly adminUrl: string;
  /** Parsed log lines up to now. */
  readonly log: Record<string, unknown>[];
  /** Puts another YAML in force. */
  reconfigure(yaml: string): void;
  /** Waits until no lease is open: settled streams are what tests look at. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Reads a configuration that must be right; the ports are the system's choice, draining is instant. */
export function configOf(yaml: string): Config {
  const listen = 'server: { extProc: "127.0.0.1:0", admin: "127.0.0.1:0", drain: { noticeMs: 0, timeoutMs: 2000 } }\n';
  const loaded = parseConfig(/^server:/m.test(yaml) ? yaml : `${listen}${yaml}`, 'test.yaml');
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  return loaded.config;
}

/** Runs the whole program inside the test's process. */
export async function startProcessor(yaml: string, store?: Store, clock: Clock = systemClock, pools?: PoolStore): Promise<RunningProcessor> {
  const log: Record<string, unknown>[] = [];
  const write = (line: string): void => {
    log.push(JSON.parse(line) as Record<string, unknown>);
  };
  const config = configOf(yaml);
  const app = await createApp({
    config, clock, version: 'test', newId: randomUUID, ...(store === undefined ? {} : { store }), ...(pools === undefined ? {} : { pools }),
    log: new Log({ level: 'info', clock: systemClock, destination: { write } }),
  });
  const { extProcPort, admin } = await app.start();
  return {
    app, log, port: extProcPort, adminUrl: `http://${admin}`,
    reconfigure: (next) => {
      app.reconfigure(configOf(next));
    },
    idle: async () => {
      const deadline = Date.now() + 10_000;
      while ((await app.status()).leases > 0) {
        if (Date.now() > deadline) throw new Error('leases are still open after 10 s');
        await new Promise((resume) => setTimeout(resume, 10));
      }
    },
    stop: () => app.close(),
  };
}
