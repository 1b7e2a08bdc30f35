import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory.js';
import { createRedisStore } from '../../src/stores/redis/redis-store.js';
import { playHistory, type Played, type Tally } from '../property/store-play.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

/** Steps in all; `npm run property:store` plays more. */
const STEPS = Number(process.env['STORE_STEPS'] ?? 8_000);
const STEPS_A_HISTORY = 500;
const FIRST_SEED = Number(process.env['STORE_SEED'] ?? 1);

/** Roots are noted anew each second and unlisted after ten: a step back between the two would hide a lease for a moment (see `Store`). */
const MAX_BEHIND_MS = 4_000;

let server: RedisServer;
let clients: readonly Redis[] = [];
beforeAll(async () => {
  server = await startRedis();
  clients = [1, 2, 3].map(() => new Redis(server.url, { protocol: 2 }));
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

/** Three processors over one server, each with a connection of its own. */
async function redis(): Promise<Played> {
  await clients[0]!.flushall();
  const onFault = (error: unknown): never => {
    throw error;
  };
  return { name: 'redis', processors: clients.map((client) => createRedisStore({ client, time: 'caller', keepEvents: true, recentEvents: 10, onFault })) };
}

const memory = (): Played => ({ name: 'memory', processors: [createMemoryStore({ keepEvents: true, recentEvents: 10 })] });

test(`random histories: Redis and memory answer as the model does, over ${STEPS} steps`, async () => {
  const tally: Tally = {};
  for (let seed = FIRST_SEED; seed < FIRST_SEED + STEPS / STEPS_A_HISTORY; seed++) {
    const told = await playHistory(seed, STEPS_A_HISTORY, [await redis(), memory()], { maxBehindMs: MAX_BEHIND_MS });
    for (const [kind, count] of Object.entries(told)) tally[kind] = (tally[kind] ?? 0) + count;
  }
  const kinds = ['reserved', 'refused', 'reaped', 'reaped whole', 'reopened', 'idle', 'busy', 'clock put right'];
  const ends = ['settled', 'corrected', 'already_ended', 'unknown'].flatMap((result) => [`settle: ${result}`, `cancel: ${result}`]);
  // Nothing was left out.
  for (const kind of [...kinds, ...ends]) expect(tally[kind], kind).toBeGreaterThan(0);
}, 60_000 + STEPS * 30);
