import { describe, expect, it } from 'vitest';
import { passGates, type Demand, type Gate, type GateVerdict } from '../../../src/admission/gates.js';
import { maxWaitOf } from '../../../src/admission/labels.js';
import { NO_SPAN } from '../../../src/domain/tracing.js';
import { FACTORS } from '../../support/scripted-pools.js';

const DEMAND = { leaseId: 'a' } as Demand;
const ADMITTED: GateVerdict = { kind: 'admitted', levels: [], wouldRefuse: null, shadowRefusal: null, pool: null, share: null };

function gates(second: () => Promise<GateVerdict>, concerns = true): { gates: Gate[]; calls: string[] } {
  const calls: string[] = [];
  const gate = (name: string, reserve: () => Promise<GateVerdict>, asks = true): Gate => ({
    name, concerns: () => asks,
    reserve: () => {
      calls.push(`${name} reserve`);
      return reserve();
    },
    refund: () => { calls.push(`${name} refund`); },
    abandon: () => { calls.push(`${name} abandon`); },
  });
  return { calls, gates: [gate('quota', () => Promise.resolve(ADMITTED)), gate('pool', second, concerns)] };
}

describe('two gates in order', () => {
  it('a refusal of the second gives back what the first took, and so does a client that left', async () => {
    const refused: GateVerdict = { kind: 'refused', refusal: { kind: 'draining', field: null, message: '', requestId: 'a' }, levels: [], pool: null };
    for (const verdict of [refused, { kind: 'left' } as const]) {
      const on = gates(() => Promise.resolve(verdict));
      expect(await passGates(on.gates, DEMAND, NO_SPAN)).toBe(verdict);
      expect(on.calls).toEqual(['quota reserve', 'pool reserve', 'quota refund']);
    }
  });

  it('a fault of the second is told, what it may have taken is given up, and the first is refunded', async () => {
    const on = gates(() => Promise.reject(new Error('away')));
    await expect(passGates(on.gates, DEMAND, NO_SPAN)).rejects.toThrow('away');
    expect(on.calls).toEqual(['quota reserve', 'pool reserve', 'pool abandon', 'quota refund']);
  });

  it('one that is not concerned is not asked', async () => {
    const on = gates(() => Promise.reject(new Error('asked')), false);
    expect(await passGates(on.gates, DEMAND, NO_SPAN)).toBe(ADMITTED);
    expect(on.calls).toEqual(['quota reserve']);
  });

  it('both verdicts are put together', async () => {
    const pool = { poolId: 'chat', waitedMs: 3, factors: FACTORS };
    const on = gates(() => Promise.resolve({ ...ADMITTED, pool }));
    expect(await passGates(on.gates, DEMAND, NO_SPAN)).toMatchObject({ kind: 'admitted', pool });
  });
});

describe('x-tokenweir-max-wait-ms', () => {
  const of = (value?: string) => maxWaitOf(new Map(value === undefined ? [] : [['x-tokenweir-max-wait-ms', value]]));

  it('is a number of milliseconds, and nothing else is', () => {
    expect([of('0'), of('1500'), of(' 77 '), of('999999999')]).toEqual([0, 1_500, 77, 999_999_999]);
    for (const odd of ['', '-1', '+1', '1e3', '0x10', '1.5', 'NaN', 'Infinity', '1000000000', '1, 2', '١']) expect(of(odd)).toBeNull();
    expect(of()).toBeNull();
  });
});
