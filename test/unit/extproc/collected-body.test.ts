import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CollectedBody } from '../../../src/extproc/collected-body.js';

describe('a body that is collected', () => {
  it('is the bytes that came, in order, however they were cut', () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constantFrom(16_383, 16_384, 70_000)), { maxLength: 300 });
    fc.assert(fc.property(sizes, (lengths) => {
      const chunks = lengths.map((length, i) => Buffer.alloc(length, i));
      const body = new CollectedBody(Infinity);
      for (const chunk of chunks) body.add(chunk);
      const expected = Buffer.concat(chunks);
      expect(Buffer.concat(body.chunks).equals(expected)).toBe(true);
      expect(body.whole().equals(expected)).toBe(true);
    }), { numRuns: 50 });
  });

  it('keeps few pieces of a million tiny ones', () => {
    const body = new CollectedBody(1_000_000);
    for (let i = 0; i < 1_000_000; i++) body.add(Buffer.from('x'));
    expect(body.overflowed).toBe(false);
    expect(body.chunks.length).toBeLessThan(100);
  });

  it('is the chunk itself where it is one', () => {
    const body = new CollectedBody(10);
    const chunk = Buffer.from('abc');
    body.add(chunk);
    expect(body.whole()).toBe(chunk);
  });

  it('keeps nothing above its bound', () => {
    const body = new CollectedBody(10);
    body.add(Buffer.alloc(10));
    expect(body.overflowed).toBe(false);
    body.add(Buffer.alloc(1));
    body.add(Buffer.alloc(0));
    expect(body.overflowed).toBe(true);
    expect(body.whole()).toHaveLength(0);
  });
});
