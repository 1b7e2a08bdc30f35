import type { TextFeatures } from '../lib/text-features.js';
import type { RequestFacts } from './request.js';
import type { Usage } from './usage.js';

export interface PromptEstimate {
  /** Tokens of the whole prompt, by what is known of the model until now. */
  readonly tokens: number;
  /** The prompt is hardly smaller than this. */
  readonly lowerBoundTokens: number;
  /** How far the truth may lie from `tokens`, as a share of it, nineteen times of twenty: 0.1 is ±10 %. */
  readonly errorShare: number;
  /** Share of the input that the upstream will likely read from its cache: 0 to 1. */
  readonly cachedShare: number;
  /** What the estimate was made from, kept to learn from the truth. Opaque to all but the estimator. */
  readonly regressors: Float64Array;
}

export interface OutputEstimate {
  /** What could come: the request's cap × choices, else the learned 95th percentile. For fit and quota. */
  readonly reservedTokens: number;
  /** What usually comes (learned mean). */
  readonly expectedTokens: number;
  /** The request's own cap × choices; null without one. */
  readonly explicitCapTokens: number | null;
}

/** What an answer taught. All figures of `usage` are the upstream's own. */
export interface Observation {
  readonly tenantId: string;
  readonly facts: RequestFacts;
  readonly prompt: PromptEstimate;
  readonly usage: Usage;
  /** Id of the answer, by which later requests may refer to it; null where it told none. */
  readonly responseId: string | null;
}

/** What was learned of one model, to be kept in the store and taken up by other processors. */
export interface LearnedState {
  /** Name of the model, or of another thing that is learned of. */
  readonly key: string;
  /** Answers it was learned from: of two states of one key the one with more is the better one. */
  readonly observations: number;
  /** Text that only the estimator reads. Bounded: 32 KB at most. */
  readonly state: string;
}

/** Port of `estimate/`. Everything in bounded time and memory. */
export interface Estimator {
  prompt(tenantId: string, facts: RequestFacts): PromptEstimate;
  /** The same estimate where the tokens of its texts (system and messages) were counted exactly. */
  exactly(facts: RequestFacts, estimate: PromptEstimate, textTokens: number): PromptEstimate;
  output(tenantId: string, facts: RequestFacts, limits: OutputBounds): OutputEstimate;
  /** Tokens of output text of which no usage was told. `pieces`: in how many it came. */
  countOutput(model: string, text: Readonly<TextFeatures>, pieces: number): number;
  /** Learns from true usage only: never call it with our own estimates. */
  learn(observation: Observation): void;
  /** What was learned since the last call, to be stored. */
  learned(): readonly LearnedState[];
  /** Takes up what was stored, by this processor or another; what can't be read is passed over. */
  adopt(states: readonly LearnedState[]): void;
}

export interface OutputBounds {
  /** The model's own limit; null if unknown. */
  readonly maxOutputTokens: number | null;
  /** Where nothing is learned yet. */
  readonly unknownOutputTokens: number;
}
