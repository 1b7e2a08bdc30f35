import type { Estimator, Observation, OutputBounds, OutputEstimate, PromptEstimate } from '../domain/estimate.js';
import type { RequestFacts } from '../domain/request.js';
import type { TextFeatures } from '../lib/text-features.js';
import { Learned } from './learned.js';
import { Recent } from './recent.js';
import { leastPromptTokens, promptTokens, textTokens } from './weights.js';

export interface EstimatorOptions {
  /** Pairs of tenant and model that are remembered, about 1 KB each. */
  readonly maxKeys?: number;
  /** So many answers must have come before their 95th percentile is taken for what will come. */
  readonly minObservations?: number;
}

/** No estimate goes above this: what is left of a safe integer when a token is counted in 60,000ths. */
const MAX_TOKENS = 2 ** 36;

const MAX_PIECES_PER_TOKEN = 2;

/** An estimator that knows nothing yet. Its results are whole numbers; see `weights.ts` for where they come from. */
export function createEstimator({ maxKeys = 10_000, minObservations = 5 }: EstimatorOptions = {}): Estimator {
  const learned = new Recent<Learned>(maxKeys);
  return {
    prompt: (tenantId, facts) => estimatePrompt(facts, learned.get(keyOf(tenantId, facts.model))),
    output: (tenantId, facts, bounds) => {
      const known = learned.get(keyOf(tenantId, facts.model));
      return estimateOutput(facts, bounds, known !== undefined && known.outputs.total >= minObservations ? known : null);
    },
    countOutput,
    learned: () => [],
    adopt: () => undefined,
    learn: (observation) => {
      learnFrom(observation, learned);
    },
  };
}

function estimatePrompt(facts: RequestFacts, known: Learned | undefined): PromptEstimate {
  const rawTokens = whole(promptTokens(facts.prompt), 1);
  const least = whole(leastPromptTokens(facts.prompt), 1);
  const tokens = whole(rawTokens * (known?.ratio ?? 1), Math.max(1, facts.prompt.tokenIds));
  return { tokens, lowerBoundTokens: Math.min(least, tokens), errorShare: 0.3, cachedShare: known?.cachedShare ?? 0, regressors: Float64Array.of(rawTokens) };
}

function estimateOutput(facts: RequestFacts, bounds: OutputBounds, known: Learned | null): OutputEstimate {
  const most = bounds.maxOutputTokens === null ? MAX_TOKENS : bounds.maxOutputTokens * facts.choices;
  const explicitCapTokens = facts.outputCapTokens === null ? null : whole(Math.min(most, facts.outputCapTokens * facts.choices), 0);
  const unknown = bounds.unknownOutputTokens * facts.choices;
  const reservedTokens = explicitCapTokens ?? whole(Math.min(most, known?.outputs.quantile(0.95) ?? unknown), 1);
  const expectedTokens = Math.min(reservedTokens, whole(known?.outputs.mean() ?? unknown, 1));
  return { reservedTokens, expectedTokens, explicitCapTokens };
}

/**
 * Model servers send a token or more in each piece, so the pieces bound the tokens from below: without them markup is counted
 * at half of what it is (llama.cpp with Gemma: 11 for 21). Gateways that cut text into slivers send pieces of less than a
 * token; where there are more than twice as many pieces as the text can explain, only the text is believed.
 */
function countOutput(_model: string, text: Readonly<TextFeatures>, pieces: number): number {
  const tokens = textTokens(text);
  if (tokens <= 0) return 0;
  const byText = whole(tokens, 1);
  return pieces <= MAX_PIECES_PER_TOKEN * byText ? Math.max(byText, pieces) : byText;
}

function learnFrom(observation: Observation, learned: Recent<Learned>): void {
  const key = keyOf(observation.tenantId, observation.facts.model);
  const known = learned.get(key) ?? new Learned();
  known.take(observation);
  learned.set(key, known);
}

/** The length keeps `a` + `bc` apart from `ab` + `c`. */
function keyOf(tenantId: string, model: string): string {
  return `${tenantId.length}:${tenantId}${model}`;
}

function whole(tokens: number, least: number): number {
  return Math.min(MAX_TOKENS, Math.max(least, Math.round(tokens)));
}
