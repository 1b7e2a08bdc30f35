import { createEstimator } from '../../src/estimate/estimator.js';
import { openaiCompletions } from '../../src/wire/openai/openai.js';

/** A prompt for the completions API that is estimated at exactly so many tokens while nothing was learned. */
export function promptOf(tokens: number): string {
  let [low, high] = [1, tokens * 8];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (estimated('a'.repeat(middle)) >= tokens) high = middle;
    else low = middle + 1;
  }
  const prompt = 'a'.repeat(low);
  if (estimated(prompt) !== tokens) throw new Error(`no prompt of ${tokens} tokens`);
  return prompt;
}

function estimated(prompt: string): number {
  const parsed = openaiCompletions.parseRequest(Buffer.from(JSON.stringify({ model: 'm', prompt })));
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return createEstimator().prompt('t', parsed.facts).tokens;
}
