import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noText, TEXT_FEATURES, TextCounter } from '../../../src/lib/text-features.js';

function counted(...pieces: string[]): Record<string, number> {
  const counter = new TextCounter();
  for (const piece of pieces) counter.add(piece);
  return Object.fromEntries(TEXT_FEATURES.flatMap((name, i) => (counter.features[i] === 0 ? [] : [[name, counter.features[i]!]])));
}

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ unit: fc.constantFrom('a', 'B', '7', ' ', '\n', '-', '{', 'é', 'я', 'ї', '日', 'か', '😀', 'ع', 'ی', '。'), maxLength: 300 }));

describe('counts of a text', () => {
  it.each<[string, Record<string, number>]>([
    ['Hello world', { words: 2, capitals: 1, letters5to8: 2 }],
    ['parseXMLBody(a)', { words: 1, humps: 2, upper: 3, letters5to8: 1, gluedWords: 1, marks: 2 }],
    ['12345 67', { digits: 7, digitGroups: 3, digitRuns: 2, digitsAfterBlank: 1 }],
    ['привет, її', { cyrillic: 6, cyrillicExtended: 2, cyrillicWords: 2, marks: 1 }],
    ['日本語です。', { ideographs: 3, kana: 2, wide: 1 }],
    ['------', { marks: 1, marksSame: 5 }],
    ['a\n\n\n    b;\n', { words: 2, lines: 1, linesMore: 2, indents: 1, blanks: 3, marks: 1, linesAfterMarks: 1 }],
    ['😀', { emoji: 2 }],
    ['café', { words: 1, latin1: 1 }],
  ])('%j', (sample, expected) => {
    expect(counted(sample)).toEqual(expected);
  });

  it('take base64 for what it is, and camelCase not', () => {
    expect(counted(Buffer.from('The committee met in the afternoon').toString('base64'))['mixed']).toBeGreaterThan(20);
    expect(counted('getElementsByClassName setTimeout XMLHttpRequest')['mixed']).toBeUndefined();
  });

  it('are those of the whole wherever it is cut, also in a long text', () => {
    fc.assert(
      fc.property(text, fc.nat(300), fc.integer({ min: 1, max: 40 }), (sample, at, times) => {
        const whole = sample.repeat(times);
        expect(counted(whole.slice(0, at), whole.slice(at))).toEqual(counted(whole));
      }),
    );
  });

  it('never fall when text is added', () => {
    fc.assert(
      fc.property(text, text, (start, more) => {
        const counter = new TextCounter();
        counter.add(start);
        const before = Float64Array.from(counter.features);
        counter.add(more);
        expect(before.every((count, i) => count <= counter.features[i]!)).toBe(true);
      }),
    );
  });

  it('begin a new word after a cut between texts', () => {
    const counter = new TextCounter();
    counter.add('one');
    counter.cut();
    counter.add('two');
    expect(counter.features[TEXT_FEATURES.indexOf('words')]).toBe(2);
  });

  it('are the same for bytes of ASCII', () => {
    const sample = 'GET /index.html HTTP/1.1\r\n\tHost: x';
    const counter = new TextCounter();
    counter.addAscii(Buffer.from(`..${sample}`), 2, sample.length + 2);
    const other = new TextCounter();
    other.add(sample);
    expect(counter.features).toEqual(other.features);
  });

  it('leave nothing uncounted: no text above a few characters is free', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0x21, max: 0xffff }), (code) => {
        expect(Object.keys(counted(String.fromCharCode(code))).length).toBeGreaterThan(0);
      }),
    );
    expect(noText().every((count) => count === 0)).toBe(true);
  });
});
