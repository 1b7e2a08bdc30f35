import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UNITS_PER_TOKEN, deficitAt, giveBack, laterMs, remainingTokens, resetMs, take } from '../../src/quota/bucket.js';
import { planCharges } from '../../src/quota/charges.js';
import { demand, limit, policy, tenant } from '../unit/quota/builders.js';

const step = fc.record({
  afterMs: fc.integer({ min: -1_000, max: 100_000 }),
  amount: fc.integer({ min: -2_000, max: 2_000 }),
});

test('bucket arithmetic agrees with unlimited integers, over any history', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.array(step, { maxLength: 40 }), (rate, steps) => {
      const state = { deficitUnits: 0, updatedMs: 1_000_000 };
      let nowMs = 1_000_000;
      let exact = 0n;
      let latest = nowMs;
      for (const { afterMs, amount } of steps) {
        nowMs += afterMs;
        const elapsed = Math.max(0, nowMs - latest);
        latest += elapsed;
        exact = max0(exact - BigInt(rate) * BigInt(elapsed));
        exact = max0(exact + BigInt(amount) * BigInt(UNITS_PER_TOKEN));
        const deficit = deficitAt(state, rate, nowMs);
        state.updatedMs = laterMs(state, nowMs);
        state.deficitUnits = amount >= 0 ? take(deficit, amount) : giveBack(deficit, -amount);
        expect(BigInt(state.deficitUnits)).toBe(exact);
      }
    }),
  );
});

test('waiting for the reset makes full, one millisecond less does not', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), fc.integer({ min: 1, max: 10_000_000_000 }), (rate, deficitUnits) => {
      const state = { deficitUnits, updatedMs: 0 };
      const wait = resetMs(deficitUnits, rate);
      expect(deficitAt(state, rate, wait)).toBe(0);
      expect(deficitAt(state, rate, wait - 1)).toBeGreaterThan(0);
    }),
  );
});

test('what is left is the capacity less what is missing, rounded down', () => {
  fc.assert(
    fc.property(fc.nat({ max: 1_000_000_000 }), fc.integer({ min: 1, max: 100_000 }), (deficitUnits, capacity) => {
      const left = remainingTokens(deficitUnits, capacity) * UNITS_PER_TOKEN;
      const exact = capacity * UNITS_PER_TOKEN - deficitUnits;
      expect(left).toBeLessThanOrEqual(exact);
      expect(left).toBeGreaterThan(exact - UNITS_PER_TOKEN);
    }),
  );
});

const dimension = fc.constantFrom('requests', 'tokens', 'inputTokens', 'outputTokens', 'concurrency');

test('a charge is a whole number within its bucket, its input part within the charge', () => {
  fc.assert(
    fc.property(
      dimension,
      fc.integer({ min: 1, max: 5_000 }),
      fc.record({ prompt: fc.double({ min: 0, max: 9_000, noNaN: true }), output: fc.double({ min: 0, max: 9_000, noNaN: true }), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.boolean(),
      (dim, capacity, need, countCachedInput) => {
        const acme = tenant('acme', [limit(dim, capacity, { countCachedInput })]);
        const plan = planCharges(policy([acme]), acme, 'm', demand(need.prompt, need.output, { lowerBound: 0, cap: null, cachedShare: need.share }));
        if (plan.kind !== 'charges') throw new Error('nothing here is too large');
        const [charge] = plan.enforced;
        expect(Number.isInteger(charge!.amount)).toBe(true);
        expect(charge!.amount).toBeGreaterThanOrEqual(0);
        expect(charge!.amount).toBeLessThanOrEqual(capacity);
        expect(charge!.inputAmount).toBeGreaterThanOrEqual(0);
        expect(charge!.inputAmount).toBeLessThanOrEqual(charge!.amount);
      },
    ),
  );
});

function max0(n: bigint): bigint {
  return n > 0n ? n : 0n;
}
