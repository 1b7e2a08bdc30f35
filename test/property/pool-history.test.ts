import { expect, test } from 'vitest';
import { createMemoryPools } from '../../src/stores/memory-pools.js';
import { playPools, type PoolTally } from './pool-play.js';

/** Steps in all; `npm run property:pools` plays more. */
const STEPS = Number(process.env['POOL_STEPS'] ?? 100_000);
const STEPS_A_HISTORY = 1_000;
const FIRST_SEED = Number(process.env['POOL_SEED'] ?? 1);

test(`random histories of a pool keep the invariants, over ${STEPS} steps; the store in memory answers as the scheduler`, async () => {
  const tally: PoolTally = {};
  for (let seed = FIRST_SEED; seed < FIRST_SEED + STEPS / STEPS_A_HISTORY; seed++) {
    // To compare costs time: the store is a thin one.
    const stores = seed % 10 === 0 ? [{ name: 'memory', processors: [createMemoryPools()] }] : [];
    for (const [kind, count] of Object.entries(await playPools(seed, STEPS_A_HISTORY, stores))) tally[kind] = (tally[kind] ?? 0) + count;
  }
  // Nothing was left out.
  const refused = ['pool_busy', 'queue_full', 'queue_timeout', 'pool_too_small'].map((reason) => `refused: ${reason}`);
  const dispatched = ['dispatched: tier 0', 'dispatched: tier 1', 'dispatched: tier spot', 'granted: tier 0', 'granted: tier 1', 'waiting: tier 0', 'waiting: tier 1'];
  const told = ['event: queue_timeout', 'event: pool_busy', 'ending: reclaimed', 'ending: pressure', 'reaped', 'unclaimed', 'crash'];
  const ends = ['ended', 'already_ended', 'unknown', 'corrected'].flatMap((end) => [`settle: ${end}`, `cancel: ${end}`]);
  for (const kind of [...refused, ...dispatched, ...told, ...ends]) expect(tally[kind] ?? 0, kind).toBeGreaterThan(STEPS / 20_000);
}, STEPS * 3 + 20_000);
