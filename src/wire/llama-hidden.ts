import { isObject, listOf, type Json, type JsonObject } from './json/json.js';

/** Token ids that are counted of an answer that shows no text. */
const MAX_IDS = 1_000_000;

/**
 * Text of an answer of llama.cpp that shows none: `response_fields` lets a client have the ids of its output and nothing else, for which
 * short words stand, or the tokens beside their probabilities. Empty where there is nothing of the kind.
 */
export function hiddenText({ tokens, completion_probabilities: chosen }: JsonObject): string {
  if (Array.isArray(tokens) && tokens.length > 0) return ' the'.repeat(Math.min(MAX_IDS, tokens.length));
  return listOf(chosen).slice(0, MAX_IDS).map(wordOf).join('');
}

/** `token`, or `content` with older servers. */
function wordOf(chosen: Json): string {
  if (!isObject(chosen)) return '';
  const { token, content } = chosen;
  return typeof token === 'string' ? token : typeof content === 'string' ? content : ' the';
}
