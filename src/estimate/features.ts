import { TEXT_FEATURES, type TextFeatures } from '../lib/text-features.js';

/** Tokens for each of `TEXT_FEATURES`, in their order. */
export type Weights = Readonly<Float64Array>;

/** The order of a feature vector is told once, here: tables name their features. */
export function weightsOf(table: Readonly<Record<(typeof TEXT_FEATURES)[number], number>>, factor = 1): Weights {
  return Float64Array.from(TEXT_FEATURES, (feature) => table[feature] * factor);
}

/** Tokens of a text, a fraction. */
export function weigh(text: Readonly<TextFeatures>, weights: Readonly<Float64Array>): number {
  let sum = 0;
  for (let i = 0; i < TEXT_FEATURES.length; i++) sum += text[i]! * weights[i]!;
  return sum;
}

/**
 * What text hardly goes below with any tokenizer, per feature: long words and runs of one character are merged into few
 * tokens, runs of blanks into hardly any. By o200k, 100,000 of `a`, blank, `-`, `1` are 12,500, 782, 1,550 and 33,334 tokens.
 */
export const LEAST: Weights = weightsOf({
  words: 0.6, gluedWords: 0.3, capitals: 0, humps: 0.3, upper: 0.1, letters5to8: 0, letters9to14: 0.05, lettersPast14: 0.1, hardLetters: 0,
  latin1: 0, latinExtended: 0.05, latinAdditional: 0.05, digitRuns: 0, digitGroups: 0.5, digits: 0, digitsAfterBlank: 0, mixed: 0.3, marks: 0.3, marksMore: 0.1,
  marksSame: 0.01, lines: 0.3, linesAfterMarks: 0, linesMore: 0.005, indents: 0, gaps: 0, blanks: 0.005, cyrillic: 0.1, cyrillicExtended: 0.1, cyrillicWords: 0.1,
  greek: 0.15, arabic: 0.15, arabicExtended: 0.1, hebrew: 0.15, devanagari: 0.1, indic: 0.1, thai: 0.15, rareLetters: 0.15, scriptWords: 0, hangul: 0.25, kana: 0.2,
  ideographs: 0.35, wide: 0.05, typography: 0.05, symbols: 0.02, emoji: 0.1,
});
