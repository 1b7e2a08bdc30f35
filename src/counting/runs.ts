/**
 * Longest run of characters of one kind that a tokenizer gets at once: merging is quadratic in the length of a piece, and
 * tokenizers cut pieces only where the kind of character changes (100 KB of one letter takes seconds).
 */
const MAX_RUN = 128;

const LETTER = 0;
const DIGIT = 1;
const BLANK = 2;
const OTHER = 3;

/** Cuts a text so that no run of letters, digits, blanks or other characters is longer than `MAX_RUN`; the pieces are the text. */
export function* boundedRuns(text: string): Generator<string> {
  let pieceStart = 0;
  let runStart = 0;
  let kind = -1;
  for (let i = 0; i < text.length; i++) {
    const next = kindOf(text.charCodeAt(i));
    if (next !== kind) {
      kind = next;
      runStart = i;
    } else if (i - runStart >= MAX_RUN && !isLowSurrogate(text.charCodeAt(i))) {
      yield text.slice(pieceStart, i);
      pieceStart = i;
      runStart = i;
    }
  }
  if (pieceStart < text.length) yield text.slice(pieceStart);
}

function kindOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) return BLANK;
  if (code >= 128 || (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a) return LETTER;
  return OTHER;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
