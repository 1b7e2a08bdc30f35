import type { Estimator, LearnedState, Observation, OutputBounds, OutputEstimate, PromptEstimate } from '../domain/estimate.js';
import type { RequestFacts } from '../domain/request.js';
import type { TextFeatures } from '../lib/text-features.js';
import { assumedErrorShare } from './error-share.js';
import { textWeights } from './families.js';
import { weigh } from './features.js';
import { isCount, Learned } from './learned.js';
import { Models } from './models.js';
import { Recent } from './recent.js';
import { isLearnable, References } from './references.js';
import { AT, leastTokens, LENGTH, regressorsOf } from './regressors.js';

export interface EstimatorOptions {
  /** Pairs of tenant and model that are remembered, about 1 KB each. */
  readonly maxKeys?: number;
  /** Models that are learned of, about 50 KB each. */
  readonly maxModels?: number;
  /** Answers, conversations, files and cached contents whose tokens are remembered. */
  readonly maxReferences?: number;
  /** So many answers must have come before their 95th percentile is taken for what will come. */
  readonly minObservations?: number;
}

/** No estimate goes above this: what is left of a safe integer when a token is counted in 60,000ths. */
const MAX_TOKENS = 2 ** 36;

const MAX_PIECES_PER_TOKEN = 2;
/** What a count of pieces may differ from that of the whole. */
const EXACT_ERROR_TOKENS = 2;
/** So many answers must have come before a model's learned weights count its output too. */
const SURE_MODEL = 50;
/** A prompt is never estimated at more than this: no upstream takes more. */
const MAX_INPUT_TOKENS = 2 ** 31;

/** An estimator that knows nothing yet. Its results are whole numbers; `docs/estimator.md` tells how it works. */
export function createEstimator(options: EstimatorOptions = {}): Estimator {
  return new LearningEstimator(options);
}

class LearningEstimator implements Estimator {
  readonly #tenants: Recent<Learned>;
  readonly #models: Models;
  readonly #references: References;
  readonly #minObservations: number;

  constructor({ maxKeys = 10_000, maxModels = 1000, maxReferences = 20_000, minObservations = 5 }: EstimatorOptions) {
    this.#tenants = new Recent(maxKeys);
    this.#models = new Models(maxModels);
    this.#references = new References(maxReferences);
    this.#minObservations = minObservations;
  }

  prompt(tenantId: string, facts: RequestFacts): PromptEstimate {
    const known = this.#tenants.get(keyOf(tenantId, facts.model));
    const model = this.#models.of(facts);
    const regressors = regressorsOf(facts, model.family, this.#references.tokensOf(tenantId, facts, () => this.#usualInput(known)));
    const least = whole(leastTokens(facts.prompt), 1);
    const tokens = whole(model.predict(regressors), least);
    const assumed = assumedErrorShare(regressors, model.weights, model.family.tokenizer !== 'unknown');
    const errorShare = isLearnable(regressors) && regressors[AT.media] === 0 ? model.errorShare(assumed) : assumed;
    return { tokens, lowerBoundTokens: least, errorShare, cachedShare: known?.cachedShare ?? 0, regressors };
  }

  exactly(facts: RequestFacts, estimate: PromptEstimate, textTokens: number): PromptEstimate {
    const { regressors } = estimate;
    const ofText = weigh(regressors, this.#models.of(facts).weights);
    const around = Math.max(0, estimate.tokens - ofText);
    const tokens = whole(around + textTokens, textTokens);
    // What is around the text is estimated as before.
    const errorShare = Math.min(estimate.errorShare, (estimate.errorShare * around + EXACT_ERROR_TOKENS) / Math.max(1, tokens));
    return { ...estimate, tokens, lowerBoundTokens: textTokens, errorShare };
  }

  output(tenantId: string, facts: RequestFacts, bounds: OutputBounds): OutputEstimate {
    const known = this.#tenants.get(keyOf(tenantId, facts.model));
    return estimateOutput(facts, bounds, known !== undefined && this.#enough(known.outputs.total) ? known : null);
  }

  /**
   * Model servers send a token or more in each piece, so the pieces bound the tokens from below: without them markup is counted
   * at half of what it is (llama.cpp with Gemma: 11 for 21). Gateways that cut text into slivers send pieces of less than a
   * token; where there are more than twice as many pieces as the text can explain, only the text is believed.
   */
  countOutput(model: string, text: Readonly<TextFeatures>, pieces: number): number {
    // Of a conversation, whatever the API: how its prompts are framed does not matter here. Asked for with each chunk.
    const known = this.#models.of({ api: 'openai-chat', model });
    const tokens = weigh(text, known.observations >= SURE_MODEL ? known.weights : textWeights(known.family.tokenizer));
    if (!(tokens > 0)) return 0;
    const byText = whole(tokens, 1);
    return pieces <= MAX_PIECES_PER_TOKEN * byText ? Math.max(byText, Math.floor(pieces)) : byText;
  }

  learn({ tenantId, facts, prompt, usage, responseId }: Observation): void {
    const key = keyOf(tenantId, facts.model);
    const known = this.#tenants.get(key) ?? new Learned();
    known.take(usage);
    this.#tenants.set(key, known);
    const { regressors } = prompt;
    if (!isTrue(usage.inputTokens) || regressors.length !== LENGTH) return;
    const rest = (): number => this.#models.of(facts).predict(regressors) - regressors[AT.references]!;
    this.#references.learn(tenantId, facts, usage, responseId, rest);
    // Some upstreams tell only what was not in their cache, or nothing right at all.
    if (isLearnable(regressors) && usage.inputTokens >= leastTokens(facts.prompt)) this.#models.learn(facts, regressors, usage.inputTokens);
  }

  learned(): readonly LearnedState[] {
    return this.#models.changed();
  }

  adopt(states: readonly LearnedState[]): void {
    for (const state of states) this.#models.adopt(state);
  }

  /** What this tenant's longer prompts to the model take; null while unknown. */
  #usualInput(known: Learned | undefined): number | null {
    return known !== undefined && this.#enough(known.inputs.total) ? known.inputs.quantile(0.95) : null;
  }

  #enough(observations: number): boolean {
    return observations >= this.#minObservations;
  }
}

function estimateOutput(facts: RequestFacts, bounds: OutputBounds, known: Learned | null): OutputEstimate {
  const most = bounds.maxOutputTokens === null ? MAX_TOKENS : bounds.maxOutputTokens * facts.choices;
  const explicitCapTokens = facts.outputCapTokens === null ? null : whole(Math.min(most, facts.outputCapTokens * facts.choices), 0);
  const unknown = bounds.unknownOutputTokens * facts.choices;
  const reservedTokens = explicitCapTokens ?? whole(Math.min(most, known?.outputs.quantile(0.95) ?? unknown), 1);
  const expectedTokens = Math.min(reservedTokens, whole(known?.outputs.mean() ?? unknown, 1));
  return { reservedTokens, expectedTokens, explicitCapTokens };
}

function isTrue(inputTokens: number): boolean {
  return isCount(inputTokens) && inputTokens > 0 && inputTokens <= MAX_INPUT_TOKENS;
}

/** The length keeps `a` + `bc` apart from `ab` + `c`. */
function keyOf(tenantId: string, model: string): string {
  return `${tenantId.length}:${tenantId}${model}`;
}

function whole(tokens: number, least: number): number {
  return Math.min(MAX_TOKENS, Math.max(least, Math.round(tokens)));
}
