import type { Media, PromptContent, RequestFacts } from '../domain/request.js';
import { TEXT_FEATURES } from '../lib/text-features.js';
import { textWeights, tokenizerOf, type Tokenizer } from './families.js';
import { LEAST, weigh } from './features.js';
import { isMeasured, mediaTokens } from './media.js';
import { overheadsOf, type Overheads } from './overheads.js';

const TEXT = TEXT_FEATURES.length;

/**
 * Where what stands in the vector that is learned from. Its first `LEARNED` numbers are multiplied by weights; the rest is known
 * apart from them.
 */
export const AT = { toolText: TEXT, schema: TEXT + 1, messages: TEXT + 2, tools: TEXT + 3, hasTools: TEXT + 4, toolMessages: TEXT + 5, hasSchema: TEXT + 6, reasoning: TEXT + 7, once: TEXT + 8, sure: TEXT + 9, media: TEXT + 10, references: TEXT + 11, unknown: TEXT + 12 } as const;
export const LEARNED = TEXT + 9;
export const LENGTH = TEXT + 13;

/** What is known of a model before anything was learned. */
export interface Family {
  readonly tokenizer: Tokenizer;
  readonly overheads: Overheads;
  /** Weights of the learned part of a vector. */
  readonly weights: Readonly<Float64Array>;
}

export function familyOf({ api, model }: Pick<RequestFacts, 'api' | 'model'>): Family {
  return familyWith(tokenizerOf(model), overheadsOf(api, model));
}

export function familyWith(tokenizer: Tokenizer, overheads: Overheads): Family {
  const weights = new Float64Array(LEARNED);
  weights.set(textWeights(tokenizer));
  const { toolShare, schemaShare, message, tool, toolsPreamble, toolMessage, schemaPreamble, reasoning, reply } = overheads;
  weights.set([toolShare, schemaShare, message, tool, toolsPreamble, toolMessage, schemaPreamble, reasoning, reply], TEXT);
  return { tokenizer, overheads, weights };
}

/** What the body's references cost, as far as is known, and whether any of them is not known. */
export interface ReferenceTokens {
  readonly tokens: number;
  readonly unknown: boolean;
}

/** The vector of a prompt. Tool definitions and schemas come in as tokens of their JSON. */
export function regressorsOf({ prompt, model, reasoning }: RequestFacts, family: Family, references: ReferenceTokens): Float64Array {
  const x = new Float64Array(LENGTH);
  const { system, text } = prompt;
  for (let i = 0; i < TEXT; i++) x[i] = system[i]! + text[i]!;
  const weights = textWeights(family.tokenizer);
  x[AT.toolText] = weigh(prompt.toolText, weights);
  x[AT.schema] = weigh(prompt.schema, weights);
  x[AT.messages] = prompt.messages;
  x[AT.tools] = prompt.tools;
  x[AT.hasTools] = prompt.tools > 0 ? 1 : 0;
  x[AT.toolMessages] = prompt.tools > 0 ? Math.max(0, prompt.messages - 1) : 0;
  x[AT.hasSchema] = x[AT.schema]! > 0 ? 1 : 0;
  x[AT.reasoning] = reasoning === true ? 1 : 0;
  x[AT.once] = 1;
  x[AT.sure] = prompt.tokenIds;
  x[AT.media] = prompt.media.reduce((sum, item: Media) => sum + mediaTokens(item, model), 0);
  x[AT.references] = references.tokens;
  x[AT.unknown] = references.unknown || !prompt.media.every(isMeasured) ? 1 : 0;
  return x;
}

/** What is added to the weighted part. */
export function offsetOf(x: Readonly<Float64Array>): number {
  return x[AT.sure]! + x[AT.media]! + x[AT.references]!;
}

/** Tokens that a vector stands for, a fraction. */
export function predict(x: Readonly<Float64Array>, weights: Readonly<Float64Array>): number {
  let sum = offsetOf(x);
  for (let i = 0; i < LEARNED; i++) sum += x[i]! * weights[i]!;
  return sum;
}

/** Least share of tool definitions and schemas that some model shows: Gemini counts no schema. */
const LEAST_TOOL_SHARE = 0.2;

/** What a prompt hardly goes below, a fraction. Media count nothing: a picture may be scaled down to almost nothing. */
export function leastTokens(prompt: PromptContent): number {
  return prompt.tokenIds + prompt.messages / 2 + weigh(prompt.system, LEAST) + weigh(prompt.text, LEAST) + LEAST_TOOL_SHARE * weigh(prompt.toolText, LEAST);
}
