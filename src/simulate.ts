import { open, readFile, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { SimulateCommand } from './cli.js';
import { formatProblems, problemLines, loadConfig, readBounded } from './config/load.js';
import { pathText } from './config/problem.js';
import { didYouMean, nearest } from './config/suggest.js';
import { readYaml } from './config/yaml-source.js';
import type { Policy, PoolPolicy } from './domain/policy.js';
import { chart } from './sim/chart.js';
import { compileScenario } from './sim/compile-scenario.js';
import { reportJson } from './sim/report-json.js';
import { checkScenario, type Scenario } from './sim/scenario.js';
import { scenarioOfTrace } from './sim/scenario-of-trace.js';
import { runSimulation } from './sim/simulation.js';
import { POLICIES, type PolicyName } from './sim/spec.js';
import { reportText } from './sim/table.js';
import { readTrace, TraceError, type Trace } from './sim/trace.js';

const MAX_TRACE_BYTES = 512 * 1024 ** 2;

type Write = (text: string) => void;

/** What keeps a simulation from being run: told to the person in these words. */
class Unfit extends Error {}

/** Runs `tokenweir simulate`. @returns the exit code: 1 where files are wrong, 2 where the command line is. */
export async function simulate(command: SimulateCommand, out: Write, err: Write): Promise<number> {
  const policies = policiesOf(command);
  if (typeof policies === 'string') {
    err(`tokenweir: ${policies}\n`);
    return 2;
  }
  try {
    await run(command, policies, out, err);
    return 0;
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    err(`${error.message}\n`);
    return 1;
  }
}

function policiesOf({ policies, compare }: SimulateCommand): readonly PolicyName[] | string {
  if (compare) return POLICIES;
  const known = policies.map((name) => POLICIES.find((policy) => policy === name));
  const odd = known.indexOf(undefined);
  return odd >= 0 ? `there is no policy '${policies[odd]}'; known: ${POLICIES.join(', ')}` : (known as PolicyName[]);
}

async function run(command: SimulateCommand, policies: readonly PolicyName[], out: Write, err: Write): Promise<void> {
  const policy = await readPolicy(command.config, err);
  const given = command.scenario === null ? null : await readScenario(command.scenario, command.trace);
  const traceFile = command.trace ?? (given?.trace === undefined ? null : resolve(dirname(command.scenario!), given.trace.file));
  const trace = traceFile === null ? null : await readTraceFile(traceFile, given?.trace?.cacheTokens ?? 0);
  const pool = poolOf(policy, given?.pool, command.config);
  if (given !== null) for (const warning of strangers(given, policy, command.scenario!)) err(`warning: ${warning}\n`);
  const scenario = given ?? inWords(traceFile!, () => scenarioOfTrace(traceFile!, trace!, pool));
  if (trace !== null) err(`${traceFile}: ${trace.rows.length} requests (${trace.format})${trace.passedOver > 0 ? `, ${trace.passedOver} lines passed over` : ''}\n`);
  const parts = { pool, parentsOf: (id: string) => parentsOf(policy, id), trace, seed: command.seed, speedUp: command.speedUp ?? 1, scale: command.scale };
  const results = policies.map((name) => runSimulation(compileScenario(scenario, { ...parts, policy: name })));
  out(reportText(results));
  if (command.json !== null) await write(command.json, reportJson(results));
  for (const result of command.chart === null ? [] : results) {
    await write(results.length === 1 ? command.chart! : withName(command.chart!, result.policy), chart(result, `Pool ${pool.settings.id}, simulated`));
  }
}

async function readPolicy(path: string, err: Write): Promise<Policy> {
  const loaded = await loadConfig(path);
  if (!loaded.ok) throw new Unfit(formatProblems(loaded.problems));
  for (const warning of problemLines(loaded.warnings)) err(`warning: ${warning}\n`);
  return loaded.config.policy;
}

function poolOf({ pools }: Policy, id: string | undefined, file: string): PoolPolicy {
  if (pools.length === 0) throw new Unfit(`${file}: the configuration has no pools`);
  const names = pools.map(({ settings }) => settings.id).join(', ');
  const found = id === undefined && pools.length === 1 ? pools[0] : pools.find(({ settings }) => settings.id === id);
  if (found === undefined) throw new Unfit(id === undefined ? `${file} has several pools (${names}): the scenario has to name one (pool: …)` : `${file}: there is no pool "${id}"; there are: ${names}`);
  return found;
}

/** Sources of requests that no tenant of the configuration is named for: hardly meant, but they can be run. */
function strangers(scenario: Scenario, { tenants }: Policy, file: string): string[] {
  return scenario.tenants.flatMap(({ id, entitlement }, i) => {
    const name = entitlement ?? id;
    const field = `tenants[${i}].${entitlement === undefined ? 'id' : 'entitlement'}`;
    return tenants.has(name) ? [] : [`${file}: ${field}: no tenant of the configuration is "${name}"${didYouMean(nearest(name, tenants.keys()))}; it counts as one without an entitlement`];
  });
}

/** Nearest first. */
function parentsOf({ tenants }: Policy, id: string): string[] {
  const above: string[] = [];
  for (let parent = tenants.get(id)?.parentId ?? null; parent !== null; parent = tenants.get(parent)?.parentId ?? null) above.push(parent);
  return above;
}

/** @throws Unfit with all problems, with line and field. */
async function readScenario(path: string, traceOption: string | null): Promise<Scenario> {
  const content = await readBounded(path);
  if (!content.ok) throw new Unfit(`${path}: this file ${content.reason}`);
  const source = readYaml(content.text);
  const broken = source.problems.map(({ position, message }) => ({ file: path, ...position, path: '', message }));
  if (broken.length > 0) throw new Unfit(formatProblems(broken));
  const { scenario, findings } = checkScenario(withTrace(source.raw, traceOption));
  if (scenario !== null) return scenario;
  throw new Unfit(formatProblems(findings.map(({ path: field, message, at }) => ({ file: path, ...source.locate(field, at), path: pathText(field), message }))));
}

/** `--trace` is the scenario's trace. */
function withTrace(raw: unknown, file: string | null): unknown {
  if (file === null || typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw ?? {};
  const { trace } = raw as { trace?: unknown };
  return { ...raw, trace: { ...(typeof trace === 'object' ? trace : {}), file } };
}

async function readTraceFile(path: string, cacheTokens: number): Promise<Trace> {
  const text = await readText(path);
  return inWords(path, () => readTrace(text, cacheTokens));
}

/** What is wrong with a trace, with the file's name. */
function inWords<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TraceError) throw new Unfit(`${path}: ${error.message}`);
    throw error;
  }
}

async function readText(path: string): Promise<string> {
  try {
    const file = await open(path, 'r');
    const { size } = await file.stat().finally(() => file.close());
    if (size > MAX_TRACE_BYTES) throw new Unfit(`${path}: is larger than ${MAX_TRACE_BYTES / 1024 ** 2} MiB`);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Unfit) throw error;
    throw new Unfit(`${path}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

async function write(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((error: NodeJS.ErrnoException) => {
    throw new Unfit(`${path}: cannot be written (${error.code ?? 'unknown'})`);
  });
}

/** `out.svg` → `out.fcfs.svg`. */
function withName(path: string, name: string): string {
  const dot = path.lastIndexOf('.');
  return dot > path.lastIndexOf('/') + 1 ? `${path.slice(0, dot)}.${name}${path.slice(dot)}` : `${path}.${name}`;
}
