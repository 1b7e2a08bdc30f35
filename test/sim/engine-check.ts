/**
 * Holds the engine model to a real llama.cpp server: calibrates it by requests alone and by full batches, predicts the latency of the same
 * requests at the same times under three loads, and serves them. Takes minutes; a machine that does other things spoils it, so that its
 * speed is measured again around each load. Usage: npm run sim:engine-check -- [--requests N] [--threads N] [--seed N]
 * [--out FILE]. On a machine that is busy take one thread: two wait for each other all the time there.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startLlama } from '../../src/services/llama.js';
import { resolveLlamaModel, resolveLlamaServer } from '../../src/services/resolve.js';
import type { BatchingSpec } from '../../src/sim/engine.js';
import { requestsPerSecond } from '../../src/sim/engine-throughput.js';
import { EXACT } from '../../src/sim/estimates.js';
import { Random } from '../../src/sim/random.js';
import { runSimulation } from '../../src/sim/simulation.js';
import { textTable } from '../../src/sim/table.js';
import { poolOf } from './pool-of.js';
import { Llama, type Job, type Served } from './llama-client.js';

const LOADS = [0.3, 0.6, 0.9];
const SLOTS = 4;
const PROMPT = { min: 32, max: 256 };
const OUTPUT = { min: 8, max: 32 };
const MEAN = { promptTokens: 144, uncachedTokens: 144, outputTokens: 20 };
/** Of the predicted mean latency, against the measured one. */
const ALLOWED = 0.25;

const { values } = parseArgs({ options: { requests: { type: 'string' }, threads: { type: 'string' }, seed: { type: 'string' }, out: { type: 'string' } } });
const requests = Number(values.requests ?? 60);
const seed = Number(values.seed ?? 1);
const threads = Number(values.threads ?? 2);
const progress = (line: string): void => void process.stderr.write(`${line}\n`);

const dir = await mkdtemp(join(tmpdir(), 'tokenweir-engine-check-'));
// This runs as a copy in the cache: what is installed belongs into the cache itself.
const cacheDir = resolve('.cache');
const server = await resolveLlamaServer({ progress, cacheDir });
const model = await resolveLlamaModel({ progress, cacheDir });
const running = await startLlama({ program: server.path, model: model.path, dir, slots: SLOTS, threads });
try {
  const text = await check(new Llama(running.url));
  process.stdout.write(text);
  if (values.out !== undefined) await writeFile(values.out, text);
} finally {
  await running.stop();
  await rm(dir, { recursive: true, force: true });
}

async function check(llama: Llama): Promise<string> {
  await llama.serve([{ atMs: 0, promptTokens: 64, outputTokens: 16 }]);
  const rows: string[][] = [];
  let worst = 0;
  let before = await calibrate(llama);
  for (const load of LOADS) {
    const jobs = arrivals(load, before);
    progress(`load ${load}: ${jobs.length} requests in ${(jobs.at(-1)!.atMs / 1000).toFixed(0)} s`);
    const served = await llama.serve(jobs);
    const after = await calibrate(llama);
    const spec = between(before, after);
    const predicted = predict(spec, jobs);
    const error = predicted.latencyMs / mean(served, 'latencyMs') - 1;
    worst = Math.max(worst, Math.abs(error));
    const drift = requestsPerSecond(after, MEAN) / requestsPerSecond(before, MEAN) - 1;
    rows.push([
      ...[load.toFixed(1), (load / (1 + drift / 2)).toFixed(2), ms(mean(served, 'ttftMs')), ms(predicted.ttftMs), ms(mean(served, 'latencyMs')), ms(predicted.latencyMs)],
      ...[percent(error), percent(drift), shown(spec), loadavg()[0]!.toFixed(1)],
    ]);
    before = after;
  }
  const head = ['load meant', 'load', 'TTFT', 'predicted', 'latency', 'predicted', 'error', 'speed changed', 'step + a sequence, prefill', 'machine load'];
  return `${textTable(head, rows)}\n\n${worst <= ALLOWED ? 'within' : 'NOT within'} ${ALLOWED * 100} %: ${requests} requests a load, ${threads} threads, seed ${seed}\n`;
}

/** Poisson, at this share of what the engine can do. */
function arrivals(load: number, spec: BatchingSpec): Job[] {
  const random = new Random(seed, `load ${load}`);
  const gapMs = 1000 / (requestsPerSecond(spec, MEAN) * load);
  const between = ({ min, max }: { min: number; max: number }): number => min + Math.floor(random.uniform() * (max - min + 1));
  let atMs = 0;
  return Array.from({ length: requests }, () => ({ atMs: (atMs += random.exponential(gapMs)), promptTokens: between(PROMPT), outputTokens: between(OUTPUT) }));
}

/** The same requests at the same times, in the model. */
function predict(node: BatchingSpec, jobs: readonly Job[]): { ttftMs: number; latencyMs: number } {
  const { tenants } = runSimulation({
    ...{ seed: 1, durationMs: jobs.at(-1)!.atMs + 1, policy: 'none', nodes: 1, node, processors: [EXACT] },
    pool: poolOf({ capacity: { slots: SLOTS }, entitlements: [{ id: 'all', serviceClass: 'elastic' }] }),
    tenants: [{ id: 'all', arrivals: { kind: 'trace', weight: 1 }, prompt: { kind: 'fixed', tokens: 1 }, output: { kind: 'fixed', tokens: 1 } }],
    trace: jobs.map((job) => ({ ...job, cachedTokens: 0, session: null, tenant: null })),
  });
  return { ttftMs: tenants[0]!.ttftMs.mean, latencyMs: tenants[0]!.latencyMs.mean };
}

/**
 * Decode alone and at a full batch give the step and what a sequence adds; prompts of two lengths give the prefill; a long prompt what
 * the KV cache adds. Medians of three.
 */
async function calibrate(llama: Llama): Promise<BatchingSpec> {
  const rounds: [alone: number, full: number, long: number, short: number, kv: number][] = [];
  for (let i = 0; i < 3; i++) {
    const alone = gapMs(await llama.serve([{ atMs: 0, promptTokens: 8, outputTokens: 24 }]));
    const full = gapMs(await llama.serve(Array.from({ length: SLOTS }, () => ({ atMs: 0, promptTokens: 8, outputTokens: 24 }))));
    const long = await llama.serve([{ atMs: 0, promptTokens: 768, outputTokens: 16 }]);
    const short = await llama.serve([{ atMs: 0, promptTokens: 64, outputTokens: 1 }]);
    rounds.push([alone, full, mean(long, 'ttftMs'), mean(short, 'ttftMs'), gapMs(long)]);
  }
  const median = (at: 0 | 1 | 2 | 3 | 4): number => rounds.map((round) => round[at]).sort((a, b) => a - b)[1]!;
  const [alone, full, long, short, kv] = [median(0), median(1), median(2), median(3), median(4)];
  const perSequenceMs = Math.max(0, (full - alone) / (SLOTS - 1));
  return {
    ...{ kind: 'batching', slots: SLOTS, kvTokens: null, blockTokens: 1, maxBatchedTokens: 2048 },
    prefillTokensPerSecond: (704 * 1000) / Math.max(1, long - short),
    stepMs: Math.max(0.1, alone - perSequenceMs),
    perSequenceMs,
    perKvTokenMs: Math.max(0, (kv - alone) / 768),
  };
}

/** Mean of what was measured before and after. */
function between(a: BatchingSpec, b: BatchingSpec): BatchingSpec {
  const middle = (of: 'stepMs' | 'perSequenceMs' | 'perKvTokenMs'): number => (a[of] + b[of]) / 2;
  const prefillTokensPerSecond = 2 / (1 / a.prefillTokensPerSecond + 1 / b.prefillTokensPerSecond);
  return { ...a, prefillTokensPerSecond, stepMs: middle('stepMs'), perSequenceMs: middle('perSequenceMs'), perKvTokenMs: middle('perKvTokenMs') };
}

/** Mean time between two tokens of an answer. */
function gapMs(served: readonly Served[]): number {
  return served.reduce((sum, { latencyMs, ttftMs, job }) => sum + (latencyMs - ttftMs) / (job.outputTokens - 1), 0) / served.length;
}

function mean(served: readonly Served[], of: 'ttftMs' | 'latencyMs'): number {
  return served.reduce((sum, one) => sum + one[of], 0) / served.length;
}

function shown({ stepMs, perSequenceMs, prefillTokensPerSecond }: BatchingSpec): string {
  return `${stepMs.toFixed(1)} + ${perSequenceMs.toFixed(1)} ms, ${prefillTokensPerSecond.toFixed(0)}/s`;
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}

function percent(share: number): string {
  return `${share >= 0 ? '+' : ''}${(share * 100).toFixed(1)} %`;
}
