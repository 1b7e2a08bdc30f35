import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../../src/services/command.js';
import { PROJECT_ROOT } from '../../src/services/resolve.js';

const MAIN = join(PROJECT_ROOT, 'dist', 'main.js');
const RUN_MS = 60_000;

/** Every process of a run carries this in its environment, and its files lie in this folder. */
let mark: string;
let running: Demo | null = null;

interface Demo {
  readonly child: ChildProcess;
  readonly text: () => string;
  readonly code: Promise<number | null>;
}

beforeEach(async () => {
  mark = await mkdtemp(join(tmpdir(), 'tokenweir-e2e-demo-'));
});

afterEach(async () => {
  running?.child.kill('SIGKILL');
  running = null;
  await rm(mark, { recursive: true, force: true });
});

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Demo {
  const child = spawn(process.execPath, [MAIN, 'demo', ...args], {
    env: { ...process.env, TMPDIR: mark, TOKENWEIR_ENVOY: inject('envoyPath'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  running = { child, text: () => text, code };
  return running;
}

/** Process ids of everything that a run started and that still lives: the mark is in the environment of each. */
async function left(): Promise<string[]> {
  const found = await runCommand('/bin/sh', ['-c', 'grep -lzFx "TMPDIR=$1" /proc/[0-9]*/environ 2>/dev/null; true', 'sh', mark]);
  return found.output.split('\n').filter((line) => line !== '');
}

/** The cells of the first line of a table that begins so. */
function row(text: string, start: RegExp): string[] {
  const line = text.split('\n').find((candidate) => start.test(candidate)) ?? '';
  return line.trim().split(/ {2,}/);
}

describe('npm run demo (point 9)', () => {
  test('shows three tenants: within limits, refused and admitted after the wait, gone in mid-stream', async () => {
    const startMs = performance.now();
    const demo = start([]);
    expect(await demo.code, demo.text()).toBe(0);
    const text = demo.text();
    const tookMs = performance.now() - startMs;

    for (const number of [1, 2, 3, 4, 6, 7]) {
      const cells = row(text, new RegExp(`^${number}  `));
      expect(cells.slice(4, 7), cells.join('|')).toEqual(['admitted', '200', '–']);
      expect(cells[7], 'the ledger has what the upstream counted').toBe(cells[8]);
    }
    const refused = row(text, /^5 {2}birch/);
    expect(refused.slice(4, 6)).toEqual(['refused', '429']);
    const waitMs = Number(/^(\d+) ms/.exec(refused[6] ?? '')?.[1]);
    expect(waitMs).toBeGreaterThan(1_000);
    expect(waitMs).toBeLessThan(5_000);
    expect(tookMs).toBeGreaterThan(waitMs);
    const gone = row(text, /^8 {2}cedar/);
    expect(gone[7]).toMatch(/^≈ \d+ \+ [1-9]\d*$/);

    expect(row(text, /^alder +3/)).toEqual(['alder', '3', '0', expect.stringMatching(/^\d+ \+ \d+$/), expect.any(String), 'none']);
    expect(row(text, /^birch +3/)).toEqual(['birch', '3', '1', expect.stringMatching(/^\d+ \+ \d+$/), expect.any(String), 'none']);
    expect(text.match(/^✓ /gm)).toHaveLength(9);
    expect(text).not.toContain('✗');
    expect(text).not.toMatch(/sk-demo|Warning/);
    expect(text).not.toContain('\u001b');
    expect(await left()).toEqual([]);
    expect(await readdir(mark)).toEqual([]);
    expect(tookMs).toBeLessThan(RUN_MS);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('%s in the middle leaves nothing running', async (signal) => {
    const demo = start([]);
    await expect.poll(() => demo.text(), { timeout: RUN_MS }).toContain('streamed, usage not asked for');
    expect((await left()).length).toBeGreaterThan(2);
    demo.child.kill(signal);
    expect(await demo.code, demo.text()).toBe(130);
    expect(demo.text()).toContain(`ended by ${signal}`);
    expect(await left()).toEqual([]);
    expect(await readdir(mark)).toEqual([]);
  });

  test('output that nobody reads any more ends it in order', async () => {
    const demo = start([]);
    await expect.poll(() => demo.text(), { timeout: RUN_MS }).toContain('answered as a whole');
    demo.child.stdout?.destroy();
    expect(await demo.code).toBe(130);
    expect(demo.text()).not.toContain('EPIPE');
    expect(await left()).toEqual([]);
    expect(await readdir(mark)).toEqual([]);
  });

  test('a killed demo leaves nothing running either', async () => {
    const demo = start([]);
    await expect.poll(() => demo.text(), { timeout: RUN_MS }).toContain('answered as a whole');
    demo.child.kill('SIGKILL');
    await demo.code;
    await expect.poll(left, { timeout: 15_000 }).toEqual([]);
  });

  test('a processor that dies is said in a sentence', async () => {
    const demo = start([]);
    await expect.poll(() => demo.text(), { timeout: RUN_MS }).toContain('answered as a whole');
    const found = await runCommand('/bin/sh', ['-c', 'grep -lzF "$1/tokenweir-demo-" /proc/[0-9]*/cmdline 2>/dev/null; true', 'sh', mark]);
    const processors = await Promise.all(found.output.split('\n').map(async (path) => ({ path, text: await commandLine(path) })));
    const pid = Number(/\d+/.exec(processors.find(({ text }) => text.includes('serve'))?.path ?? '')?.[0]);
    process.kill(pid, 'SIGKILL');
    expect(await demo.code).toBe(1);
    expect(demo.text()).toContain('tokenweir: Tokenweir ended by itself');
    expect(await left()).toEqual([]);
  });
});

async function commandLine(path: string): Promise<string> {
  return (await runCommand('/bin/sh', ['-c', 'cat "$1" | tr "\\0" " "', 'sh', path])).output;
}

describe('what keeps the demo from starting is said in one sentence (point 9)', () => {
  test.each<[string, readonly string[], NodeJS.ProcessEnv, RegExp]>([
    ['a wrong --envoy', ['--envoy', '/nowhere/envoy'], {}, /^tokenweir: the given path names \/nowhere\/envoy, which is no file$/m],
    ['an --envoy that is none', ['--envoy', '/bin/true'], {}, /^tokenweir: \/bin\/true is not an Envoy that runs here$/m],
    ['a wrong variable', [], { TOKENWEIR_ENVOY: '/nowhere/envoy' }, /^tokenweir: TOKENWEIR_ENVOY names \/nowhere\/envoy, which is no file$/m],
  ])('%s', async (_name, args, env, message) => {
    const demo = start(args, env);
    expect(await demo.code).toBe(1);
    expect(demo.text()).toMatch(message);
    expect(demo.text().trim().split('\n').length).toBeLessThanOrEqual(2);
    expect(await readdir(mark)).toEqual([]);
  });
});
