import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../src/services/ports.js';
import { startProcess, type RunningProcess } from '../../src/services/process.js';
import { PROJECT_ROOT } from '../../src/services/resolve.js';

/** The built program; `npm test` builds it first. */
export const PROGRAM = join(PROJECT_ROOT, 'dist', 'main.js');

export interface Serving {
  readonly port: number;
  readonly adminUrl: string;
  readonly configPath: string;
  readonly process: RunningProcess;
  /** Parsed log lines so far. */
  log(): Promise<Record<string, unknown>[]>;
  /** Starts it again on the same ports, after it ended. */
  restart(): Promise<Serving>;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
}

/** The part of a configuration that says where to listen. */
export type ServerYaml = (extProc: string, admin: string) => string;

const PLAIN: ServerYaml = (extProc, admin) => `server: { extProc: "${extProc}", admin: "${admin}", drain: { noticeMs: 0, timeoutMs: 5000 } }`;

/** Runs `tokenweir serve` as a process of its own. */
export async function startServing(yaml: string, server: ServerYaml = PLAIN): Promise<Serving> {
  if (!existsSync(PROGRAM)) throw new Error('dist/main.js is missing: npm run build');
  const dir = await mkdtemp(join(tmpdir(), 'tokenweir-serving-'));
  const [port, admin] = (await freePorts(2)) as [number, number];
  const configPath = join(dir, 'tokenweir.yaml');
  await writeFile(configPath, `${server(`127.0.0.1:${port}`, `127.0.0.1:${admin}`)}\n${yaml}`);
  return run(dir, configPath, port, admin, 0);
}

async function run(dir: string, configPath: string, port: number, admin: number, starts: number): Promise<Serving> {
  const process = await startProcess({
    title: 'the processor', command: globalThis.process.execPath, args: [PROGRAM, 'serve', '--config', configPath],
    logFile: join(dir, `log-${starts}.txt`), ready: { line: /"msg":"serving"/ },
  });
  return {
    port, adminUrl: `http://127.0.0.1:${admin}`, configPath, process,
    log: async () => {
      const lines = (await readFile(process.logFile, 'utf8')).split('\n').filter((line) => line.startsWith('{'));
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    restart: () => run(dir, configPath, port, admin, starts + 1),
    stop: async () => {
      await process.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Waits until a condition holds; fails after ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`10 s passed, and still not: ${what}`);
    await new Promise((resume) => setTimeout(resume, 25));
  }
}
