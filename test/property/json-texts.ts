import fc from 'fast-check';

/** Strings that are hard to skip, cut or decode, many of them longer than what is parsed in place. */
export const hardText = fc
  .array(fc.tuple(fc.constantFrom('"', '\\', '\\"', '\n', '\u0000', '{', ']', 'a b', 'é', '本', '😀', '\ud800', '\u007f', ',1'), fc.constantFrom(1, 2, 17, 63, 64, 65, 300)), { maxLength: 6 })
  .chain((runs) => fc.constantFrom('', '\u007f0', '\u007f1', '\u007f').map((start) => start + runs.map(([text, times]) => text.repeat(times)).join('')));

/** A text as JSON: its characters as they are, or escaped in any way that JSON allows. */
export function quoted(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(text, fc.constantFrom(0, 1, 3)).map(([value, every]) => {
    let seen = 0;
    const escape = (piece: string) => (piece.length === 1 && every > 0 && seen++ % every === 0 ? `\\u${piece.charCodeAt(0).toString(16).padStart(4, '0')}` : piece);
    return `"${[...JSON.stringify(value).slice(1, -1).matchAll(/\\u....|\\.|[^]/gu)].map(([piece]) => escape(piece)).join('')}"`;
  });
}

export const blank = fc.constantFrom('', ' ', '\n\t', '\r\n  ');

/** A list of numbers, as JSON. */
export const numbers = fc.tuple(fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 40 }), blank).map(([list, space]) => `[${space}${list.join(`${space},${space}`)}${space}]`);
