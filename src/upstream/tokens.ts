/** Letters of one word that make one token. */
const PIECE_LETTERS = 4;

/** Words of at most four letters: each is one token by the rule below. */
const WORDS = 'the sun sets over a calm lake and we walk home past old oak tree rows with dogs that bark at wild deer now then stop to rest'.split(' ');

/**
 * The simulated tokenizer: a run of ASCII letters and digits is one token for each four characters begun, every other
 * visible character is one token, white space is free. Deterministic and linear.
 */
export function countTokens(text: string): number {
  let tokens = 0;
  let run = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isWordCode(code)) {
      if (run % PIECE_LETTERS === 0) tokens++;
      run++;
      continue;
    }
    run = 0;
    if (code > 32 && !isLowSurrogate(code)) tokens++;
  }
  return tokens;
}

function isWordCode(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** The text of the `index`-th token of the answer to a prompt with that seed; a whole answer counts as many tokens as it has pieces. */
export function tokenText(seed: number, index: number): string {
  const word = WORDS[(seed + index * 7) % WORDS.length]!;
  return index === 0 ? word : ` ${word}`;
}

/** A small number that depends on a text's length and ends: which answer a prompt gets. */
export function seedOf(text: string): number {
  let hash = text.length;
  for (const char of text.slice(0, 64) + text.slice(-64)) hash = (hash * 31 + char.charCodeAt(0)) % 1_000_003;
  return hash;
}
