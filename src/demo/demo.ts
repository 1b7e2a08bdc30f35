import { mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveEnvoy } from '../services/resolve.js';
import { PARTS } from './cast.js';
import { Cleanup, Interrupted, watchInterruption } from './ending.js';
import { findingsOf } from './findings.js';
import { startReal } from './real.js';
import { reportLines, stepLine } from './report.js';
import { createScreen, type Screen } from './screen.js';
import { setStage, type Stage } from './stage.js';
import { playStory } from './story.js';
import { startSimulated, type Backstage } from './upstream.js';

export interface DemoCommand {
  /** A real LiteLLM proxy and a real model server behind it, instead of the simulated server. */
  readonly real: boolean;
  /** Path of the Envoy to use; null: find or install one. */
  readonly envoy: string | null;
}

const INTERRUPTED_EXIT_CODE = 130;

/**
 * Shows the whole path on this machine: starts Envoy, the processor and an upstream, sends a short guided load, tells what
 * happened, and stops all of it again, however it ends.
 * @returns the exit code: 0, 1 where something did not go as it should, 130 after Ctrl-C.
 * @throws ServiceError with one sentence where something is missing.
 */
export async function runDemo(command: DemoCommand): Promise<number> {
  const interruption = watchInterruption();
  const screen = createScreen(process.stdout, process.env, () => {
    interruption.fail(new Interrupted('SIGPIPE'));
  });
  const cleanup = new Cleanup();
  const dir = await mkdtemp(join(tmpdir(), 'tokenweir-demo-'));
  let keepFiles = true;
  try {
    const code = await play(command, screen, { dir, cleanup, interruption, progress: (line) => screen.line(screen.paint.dim(`  ${line}`)) });
    keepFiles = code !== 0;
    return code;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    keepFiles = false;
    screen.line(`\nended by ${error.signal}`);
    return INTERRUPTED_EXIT_CODE;
  } finally {
    await cleanup.run();
    await putAway(dir, keepFiles, screen);
    interruption.release();
  }
}

/** Where something went wrong, configurations and logs stay for a look at them, if there are any. */
async function putAway(dir: string, keepFiles: boolean, screen: Screen): Promise<void> {
  if (!keepFiles) await rm(dir, { recursive: true, force: true });
  else await rmdir(dir).catch(() => { screen.line(`configurations and logs are in ${dir}`); });
}

async function play(command: DemoCommand, screen: Screen, backstage: Backstage): Promise<number> {
  const { interruption, progress } = backstage;
  screen.line(screen.paint.bold('Starting'));
  const envoy = await interruption.orEnd(resolveEnvoy({ flag: command.envoy, progress }));
  const upstream = await interruption.orEnd(command.real ? startReal(backstage) : startSimulated(backstage));
  const stage = await interruption.orEnd(setStage(envoy.path, upstream, backstage));
  introduce(stage, screen);
  const told = await playStory(stage, interruption, (step) => {
    progress(stepLine(step));
  });
  screen.line();
  for (const line of reportLines(told, upstream.title, screen.paint)) screen.line(line);
  const asExpected = findingsOf(told).every(({ ok }) => ok);
  outro(asExpected, command.real, screen);
  return asExpected ? 0 : 1;
}

function introduce({ url, books, upstream }: Stage, { line, paint }: Screen): void {
  line();
  line(`${paint.bold('Sending')} requests of three tenants to ${url}: clients → Envoy → ${upstream.title}`);
  line(`  alder may use ${PARTS.alder.tokensPerMinute} tokens a minute, birch and cedar ${PARTS.birch.tokensPerMinute}`);
  line(`  while it runs: ${books.statusUrl}`);
  line();
}

function outro(asExpected: boolean, real: boolean, { line, paint }: Screen): void {
  line();
  line(asExpected ? paint.good('All as it should be.') : paint.bad('Not all went as it should: see the lines with ✗.'));
  const realOne = real ? [] : ['npm run demo -- --real   the same with a real LiteLLM proxy and a real model server'];
  for (const text of [...realOne, 'README.md                how to put it beside your own Envoy', 'docs/how-it-works.md     the way of one request through the code']) line(`  ${text}`);
}
