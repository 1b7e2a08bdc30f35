import { spawn, type ChildProcess } from 'node:child_process';
import { Redis } from 'ioredis';
import type { BucketCharge, LedgerEvent, ReserveRequest } from '../../../src/domain/lease.js';
import type { Store } from '../../../src/domain/store.js';
import { freePort } from '../../../src/services/ports.js';
import { joinWrites } from '../../../src/stores/connect/joined-writes.js';
import { packCharges } from '../../../src/stores/redis/buckets.js';
import { createRedisStore } from '../../../src/stores/redis/redis-store.js';
import type { Figure } from './figure.js';

const TENANTS = 10_000;
const COMPANIES = 100;
/** Of each number of buckets, so many requests. */
const REQUESTS = 12_000;
const AT_ONCE = 64;
/** Leases that run at the same time. */
const RUNNING = 2_000;
const ROUND_TRIPS = 3_000;

/** How many buckets a request has: most tenants have two or three, on one level or two; six on three levels are much. */
const BUCKETS = [1, 2, 4, 6] as const;
const MOST = 6;

/** A request of a tenant in a team of a company. */
function requestOf(n: number, buckets: number): ReserveRequest {
  const tenant = n % TENANTS;
  const rootId = `company-${tenant % COMPANIES}`;
  const tenantId = `tenant-${tenant}`;
  const teamId = `team-${tenant % (COMPANIES * 10)}`;
  const charge = (id: string, dimension: BucketCharge['dimension'], amount: number, inputAmount = 0): BucketCharge => {
    return { key: `${id}/*:${dimension}`, tenantId: id, dimension, limit: 100_000_000, capacity: 100_000_000, amount, inputAmount, countCachedInput: true };
  };
  const own = [charge(tenantId, 'tokens', 3_000, 1_000), charge(tenantId, 'concurrency', 1), charge(tenantId, 'requests', 1)];
  const above = [charge(rootId, 'tokens', 3_000, 1_000), charge(teamId, 'tokens', 3_000, 1_000), charge(rootId, 'requests', 1)];
  const enforced = [...own, ...above].slice(0, buckets);
  const draft = eventOf(n, tenantId, teamId);
  return { leaseId: draft.leaseId, tenantId, rootId, owner: 'bench', nowMs: 0, enforced, shadowed: [], draft };
}

function eventOf(n: number, tenantId: string, parentId: string): LedgerEvent {
  const model = 'gpt-4o-mini-2024-07-18';
  const line = { model, serviceTier: null };
  return {
    ...{ leaseId: `b8f0c6d2-lease-${n}`, requestId: `5c1e7a90-request-${n}`, tenantId, parentId, keyId: '0123456789abcdef', api: 'openai-chat', model },
    ...{ pool: null, node: null, session: 's-0123456789', costNanoUsd: null, decision: 'admitted', outcome: 'completed', estimated: false, corrects: false },
    lines: [{ ...line, kind: 'input', tokens: 900 }, { ...line, kind: 'cached_input', tokens: 100 }, { ...line, kind: 'output', tokens: 400 }],
    ...{ inputTokens: 1_000, cachedInputTokens: 100, outputTokens: 400, reasoningTokens: 0, reservedInputTokens: 1_000, reservedOutputTokens: 2_000 },
    ...{ startedAtMs: 1_800_000_000_000, settledAtMs: 1_800_000_001_000 },
  };
}

async function inParallel(count: number, serveOne: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await serveOne(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

interface ScriptTimes {
  readonly p50: number;
  readonly p99: number;
}

/** How long scripts kept the server busy while `work` ran, in microseconds. (Its slow log would count itself: a script's commands are in it.) */
async function scriptTimes(client: Redis, work: () => Promise<void>): Promise<ScriptTimes> {
  await client.config('RESETSTAT');
  await work();
  const told = /percentiles_usec_evalsha:p50=([\d.]+),p99=([\d.]+)/.exec(await client.info('latencystats'));
  return { p50: Number(told?.[1]), p99: Number(told?.[2]) };
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
}

/** Script times of one number of buckets. */
interface Load {
  readonly buckets: number;
  readonly reserve: ScriptTimes;
  readonly renew: ScriptTimes;
  readonly settle: ScriptTimes;
  /** A script that gets what `reserve` gets and does nothing: what is left to any script on this machine. */
  readonly nothing: ScriptTimes;
}

interface Measured {
  readonly loads: readonly Load[];
  /** One after the other over one connection, in units of what a GET takes there. */
  readonly reserveP50: number;
  readonly reserveP99: number;
}

async function measure(): Promise<Measured> {
  const port = await freePort();
  const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' });
  const client = new Redis({ port, protocol: 2, retryStrategy: () => 50 });
  client.on('error', () => undefined);
  joinWrites(client);
  try {
    return await measureOn(client);
  } finally {
    client.disconnect();
    await ended(server);
  }
}

async function measureOn(client: Redis): Promise<Measured> {
  const store = createRedisStore({ client, time: 'server', keepEvents: true, onFault: (error) => console.error(error) });
  await run(client, store, 0, TENANTS, MOST);
  const loads: Load[] = [];
  for (const [i, buckets] of BUCKETS.entries()) loads.push(await run(client, store, TENANTS + i * REQUESTS, REQUESTS, buckets));
  const trips = await roundTrips(client, store);
  return {
    loads,
    reserveP50: quantile(trips.reserves, 0.5) / quantile(trips.gets, 0.5),
    reserveP99: quantile(trips.reserves, 0.99) / quantile(trips.gets, 0.99),
  };
}

/** So many requests after one another in parts, so that about as many leases run at a time as in a busy system. */
async function run(client: Redis, store: Store, from: number, count: number, buckets: number): Promise<Load> {
  const parts: Omit<Load, 'buckets'>[] = [];
  const nothing = String(await client.script('LOAD', 'return 1'));
  for (let first = from; first < from + count; first += RUNNING) {
    const all = (call: (request: ReserveRequest) => Promise<unknown>) => () =>
      inParallel(RUNNING, async (n) => void (await call(requestOf(first + n, buckets))));
    parts.push({
      reserve: await scriptTimes(client, all((request) => store.reserve(request))),
      renew: await scriptTimes(client, all(({ leaseId }) => store.renew([{ leaseId, outputTokens: 100 }], 0))),
      settle: await scriptTimes(client, all(({ leaseId, draft }) => store.settle(leaseId, draft, draft, 0))),
      nothing: await scriptTimes(client, all((request) => client.evalsha(nothing, 1, 'absent', ...argumentsOf(request)))),
    });
  }
  const over = (name: Exclude<keyof Load, 'buckets'>): ScriptTimes => medians(parts.map((part) => part[name]));
  return { buckets, reserve: over('reserve'), renew: over('renew'), settle: over('settle'), nothing: over('nothing') };
}

/** As many, and as long, as those of `reserve`. */
function argumentsOf({ leaseId, tenantId, draft, enforced }: ReserveRequest): (string | number | Buffer)[] {
  return ['', leaseId, tenantId, JSON.stringify(draft), 0, enforced.length, enforced.length, packCharges(enforced)];
}

function medians(times: readonly ScriptTimes[]): ScriptTimes {
  return { p50: quantile(times.map(({ p50 }) => p50), 0.5), p99: quantile(times.map(({ p99 }) => p99), 0.5) };
}

/** In turns, so that a busy machine slows both alike. */
async function roundTrips(client: Redis, store: Store): Promise<{ readonly gets: readonly number[]; readonly reserves: readonly number[] }> {
  const gets: number[] = [];
  const reserves: number[] = [];
  for (let i = 0; i < ROUND_TRIPS; i++) {
    const request = requestOf(TENANTS + BUCKETS.length * REQUESTS + i, MOST);
    gets.push(await timed(() => client.get('absent')));
    reserves.push(await timed(() => store.reserve(request)));
    await store.cancel(request.leaseId, 0);
  }
  return { gets, reserves };
}

async function timed(call: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await call();
  return performance.now() - start;
}

function ended(server: ChildProcess): Promise<unknown> {
  const gone = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGKILL');
  return gone;
}

let measured: Promise<Measured> | null = null;
const figure = (name: string, unit: Figure['unit'], target: number, value: (all: Measured) => number): Figure => {
  return { name: `redis store, 10,000 tenants: ${name}`, unit, target, once: true, run: async () => value(await (measured ??= measure())) };
};

const inServer = (buckets: number, call: Exclude<keyof Load, 'buckets'>, quantileName: keyof ScriptTimes): Figure => {
  const of = ({ loads }: Measured): number => loads.find((load) => load.buckets === buckets)?.[call][quantileName] ?? NaN;
  return figure(`${call} in the server, ${buckets} buckets, ${quantileName}`, 'µs', quantileName === 'p50' ? 60 : 100, of);
};

export const figures: readonly Figure[] = [
  ...BUCKETS.flatMap((buckets) => (['reserve', 'renew', 'settle', 'nothing'] as const).flatMap((call) => [inServer(buckets, call, 'p50'), inServer(buckets, call, 'p99')])),
  figure(`reserve, ${MOST} buckets, p50`, '× GET', 4, ({ reserveP50 }) => reserveP50),
  figure(`reserve, ${MOST} buckets, p99`, '× GET', 4, ({ reserveP99 }) => reserveP99),
];
