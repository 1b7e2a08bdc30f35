import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openaiChat } from '../../src/wire/openai/openai.js';
import { applySplices } from '../../src/wire/json/splice.js';

const blank = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

/** A string as JSON: its characters as they are, or escaped in any way that JSON allows. */
const quoted = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.infiniteStream(fc.nat(5))).map(([value, ways]) => {
    const pieces = [...JSON.stringify(value).slice(1, -1).matchAll(/\\u....|\\.|[^\\]/gsu)].map(([piece]) => {
      const escape = piece.length === 1 && ways.next().value === 0;
      return escape ? `\\u${piece.charCodeAt(0).toString(16).padStart(4, '0')}` : piece;
    });
    return `"${pieces.join('')}"`;
  });

const number = fc.constantFrom('0', '-0', '1.0', '1e2', '1E+2', '12345678901234567890', '0.10', '-3.5e-7');
const word = fc.constantFrom('true', 'false', 'null');
const key = quoted(fc.oneof(fc.string(), fc.constantFrom('stream_options', 'include_usage', 'a', 'stream', '"', '\\', '{', 'é😀')));

const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, number, word, quoted(fc.string({ unit: 'binary' })), list(tie('value')), tie('object')),
  object: objectOf(fc.tuple(key, tie('value'))),
}));

function list(item: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(fc.array(item, { maxLength: 3 }), blank).map(([items, space]) => `[${space}${items.join(`${space},`)}${space}]`);
}

function objectOf(member: fc.Arbitrary<[string, string]>): fc.Arbitrary<string> {
  return fc.tuple(fc.array(member, { maxLength: 4 }), blank, blank).map(([members, a, b]) => `{${a}${members.map(([name, text]) => `${name}${b}:${a}${text}`).join(`${a},${b}`)}${b}}`);
}

const options = fc.oneof(
  fc.constant('null'),
  objectOf(fc.tuple(key, value)),
  objectOf(fc.tuple(quoted(fc.constantFrom('include_usage', 'include_obfuscation')), word)),
);
const member = fc.oneof(fc.tuple(key, value), fc.tuple(quoted(fc.constant('stream_options')), options));

/** A body whose last `stream` is true; whatever else it holds. */
const body = fc.tuple(fc.array(member, { maxLength: 5 }), fc.array(fc.tuple(quoted(fc.constant('stream_options')), options), { maxLength: 2 }), blank, blank).map(([before, after, a, b]) => {
  const members = [...before, ['"stream"', 'true'], ...after];
  return `${a}{${b}${members.map(([name, text]) => `${name}${a}:${b}${text}`).join(`${b},${a}`)}${a}}${b}`;
});

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

it('asking for usage changes nothing but stream_options.include_usage, and keeps every other byte', () => {
  fc.assert(
    fc.property(body, (text) => {
      const before = JSON.parse(text) as Record<string, unknown>;
      fc.pre(before['stream_options'] === undefined || before['stream_options'] === null || isObject(before['stream_options']));
      const bytes = Buffer.from(text);
      const splices = openaiChat.askForUsage(bytes);
      const after = JSON.parse(applySplices(bytes, splices).toString()) as Record<string, unknown>;
      const wanted = isObject(before['stream_options']) ? { ...before['stream_options'], include_usage: true } : { include_usage: true };
      expect(after).toEqual({ ...(JSON.parse(bytes.toString()) as object), stream_options: wanted });
      expect(splices.length).toBeLessThanOrEqual(1);
      // All that is ever taken away is one value: of `include_usage`, or of `stream_options` where it was null.
      for (const { start, end } of splices) expect(start === end || JSON.parse(bytes.toString('utf8', start, end)) !== undefined).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
