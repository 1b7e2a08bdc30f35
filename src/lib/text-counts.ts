/**
 * How much of each kind of character a text holds. A plain sum, so that the counts of pieces add up to the counts of
 * the whole. The classes are those in which tokenizers differ most.
 */
export interface TextCounts {
  /** ASCII letters. */
  letters: number;
  /** ASCII digits. */
  digits: number;
  /** Space, tab, line ends. */
  spaces: number;
  /** ASCII punctuation and control characters. */
  symbols: number;
  /** UTF-16 units of alphabetic scripts beyond ASCII: Latin with accents, Greek, Cyrillic, Hebrew, Arabic, Indic, Thai … */
  alphabetic: number;
  /** UTF-16 units of Chinese, Japanese and Korean scripts. */
  ideographic: number;
  /** UTF-16 units of everything else: emoji (surrogate pairs), symbols, private use. */
  other: number;
}

/** Counts of an empty text. */
export function noText(): TextCounts {
  return { letters: 0, digits: 0, spaces: 0, symbols: 0, alphabetic: 0, ideographic: 0, other: 0 };
}

const LETTER = 0;
const DIGIT = 1;
const SPACE = 2;
const SYMBOL = 3;
const ASCII_CLASS = Uint8Array.from({ length: 128 }, (_, code) => {
  if ((code >= 65 && code <= 90) || (code >= 97 && code <= 122)) return LETTER;
  if (code >= 48 && code <= 57) return DIGIT;
  if (code === 32 || (code >= 9 && code <= 13)) return SPACE;
  return SYMBOL;
});

/** Adds the counts of `text` to `counts`. Linear in the length, allocates nothing that grows with it. */
export function countText(text: string, counts: TextCounts): void {
  const ascii = [0, 0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 128) ascii[ASCII_CLASS[code]!]!++;
    else if (code < 0x2000) counts.alphabetic++;
    else if ((code >= 0x2e80 && code <= 0xd7ff) || (code >= 0xf900 && code <= 0xfaff) || code >= 0xff00) counts.ideographic++;
    else counts.other++;
  }
  counts.letters += ascii[LETTER]!;
  counts.digits += ascii[DIGIT]!;
  counts.spaces += ascii[SPACE]!;
  counts.symbols += ascii[SYMBOL]!;
}
