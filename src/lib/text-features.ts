/**
 * What is counted of a text, in the order of a feature vector. Tokenizers differ most between these classes; what each costs
 * is the estimator's business.
 */
export const TEXT_FEATURES = [
  'letters', // ASCII letters
  'digits', // ASCII digits
  'spaces', // space, tab, line ends
  'symbols', // ASCII punctuation and control characters
  'alphabetic', // UTF-16 units of alphabetic scripts beyond ASCII
  'ideographic', // UTF-16 units of Chinese, Japanese and Korean scripts
  'other', // UTF-16 units of everything else: emoji, symbols, private use
] as const;

/** Counts of one text, one number for each of `TEXT_FEATURES`. Counts of texts that stand apart may be added up. */
export type TextFeatures = Float64Array;

const LETTER = 0;
const DIGIT = 1;
const SPACE = 2;
const SYMBOL = 3;
const ALPHABETIC = 4;
const IDEOGRAPHIC = 5;
const OTHER = 6;
const ASCII_CLASS = Uint8Array.from({ length: 128 }, (_, code) => {
  if ((code >= 65 && code <= 90) || (code >= 97 && code <= 122)) return LETTER;
  if (code >= 48 && code <= 57) return DIGIT;
  if (code === 32 || (code >= 9 && code <= 13)) return SPACE;
  return SYMBOL;
});

/** Features of an empty text. */
export function noText(): TextFeatures {
  return new Float64Array(TEXT_FEATURES.length);
}

/**
 * Counts a text that may come in pieces: cut anywhere, the counts are those of the whole. Linear in the length, allocates
 * nothing that grows with it.
 */
export class TextCounter {
  readonly features: TextFeatures = noText();

  /** Takes the next piece of the text. */
  add(text: string): void {
    const { features } = this;
    for (let i = 0; i < text.length; i++) features[classOf(text.charCodeAt(i))]! += 1;
  }
}

function classOf(code: number): number {
  if (code < 128) return ASCII_CLASS[code]!;
  if (code < 0x2000) return ALPHABETIC;
  if ((code >= 0x2e80 && code <= 0xd7ff) || (code >= 0xf900 && code <= 0xfaff) || code >= 0xff00) return IDEOGRAPHIC;
  return OTHER;
}
