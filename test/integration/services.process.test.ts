import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startProcess } from '../../src/services/process.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tokenweir-process-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const shell = (script: string): { title: string; command: string; args: string[]; logFile: string; ready: { line: RegExp } } => ({
  title: 'Thing',
  command: '/bin/sh',
  args: ['-c', script],
  logFile: join(dir, 'thing.log'),
  ready: { line: /^ready/ },
});

/** A process that ended but was not yet collected by its parent is not alive. */
function isAlive(pid: number): boolean {
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)]).stdout.toString().trim();
  return state !== '' && !state.startsWith('Z');
}

test('stops a program and the children it started', async () => {
  const thing = await startProcess(shell('sleep 600 & echo "child $!"; echo ready; wait'));
  const child = Number(/child (\d+)/.exec(thing.tail())?.[1]);
  expect(isAlive(child)).toBe(true);
  await thing.stop();
  await expect.poll(() => isAlive(child) || isAlive(thing.pid)).toBe(false);
});

test('a program that ignores SIGTERM is killed', async () => {
  const thing = await startProcess({ ...shell('trap "" TERM; echo ready; while :; do sleep 0.1; done'), stopWithinMs: 200 });
  await thing.stop();
  expect((await thing.ended).signal).toBe('SIGKILL');
});

test('an early end is told with its last lines', async () => {
  await expect(startProcess(shell('echo "port 80 is taken" >&2; exit 3'))).rejects.toThrow(/Thing ended early \(exit code 3\).*\nport 80 is taken/s);
});

test('one that is never ready is stopped', async () => {
  await expect(startProcess({ ...shell('echo "pid $$"; sleep 600'), readyWithinMs: 300 })).rejects.toThrow('was not ready within 0.3 s');
  const pid = Number(/pid (\d+)/.exec(await readFile(join(dir, 'thing.log'), 'utf8'))?.[1]);
  expect(isAlive(pid)).toBe(false);
});

test('one that does not exist is said', async () => {
  await expect(startProcess({ ...shell(''), command: '/nowhere/thing' })).rejects.toThrow('Thing could not be started: /nowhere/thing does not run');
});

test.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)('nothing is left running when we end by %s', async (signal) => {
  const parent = spawn(process.execPath, ['--import', PARENT_LOADER, '-e', ''], { stdio: ['ignore', 'pipe', 'inherit'] });
  const child = await new Promise<number>((resolve) => {
    parent.stdout.on('data', (text: Buffer) => {
      resolve(Number(/pid (\d+)/.exec(text.toString())?.[1]));
    });
  });
  expect(isAlive(child)).toBe(true);
  parent.kill(signal);
  await expect.poll(() => isAlive(child), { timeout: 5_000 }).toBe(false);
});

/** A program of its own that starts a long sleep by the built code. */
const PROCESS_MODULE = new URL('../../dist/services/process.js', import.meta.url).href;
const PARENT_LOADER = `data:text/javascript,${encodeURIComponent(`
import { startProcess } from '${PROCESS_MODULE}';
const p = await startProcess({ title: 't', command: '/bin/sh', args: ['-c', 'echo ready; sleep 600'], logFile: '/dev/null', ready: { line: /ready/ } });
console.log('pid ' + p.pid);
setInterval(() => {}, 1000);
`)}`;
