import { describe, expect, it } from 'vitest';
import { Reaper } from '../../../src/admission/reaper.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { settled, Witness } from '../../support/harness.js';

function world(reap: (nowMs: number) => Promise<number>, random: () => number = () => 0.5) {
  const clock = new VirtualClock(0);
  const witness = new Witness();
  const times: number[] = [];
  const store = { reap: (nowMs: number) => { times.push(nowMs); return reap(nowMs); } };
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      clock.advance(50);
      await settled();
    }
  };
  return { clock, witness, times, reaper: new Reaper({ store, clock, random, observer: witness }), pass };
}

describe('reaper (issue point 3)', () => {
  it('looks for dead processors’ leases about once a second, not all processors in the same moment, and counts what it settled', async () => {
    const chances = [0, 0.999, 0.5];
    const { witness, times, reaper, pass } = world((nowMs) => Promise.resolve(nowMs === 750 ? 3 : 0), () => chances.shift() ?? 0.5);
    reaper.start();
    reaper.start();
    await pass(10_000);
    expect(times.slice(0, 3)).toEqual([750, 1999.5, 3_000]);
    expect(times.length).toBe(10);
    expect(witness.reapedLeases).toBe(3);
  });

  it('goes on after a fault, which is counted', async () => {
    let calls = 0;
    const { witness, reaper, pass } = world(() => (++calls === 1 ? Promise.reject(new Error('away')) : Promise.resolve(1)));
    reaper.start();
    await pass(2_000);
    expect(witness.faults).toEqual(['reap']);
    expect(witness.reapedLeases).toBe(1);
  });

  it('has one call under way at a time, and stops at close', async () => {
    const { clock, times, reaper, pass } = world(() => new Promise(() => undefined));
    reaper.start();
    await pass(10_000);
    expect(times).toHaveLength(1);
    const idle = world(() => Promise.resolve(0));
    idle.reaper.start();
    idle.reaper.close();
    await idle.pass(5_000);
    expect(idle.times).toEqual([]);
    expect(clock.pending + idle.clock.pending).toBe(0);
  });
});
