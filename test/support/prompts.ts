/** A prompt for the completions API of exactly so many tokens, whatever was learned of texts: it is given as token ids. */
export function promptOf(tokens: number): number[] {
  return Array.from({ length: tokens }, (_, i) => i + 1);
}
