import { fork, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { guardGroup, signalGroup } from '../../src/services/guard.js';

export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

/** Starts a program. What it prints goes to /dev/null, its errors into a file: nothing of it is work for the bench itself. */
export function start(command: string, args: readonly string[], logDir: string, name: string): Child {
  return guarded(name, spawn(command, [...args], quiet(logDir, name)));
}

/** Starts a file of the bench that talks with its parent. */
export function startModule(path: string, args: readonly string[], logDir: string, name: string): Child {
  const options = quiet(logDir, name);
  return guarded(name, fork(path, [...args], { ...options, stdio: [...(options.stdio as (string | number)[]), 'ipc'] as never }));
}

function quiet(logDir: string, name: string): SpawnOptions {
  return { detached: true, stdio: ['ignore', openSync('/dev/null', 'w'), openSync(join(logDir, `${name}.err`), 'w')] };
}

function guarded(name: string, child: ChildProcess): Child {
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} could not be started`);
  const release = guardGroup(pid);
  let stopping = false;
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      release();
      resolve();
      if (stopping) return;
      process.stderr.write(`bench: ${name} ended early (${signal ?? code})\n`);
      process.exit(1);
    });
  });
  return {
    pid,
    process: child,
    stop: async () => {
      stopping = true;
      signalGroup(pid, 'SIGTERM');
      const timer = setTimeout(() => { signalGroup(pid, 'SIGKILL'); }, 5_000);
      await ended;
      clearTimeout(timer);
    },
  };
}
