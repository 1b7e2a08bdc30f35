import fc from 'fast-check';
import { expect, it } from 'vitest';
import { deeperThan, findMember } from '../../src/wire/json/scan.js';

/** Text that is hard to skip: quotes, backslashes and brackets around the length at which the scan changes its way. */
const hard = fc
  .array(fc.tuple(fc.constantFrom('"', '\\', '\\"', '{', ']', 'a', 'é', ','), fc.constantFrom(1, 2, 3, 30, 62, 63, 64, 65)), { maxLength: 6 })
  .map((runs) => runs.map(([text, times]) => text.repeat(times)).join(''));

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 5 }, hard, fc.integer(), fc.constantFrom(true, null), fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(hard, tie('value'), { maxKeys: 3 })),
}));

function depthOf(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 0;
  return 1 + Math.max(0, ...Object.values(json).map(depthOf));
}

it('the depth that is found without parsing is the true one', () => {
  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (json, indent) => {
      const bytes = Buffer.from(JSON.stringify(json, null, indent));
      const depth = depthOf(json);
      expect(deeperThan(bytes, depth)).toBe(false);
      if (depth > 0) expect(deeperThan(bytes, depth - 1)).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

it('a member that is found without parsing is the one that JSON.parse finds', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.oneof(hard, fc.constant('wanted')), value), { maxLength: 5 }), (members) => {
      const bytes = Buffer.from(`{${members.map(([key, json]) => `${JSON.stringify(key)} :\t${JSON.stringify(json)}`).join(' , ')}}`);
      const parsed = JSON.parse(bytes.toString()) as Record<string, unknown>;
      const found = findMember(bytes, 0, 'wanted');
      if (!Object.hasOwn(parsed, 'wanted')) expect(found).toBeNull();
      else expect(JSON.parse(bytes.toString('utf8', found?.start, found?.end))).toEqual(parsed['wanted']);
    }),
    { numRuns: 1000 },
  );
});

it('no bytes at all make the scan throw or run on', () => {
  const bytes = fc.array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', ' ', 'wanted', '"wanted":', '{"\\wanted":1'), { maxLength: 40 }).map((parts) => Buffer.from(parts.join('')));
  fc.assert(
    fc.property(bytes, (text) => {
      const found = findMember(text, 0, 'wanted');
      if (found !== null) expect(found.start <= found.end && found.end <= text.length).toBe(true);
      deeperThan(text, 5);
    }),
    { numRuns: 2000 },
  );
});
