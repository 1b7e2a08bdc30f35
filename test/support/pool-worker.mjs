// One processor at a pool over Redis, as a process of its own that can be killed and stopped. Runs clients that ask, hold, and settle, and
// tells its parent what happened when. Started by pool-workers.ts, on the built program.
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setInterval, setTimeout } from 'node:timers';
import { URL } from 'node:url';

const [url, name, dist, settings] = process.argv.slice(2);
const { createRedisPools } = await import(new URL(`${dist}/stores/pools/redis-pools.js`, 'file://').href);
const { systemClock } = await import(new URL(`${dist}/lib/clock.js`, 'file://').href);
const { connectStore } = await import(new URL(`${dist}/stores/connect/connect.js`, 'file://').href);

const { pool, entitlement, options } = JSON.parse(settings);
const { hostname, port } = new URL(url);
const address = { kind: 'redis', topology: { kind: 'standalone' }, nodes: [{ host: hostname, port: Number(port) }], database: 0, login: null, tls: null };
const connect = () => connectStore(address, { clock: systemClock, random: Math.random }).client;
const now = () => performance.timeOrigin + performance.now();

const log = [];
const note = (what, id = '') => log.push([what, id, now()]);
const observer = {
  poolUsed: () => undefined,
  keeperBegan: () => note('keeper'),
  keeperReady: () => note('ready'),
  keeperEnded: () => note('keeper ended'),
  poolAway: () => note('away'),
  poolBack: () => note('back'),
  poolDecidedAway: () => note('decided away'),
  poolFault: (_pool, error) => note(`fault: ${error.message}`),
};
const blocking = connect();
const pools = createRedisPools({
  client: connect(), blockingClient: () => blocking, processor: name, clock: systemClock, random: Math.random, time: 'own', mode: 'local', timeoutMs: 50, observer, ...options,
});

const held = new Map();
const running = new Set();
pools.onEvent(name, (event) => {
  note(event.kind, event.leaseId);
  const resolve = held.get(event.leaseId);
  held.delete(event.leaseId);
  if (resolve !== undefined) resolve(event.kind === 'granted' ? 'dispatched' : event.reason);
  else if (event.kind === 'granted') void pools.cancel(pool.id, event.leaseId, now());
});
setInterval(() => {
  const renewals = [...[...held.keys()].map((leaseId) => ({ leaseId, work: 0, kvBytes: 0 })), ...[...running].map((leaseId) => ({ leaseId, work: 1, kvBytes: 0 }))];
  if (renewals.length > 0) void pools.renew(pool.id, name, renewals, now());
}, 500);

let ids = 0;
let stopping = false;
async function one(workMs, maxWaitMs) {
  const leaseId = `${name}-${++ids}`;
  note('ask', leaseId);
  const answer = await pools.ask({ leaseId, owner: name, pool, entitlement, demand: { work: 10, kvBytes: 0, slots: 1 }, work: 'interactive', bytes: 100, maxWaitMs, nowMs: now() });
  let kind = answer.kind;
  if (kind === 'waiting') kind = await new Promise((resolve) => held.set(leaseId, resolve));
  if (kind !== 'dispatched') return note(`refused: ${answer.reason ?? kind}`, leaseId);
  note('start', leaseId);
  running.add(leaseId);
  await new Promise((resolve) => setTimeout(resolve, workMs));
  running.delete(leaseId);
  note('end', leaseId);
  await pools.settle(pool.id, leaseId, 10, now());
}

async function client(workMs, maxWaitMs) {
  while (!stopping) await one(workMs, maxWaitMs);
}

const calls = {
  load: async ({ clients, workMs, maxWaitMs }) => {
    for (let i = 0; i < clients; i++) void client(workMs, maxWaitMs).then(() => note('client ended'), (error) => note(`threw: ${error.message}`));
  },
  stop: async () => {
    stopping = true;
  },
  left: async () => ({ held: held.size, running: running.size }),
  log: async () => log.splice(0),
  snapshot: async () => pools.snapshot(pool.id, now()),
  close: async () => pools.close(),
};
process.on('message', ({ call, argument, id }) => {
  calls[call](argument).then((answer) => process.send({ id, answer }), (error) => process.send({ id, error: String(error) }));
});
process.send({ id: 0, answer: 'ready' });
