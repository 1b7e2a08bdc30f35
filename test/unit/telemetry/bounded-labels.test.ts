import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BoundedLabels, cleanLabel } from '../../../src/telemetry/bounded-labels.js';

const BOUNDS = { maxValues: 3, maxPerOwner: 2, maxLength: 8 };

describe('bounded labels', () => {
  it('keep the first values and call the rest other', () => {
    const labels = new BoundedLabels({ ...BOUNDS, maxPerOwner: 3 });
    expect(['a', 'b', 'c', 'd', 'a'].map((value) => labels.admit(value))).toEqual(['a', 'b', 'c', 'other', 'a']);
    expect(labels.size).toBe(3);
  });

  it('give one owner only its share of the room', () => {
    const labels = new BoundedLabels(BOUNDS);
    expect(['x1', 'x2', 'x3'].map((value) => labels.admit(value, 'flooder'))).toEqual(['x1', 'x2', 'other']);
    expect(labels.admit('real', 'acme')).toBe('real');
    expect(labels.admit('x1', 'acme')).toBe('x1');
  });

  it('show a claimed value only if it is known, and take in none', () => {
    const labels = new BoundedLabels(BOUNDS);
    labels.admit('real');
    expect(labels.lookup('real')).toBe('real');
    expect(labels.lookup('invented')).toBe('other');
    expect(labels.lookup('')).toBe('none');
    expect(labels.size).toBe(1);
  });

  it('hold no more than their bound, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string())), (values) => {
        const labels = new BoundedLabels(BOUNDS);
        const seen = new Set(values.map(([value, owner]) => labels.admit(value, owner)));
        expect(labels.size).toBeLessThanOrEqual(BOUNDS.maxValues);
        expect(seen.size).toBeLessThanOrEqual(BOUNDS.maxValues + 1);
      }),
    );
  });
});

describe('cleanLabel', () => {
  it('cuts and replaces what would break a line', () => {
    expect(cleanLabel('a\nb\u0000c\u2028d', 99)).toBe('a_b_c_d');
    expect(cleanLabel('x'.repeat(1_000_000), 8)).toBe('xxxxxxxx');
    expect(cleanLabel('', 8)).toBe('none');
  });

  it('leaves no half of a surrogate pair, also where it cuts through one', () => {
    expect(cleanLabel('1234567\u{1F600}', 8)).toBe('1234567_');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(20), (value, maxLength) => {
        const label = cleanLabel(value, maxLength + 1);
        expect(Buffer.from(label).toString()).toBe(label);
        expect(label).not.toMatch(/[\p{Cc}\p{Cs}]/u);
      }),
    );
  });
});
