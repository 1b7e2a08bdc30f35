import { afterAll, beforeAll, expect, test } from 'vitest';
import { describePools } from '../conformance/pool-conformance.js';
import { playPools, type PoolTally } from '../property/pool-play.js';
import { redisPools, spread } from '../support/redis-pools.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

/** Steps in all; `POOL_STEPS` plays more. */
const STEPS = Number(process.env['POOL_STEPS'] ?? 4_000);
const STEPS_A_HISTORY = 500;
const FIRST_SEED = Number(process.env['POOL_SEED'] ?? 1);

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Every test has keys of its own, so nothing has to be emptied. */
let stores = 0;
const three = (keyPrefix: string) => ['a', 'b', 'c'].map((name) => redisPools(server.url, name, { keyPrefix }));

describePools('redis, one processor', async () => redisPools(server.url, 'a', { keyPrefix: `t${++stores}:` }));

describePools('redis, three processors', async () => spread(three(`t${++stores}:`), ['p2', 'p1', 'p3']));

test(`random histories: three processors over Redis answer as one scheduler does, over ${STEPS} steps`, async () => {
  const tally: PoolTally = {};
  for (let seed = FIRST_SEED; seed < FIRST_SEED + STEPS / STEPS_A_HISTORY; seed++) {
    const processors = three(`h${++stores}:`);
    const told = await playPools(seed, STEPS_A_HISTORY, [{ name: 'redis', processors }]);
    for (const [kind, count] of Object.entries(told)) tally[kind] = (tally[kind] ?? 0) + count;
    await Promise.all(processors.map((processor) => processor.close()));
  }
  // Nothing was left out.
  for (const kind of ['refused: pool_busy', 'refused: queue_full', 'granted: tier 0', 'granted: tier 1', 'ending: reclaimed', 'event: queue_timeout', 'settle: ended']) expect(tally[kind] ?? 0, kind).toBeGreaterThan(0);
}, 60_000 + STEPS * 60);
