import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Entitlement, PoolSettings, PoolSnapshot } from '../../src/domain/pool.js';
import { guardGroup, signalGroup } from '../../src/services/guard.js';
import { PROJECT_ROOT } from '../../src/services/resolve.js';

/** What happened, to which lease, and when, in milliseconds since the epoch. */
export type Happened = readonly [what: string, leaseId: string, atMs: number];

export interface WorkerSettings {
  readonly pool: PoolSettings;
  readonly entitlement: Entitlement;
  readonly options: { readonly timeoutMs: number };
}

/** A processor that is a process. */
export interface PoolWorker {
  readonly name: string;
  load(load: { readonly clients: number; readonly workMs: number; readonly maxWaitMs: number }): Promise<void>;
  /** Its clients end what they have, and begin nothing more. */
  stop(): Promise<void>;
  left(): Promise<{ readonly held: number; readonly running: number }>;
  /** All that happened until now. */
  log(): Promise<readonly Happened[]>;
  snapshot(): Promise<PoolSnapshot | null>;
  signal(signal: NodeJS.Signals): void;
  close(): Promise<void>;
}

/** The built program; `npm test` builds it first. */
const DIST = join(PROJECT_ROOT, process.env['TOKENWEIR_DIST'] ?? 'dist');
const FILE = join(PROJECT_ROOT, 'test', 'support', 'pool-worker.mjs');

interface Answered {
  readonly id: number;
  readonly answer?: unknown;
  readonly error?: string;
}

export async function startPoolWorker(url: string, name: string, settings: WorkerSettings): Promise<PoolWorker> {
  const child = fork(FILE, [url, name, DIST, JSON.stringify(settings)], { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const release = guardGroup(child.pid!);
  const waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
  let ids = 0;
  const ready = answerTo(0, waiting);
  child.on('message', ({ id, answer, error }: Answered) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(answer);
    else call?.reject(new Error(error));
  });
  child.once('exit', () => {
    release();
    for (const { reject } of waiting.values()) reject(new Error(`${name} ended`));
  });
  await ready;
  const call = (what: string, argument: unknown = null): Promise<unknown> => {
    const id = ++ids;
    child.send({ id, call: what, argument });
    return answerTo(id, waiting);
  };
  const happened: Happened[] = [];
  return {
    name,
    load: async (load) => void (await call('load', load)),
    stop: async () => void (await call('stop')),
    left: async () => (await call('left')) as { held: number; running: number },
    log: async () => {
      if (isAlive(child)) happened.push(...((await call('log')) as Happened[]));
      return happened;
    },
    snapshot: async () => (await call('snapshot')) as PoolSnapshot | null,
    signal: (signal) => {
      signalGroup(child.pid!, signal);
    },
    close: async () => {
      if (!isAlive(child)) return;
      signalGroup(child.pid!, 'SIGCONT');
      await call('close').catch(() => undefined);
      signalGroup(child.pid!, 'SIGKILL');
    },
  };
}

function answerTo(id: number, waiting: Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>): Promise<unknown> {
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}
