import { describe, expect, it } from 'vitest';
import { Settlements } from '../../../src/admission/settlement.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { settled, Witness } from '../../support/harness.js';

function world(): { clock: VirtualClock; witness: Witness; settlements: Settlements } {
  const clock = new VirtualClock(1_000);
  const witness = new Witness();
  return { clock, witness, settlements: new Settlements(clock, witness) };
}

describe('settlements', () => {
  it('tries again with growing pauses until it is taken, and counts each failure', async () => {
    const { clock, witness, settlements } = world();
    let calls = 0;
    settlements.run(() => (++calls < 4 ? Promise.reject(new Error('away')) : Promise.resolve()));
    for (const [ms, expected] of [[0, 1], [50, 2], [99, 2], [1, 3], [200, 4], [60_000, 4]] as const) {
      clock.advance(ms);
      await settled();
      expect(calls).toBe(expected);
    }
    expect(witness.faults).toEqual(['settle', 'settle', 'settle']);
    expect(await settlements.close()).toBe(0);
  });

  it('closing makes a last try at once, and does not wait for one that fails for ever', async () => {
    const { clock, settlements } = world();
    let calls = 0;
    settlements.run(() => { calls++; return Promise.reject(new Error('away')); });
    await settled();
    clock.advance(100_000);
    await settled();
    const before = calls;
    expect(await settlements.close()).toBe(0);
    expect(calls).toBe(before + 1);
    expect(clock.pending).toBe(0);
  });

  it('closing gives up on a store that never answers, and says on how many leases', async () => {
    const { clock, settlements } = world();
    settlements.run(() => new Promise(() => undefined));
    const closed = settlements.close(5_000);
    clock.advance(4_999);
    await settled();
    clock.advance(1);
    expect(await closed).toBe(1);
  });

  it('what need not succeed is tried once', async () => {
    const { clock, witness, settlements } = world();
    let calls = 0;
    settlements.attempt(() => { calls++; return Promise.reject(new Error('away')); });
    await settled();
    clock.advance(60_000);
    await settled();
    expect(calls).toBe(1);
    expect(witness.faults).toEqual([]);
  });
});
