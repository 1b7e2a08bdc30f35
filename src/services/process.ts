import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { guardGroup, signalGroup } from './guard.js';
import { ServiceError } from './service-error.js';

/** How to tell that a program is ready: an HTTP address that answers 2xx, or a line that it prints. */
export type Readiness = { readonly httpUrl: string } | { readonly line: RegExp };

export interface ProcessOptions {
  /** How it is called in messages. */
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to this process's own environment. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Everything it prints goes here; its folder is made. */
  readonly logFile: string;
  readonly ready: Readiness;
  /** Default 30,000. */
  readonly readyWithinMs?: number;
  /** After SIGTERM, before SIGKILL. Default 5,000. */
  readonly stopWithinMs?: number;
}

export interface RunningProcess {
  readonly pid: number;
  readonly logFile: string;
  /** Resolves when it has ended, with exit code or signal. Never rejects. */
  readonly ended: Promise<ProcessEnd>;
  /** The last lines it printed, at most 200. */
  tail(lines?: number): string;
  /** Asks it to end, makes it end; resolves when it and its children are gone. May be called again. */
  stop(): Promise<void>;
  /** Sends a signal to the process and its children, SIGKILL by default: what a crash looks like. */
  kill(signal?: NodeJS.Signals): void;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const KEPT_LINES = 200;
const SHOWN_LINES = 12;
const POLL_MS = 25;

/**
 * Starts a program in a process group of its own and waits until it is ready.
 * @throws ServiceError if it can't be started, ends early or is not ready in time; with its last lines. Nothing is left running then.
 */
export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  await mkdir(dirname(options.logFile), { recursive: true });
  const child = spawn(options.command, [...options.args], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines = captureOutput(child, options.logFile);
  const ended = endOf(child);
  if (child.pid === undefined) throw new ServiceError(`${options.title} could not be started: ${options.command} does not run`);
  const running = control(child.pid, options, ended, lines);
  try {
    await waitUntilReady(options, running, lines);
  } catch (error) {
    await running.stop();
    throw error;
  }
  return running;
}

function control(pid: number, options: ProcessOptions, ended: Promise<ProcessEnd>, lines: LineBuffer): RunningProcess {
  const release = guardGroup(pid);
  void ended.then(() => {
    // Children that the program left behind go with it.
    signalGroup(pid, 'SIGKILL');
    release();
  });
  const stop = async (): Promise<void> => {
    signalGroup(pid, 'SIGTERM');
    const timer = setTimeout(() => {
      signalGroup(pid, 'SIGKILL');
    }, options.stopWithinMs ?? 5_000);
    await ended;
    clearTimeout(timer);
  };
  return {
    pid,
    logFile: options.logFile,
    ended,
    tail: (count = KEPT_LINES) => lines.kept.slice(-count).join('\n'),
    stop,
    kill: (signal = 'SIGKILL') => {
      signalGroup(pid, signal);
    },
  };
}

function endOf(child: ChildProcess): Promise<ProcessEnd> {
  return new Promise((resolve) => {
    child.once('error', () => {
      resolve({ code: null, signal: null });
    });
    child.once('exit', (code, signal) => {
      resolve({ code, signal });
    });
  });
}

async function waitUntilReady(options: ProcessOptions, running: RunningProcess, lines: LineBuffer): Promise<void> {
  const withinMs = options.readyWithinMs ?? 30_000;
  const deadlineMs = performance.now() + withinMs;
  let end: ProcessEnd | null = null;
  void running.ended.then((value) => (end = value));
  for (;;) {
    if (await isReady(options.ready, lines)) return;
    if (end !== null) throw failure(options, `ended early (${describe(end)})`, lines);
    if (performance.now() > deadlineMs) throw failure(options, `was not ready within ${withinMs / 1000} s`, lines);
    await delay(POLL_MS);
  }
}

async function isReady(ready: Readiness, lines: LineBuffer): Promise<boolean> {
  if ('line' in ready) return lines.kept.some((line) => ready.line.test(line));
  try {
    const answer = await fetch(ready.httpUrl, { signal: AbortSignal.timeout(2_000) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}

function failure(options: ProcessOptions, what: string, lines: LineBuffer): ServiceError {
  const shown = lines.kept.slice(-SHOWN_LINES).join('\n');
  return new ServiceError(`${options.title} ${what}; log: ${options.logFile}${shown === '' ? '' : `\n${shown}`}`);
}

function describe(end: ProcessEnd): string {
  return end.signal === null ? `exit code ${end.code ?? 'unknown'}` : `signal ${end.signal}`;
}

interface LineBuffer {
  readonly kept: string[];
}

function captureOutput(child: ChildProcess, logFile: string): LineBuffer {
  const log = createWriteStream(logFile);
  log.on('error', () => undefined);
  const kept: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    let partial = '';
    stream?.setEncoding('utf8').on('data', (text: string) => {
      log.write(text);
      const lines = (partial + text).split(/\r?\n/);
      partial = (lines.pop() ?? '').slice(-10_000);
      kept.push(...lines);
      kept.splice(0, kept.length - KEPT_LINES);
    });
  }
  child.once('close', () => log.end());
  return { kept };
}
