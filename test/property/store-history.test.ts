import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory.js';
import { playHistory, type Tally } from './store-play.js';

/** Steps in all; `npm run property:store` plays more. */
const STEPS = Number(process.env['STORE_STEPS'] ?? 100_000);
const STEPS_A_HISTORY = 5_000;
const FIRST_SEED = Number(process.env['STORE_SEED'] ?? 1);

const memory = () => ({ name: 'memory', processors: [createMemoryStore({ keepEvents: true, recentEvents: 10 })] });

describe('random histories: a store answers as the model does', () => {
  const tally: Tally = {};

  test(`memory, over ${STEPS} steps`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + STEPS / STEPS_A_HISTORY; seed++) {
      for (const [kind, count] of Object.entries(await playHistory(seed, STEPS_A_HISTORY, [memory()]))) tally[kind] = (tally[kind] ?? 0) + count;
    }
    const kinds = ['reserved', 'refused', 'reaped', 'reaped whole', 'reopened', 'idle', 'busy', 'clock put right'];
    const ends = ['settled', 'corrected', 'already_ended', 'unknown'].flatMap((result) => [`settle: ${result}`, `cancel: ${result}`]);
    // Nothing was left out.
    for (const kind of [...kinds, ...ends]) expect(tally[kind], kind).toBeGreaterThan(STEPS / 20_000);
  }, STEPS * 3);
});
