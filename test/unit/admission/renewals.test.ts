import { describe, expect, it } from 'vitest';
import { Renewals } from '../../../src/admission/renewals.js';
import { RENEW_MS, type Renewal } from '../../../src/domain/store.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { settled } from '../../support/harness.js';

interface Told { readonly atMs: number; readonly renewals: readonly Renewal[] }

/** Renewals on virtual time, and what the store was told when. */
function world(random: () => number = () => 0, answer: (call: number) => Promise<void> = () => Promise.resolve()) {
  const clock = new VirtualClock(0);
  const told: Told[] = [];
  const faults: unknown[] = [];
  const store = { renew: (renewals: readonly Renewal[], atMs: number) => answer(told.push({ atMs, renewals })) };
  const renewals = new Renewals({ store, clock, random, onFault: (error) => faults.push(error) });
  /** Advances in small steps, so that answers come in between. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 25) {
      clock.advance(25);
      await settled();
    }
  };
  const timesOf = (leaseId: string) => told.filter((call) => call.renewals.some((renewal) => renewal.leaseId === leaseId)).map(({ atMs }) => atMs);
  return { clock, told, faults, renewals, pass, timesOf };
}

const lease = (id: string, output: { now: number } = { now: 0 }, reservedOutputTokens = 100) => ({ id, reservedOutputTokens, outputSoFar: () => output.now });

describe('renewals (issue point 3)', () => {
  it('tell of every lease at least each second while it runs, also before any output, whatever the jitter', async () => {
    for (const seed of [0, 0.5, 0.999]) {
      const { renewals, pass, timesOf } = world(() => seed);
      renewals.begin(lease('a'));
      await pass(130);
      renewals.begin(lease('b'));
      await pass(60_000);
      for (const id of ['a', 'b']) {
        const times = timesOf(id);
        expect(times[0]).toBeLessThanOrEqual(400);
        expect(times.at(-1)).toBeGreaterThan(59_000);
        expect(Math.max(...times.slice(1).map((at, i) => at - times[i]!))).toBeLessThanOrEqual(RENEW_MS);
        expect(times.length).toBeLessThan(100);
      }
    }
  });

  it('tell the output so far with each, and within 250 ms what exceeds the reservation', async () => {
    const output = { now: 0 };
    const { renewals, pass, told } = world();
    renewals.begin(lease('a', output, 10));
    await pass(250);
    output.now = 4;
    await pass(1_000);
    expect(told.map(({ renewals: [first] }) => first!.outputTokens)).toEqual([0, 4]);
    for (const now of [11, 12, 13]) {
      output.now = now;
      await pass(250);
      expect(told.at(-1)!.renewals).toEqual([{ leaseId: 'a', outputTokens: now }]);
    }
  });

  it('put those that are due into few calls, one after the other, and set one timer for all', async () => {
    let under = 0;
    let most = 0;
    const { clock, renewals, pass, told } = world(() => 0, async () => {
      most = Math.max(most, ++under);
      await Promise.resolve();
      under--;
    });
    for (let i = 0; i < 1_700; i++) renewals.begin(lease(`l${i}`));
    expect(clock.pending).toBe(1);
    await pass(250);
    expect(told.map((call) => call.renewals.length)).toEqual([500, 500, 500, 200]);
    expect(new Set(told.flatMap((call) => call.renewals.map(({ leaseId }) => leaseId))).size).toBe(1_700);
    expect(clock.pending).toBe(1);
    expect(most).toBe(1);
  });

  it('tell the others soon where a call of several fails, and nothing of what ended meanwhile', async () => {
    const { renewals, pass, told, faults } = world(() => 0, (call) => (call === 2 ? Promise.reject(new Error('slow')) : Promise.resolve()));
    for (let i = 0; i < 1_200; i++) renewals.begin(lease(`l${i}`));
    await pass(200);
    expect(told).toHaveLength(2);
    for (let i = 0; i < 1_150; i++) renewals.forget(`l${i}`);
    await pass(200);
    expect(told.at(-1)!.renewals.map(({ leaseId }) => leaseId)).toEqual(Array.from({ length: 50 }, (_, i) => `l${1_150 + i}`));
    expect(faults).toHaveLength(1);
  });

  it('tell nothing of a lease that ended, and set no timer where none runs', async () => {
    const { clock, renewals, pass, told } = world();
    renewals.begin(lease('a'));
    renewals.forget('a');
    await pass(5_000);
    expect(told).toEqual([]);
    expect(clock.pending).toBe(0);
    renewals.begin(lease('b'));
    renewals.close();
    await pass(5_000);
    expect(told).toEqual([]);
  });

  it('a store that fails costs a fault that is counted; the output is told as soon as it is back', async () => {
    const output = { now: 50 };
    let away = true;
    const { renewals, pass, told, faults } = world(() => 0, () => (away ? Promise.reject(new Error('away')) : Promise.resolve()));
    renewals.begin(lease('a', output, 10));
    await pass(1_000);
    expect(faults).toHaveLength(5);
    away = false;
    await pass(250);
    expect(told.at(-1)!.renewals).toEqual([{ leaseId: 'a', outputTokens: 50 }]);
    await pass(500);
    expect(told).toHaveLength(6);
  });

  it('a store that is slow gets one call at a time, one that never answers one a second', async () => {
    const { renewals, pass, told } = world(() => 0, () => new Promise(() => undefined));
    renewals.begin(lease('a'));
    await pass(10_000);
    expect(told.length).toBeGreaterThanOrEqual(9);
    expect(told.length).toBeLessThanOrEqual(11);
  });
});
