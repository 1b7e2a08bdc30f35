import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';

/** Guarded groups, each with its watchdog. */
const groups = new Map<number, ChildProcess>();
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
let watching = false;

/**
 * Makes sure that a child's process group does not outlive this process, however this one ends: an exit or an uncaught
 * error (exit handler), a signal nobody else handles, or SIGKILL (a small shell that waits for our end of a pipe to
 * close). Returns how to release it once the child has ended.
 */
export function guardGroup(pid: number): () => void {
  watchOwnEnd();
  const watchdog = startWatchdog(pid);
  groups.set(pid, watchdog);
  return () => {
    groups.delete(pid);
    watchdog.kill('SIGKILL');
  };
}

/** Sends a signal to a whole process group; a group that is gone is no error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended already.
  }
}

function startWatchdog(pid: number): ChildProcess {
  // Not `kill -TERM -- -1`: dash takes the dashes for a number.
  const script = 'read -r _; kill -TERM "-$1"; sleep 2; kill -KILL "-$1"';
  const watchdog = spawn('/bin/sh', ['-c', script, 'tokenweir-guard', String(pid)], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  watchdog.on('error', () => undefined);
  watchdog.stdin?.on('error', () => undefined);
  watchdog.unref();
  // The pipe must not keep this process alive: its end is what the watchdog waits for.
  if (watchdog.stdin !== null && 'unref' in watchdog.stdin && typeof watchdog.stdin.unref === 'function') watchdog.stdin.unref();
  return watchdog;
}

function watchOwnEnd(): void {
  if (watching) return;
  watching = true;
  process.on('exit', killAll);
  for (const signal of SIGNALS) process.on(signal, endBySignal);
}

function killAll(): void {
  for (const [pid, watchdog] of groups) {
    signalGroup(pid, 'SIGKILL');
    watchdog.kill('SIGKILL');
  }
}

/** Where the application handles the signal, it stops its services itself; else this ends the process as the signal would have. */
function endBySignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  killAll();
  process.removeListener(signal, endBySignal);
  process.kill(process.pid, signal);
}
