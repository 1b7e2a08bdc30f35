import { TEXT_FEATURES } from '../lib/text-features.js';
import { weightsOf, type Weights } from './features.js';
import { TEXT_WEIGHTS } from './text-weights.js';

/** How a model cuts text into tokens. `unknown`: the middle of those that are known. */
export type Tokenizer = keyof typeof TEXT_WEIGHTS | 'claude' | 'claude-4.7' | 'unknown';

/** Anthropic publishes no tokenizer: what was measured is that it takes so many times the tokens of o200k, from Claude 4.7 on more. */
const CLAUDE_FACTOR = 1.18;
const CLAUDE_47_FACTOR = 1.53;

const WEIGHTS: Readonly<Record<Tokenizer, Weights>> = {
  o200k: weightsOf(TEXT_WEIGHTS.o200k),
  llama: weightsOf(TEXT_WEIGHTS.llama),
  qwen: weightsOf(TEXT_WEIGHTS.qwen),
  gemma: weightsOf(TEXT_WEIGHTS.gemma),
  deepseek: weightsOf(TEXT_WEIGHTS.deepseek),
  claude: weightsOf(TEXT_WEIGHTS.o200k, CLAUDE_FACTOR),
  'claude-4.7': weightsOf(TEXT_WEIGHTS.o200k, CLAUDE_47_FACTOR),
  unknown: middle(),
};

function middle(): Weights {
  const tables = Object.values(TEXT_WEIGHTS);
  return Float64Array.from(TEXT_FEATURES, (feature) => tables.reduce((sum, table) => sum + table[feature], 0) / tables.length);
}

/** Every tokenizer that a model may turn out to have. */
export const TOKENIZERS = Object.keys(WEIGHTS) as readonly Tokenizer[];

export function textWeights(tokenizer: Tokenizer): Weights {
  return WEIGHTS[tokenizer];
}

/**
 * Tokenizers by model name, as of November 2026; the first that matches counts. Gateways put their own words around a name
 * (`us.anthropic.claude-…-v1:0`, `openrouter/google/gemma-3`), so names are looked for anywhere.
 */
const BY_NAME: readonly (readonly [RegExp, Tokenizer])[] = [
  // The new tokenizer came with Opus 4.7; Sonnet and Haiku 4.x stayed with the old one, all of 5 have the new one.
  [/claude-(opus-4[.-][789]|(opus|sonnet|haiku)-[5-9]|fable|mythos)/, 'claude-4.7'],
  [/claude/, 'claude'],
  [/gemma|gemini|imagen|veo|learnlm|text-embedding-00|embedding-gecko/, 'gemma'],
  [/qwen|qwq|qvq/, 'qwen'],
  [/deepseek/, 'deepseek'],
  [/llama|mistral|mixtral|codestral|ministral|devstral|magistral|vicuna|hermes|nemotron/, 'llama'],
  [/gpt-|chatgpt|(^|[/.])o[134](-|$)|text-embedding-(3|ada)|davinci|babbage|codex|whisper|grok|kimi|moonshot|glm-/, 'o200k'],
];

export function tokenizerOf(model: string): Tokenizer {
  const name = model.toLowerCase();
  return BY_NAME.find(([pattern]) => pattern.test(name))?.[1] ?? 'unknown';
}
