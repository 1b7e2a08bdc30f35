import { spawn } from 'node:child_process';
import { guardGroup, signalGroup } from './guard.js';

/** What a finished command left. */
export interface CommandResult {
  /** Exit code; null where it was killed or could not be started. */
  readonly code: number | null;
  /** Standard output and error, in the order they came; the last 64 KiB. */
  readonly output: string;
}

export interface CommandOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Killed after this long. */
  readonly timeoutMs?: number;
  /** Told each line as it comes. */
  readonly onLine?: (line: string) => void;
}

const KEPT_CHARACTERS = 65_536;

/** Runs a command to its end, or to ours: it does not outlive this process. Never throws: a command that does not exist has code null and says so in `output`. */
export function runCommand(command: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  return new Promise((resolve) => {
    let output = '';
    let line = '';
    const take = (text: string): void => {
      output = (output + text).slice(-KEPT_CHARACTERS);
      const lines = (line + text).split(/\r?\n/);
      line = lines.pop() ?? '';
      for (const whole of lines) options.onLine?.(whole);
    };
    const child = spawn(command, [...args], { env: options.env, cwd: options.cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const { pid } = child;
    const release = pid === undefined ? (): void => undefined : guardGroup(pid);
    const end = (): void => {
      if (pid !== undefined) signalGroup(pid, 'SIGKILL');
    };
    const timer = options.timeoutMs === undefined ? undefined : setTimeout(end, options.timeoutMs);
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    child.once('error', (error) => {
      clearTimeout(timer);
      release();
      resolve({ code: null, output: error.message });
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      release();
      if (line !== '') options.onLine?.(line);
      resolve({ code, output });
    });
  });
}

/** The last `count` lines that are not empty. */
export function lastLines(text: string, count: number): string {
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .slice(-count)
    .join('\n');
}
