import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { FaultLimiter } from '../../../src/telemetry/fault-limiter.js';

function limiter() {
  const clock = new VirtualClock(0);
  const lines: [atMs: number, kind: string, error: unknown, suppressed: number][] = [];
  const faults = new FaultLimiter(clock, (kind, error, suppressed) => lines.push([clock.nowMs(), kind, error, suppressed]));
  return { clock, lines, faults };
}

describe('fault lines', () => {
  it('come at most once a second of a kind, and account for every fault', () => {
    const { clock, lines, faults } = limiter();
    for (let i = 0; i < 30; i++) {
      faults.fault('session', i);
      clock.advance(100);
    }
    clock.advance(5_000);
    const times = lines.map(([atMs]) => atMs);
    expect(times).toEqual([0, 1_000, 2_000, 3_000]);
    expect(lines.reduce((sum, [, , , suppressed]) => sum + 1 + suppressed, 0)).toBe(30);
  });

  it('of different kinds do not wait for each other', () => {
    const { lines, faults } = limiter();
    faults.fault('session', 'a');
    faults.fault('settle', 'b');
    expect(lines.map(([, kind]) => kind)).toEqual(['session', 'settle']);
  });

  it('are silent again after a quiet second', () => {
    const { clock, lines, faults } = limiter();
    faults.fault('session', 'a');
    clock.advance(10_000);
    expect(lines).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('are told when it stops, and no timer is left', () => {
    const { clock, lines, faults } = limiter();
    faults.fault('session', 'a');
    faults.fault('session', 'b');
    faults.fault('session', 'c');
    faults.stop();
    expect(lines).toEqual([
      [0, 'session', 'a', 0],
      [0, 'session', 'c', 1],
    ]);
    expect(clock.pending).toBe(0);
  });
});
