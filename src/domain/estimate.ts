import type { TextCounts } from '../lib/text-counts.js';
import type { RequestFacts } from './request.js';

export interface PromptEstimate {
  /** Tokens of the whole prompt, corrected by what was learned. */
  readonly tokens: number;
  /** Before the correction: what learning compares the truth with. */
  readonly rawTokens: number;
  /** The prompt is hardly smaller than this. */
  readonly lowerBoundTokens: number;
  /** Share of the input that the upstream will likely read from its cache: 0 to 1. */
  readonly cachedShare: number;
}

export interface OutputEstimate {
  /** What could come: the request's cap × choices, else the learned 95th percentile. For fit and quota. */
  readonly reservedTokens: number;
  /** What usually comes (learned mean). */
  readonly expectedTokens: number;
  /** The request's own cap × choices; null without one. */
  readonly explicitCapTokens: number | null;
}

/** What an answer taught. */
export interface Observation {
  readonly tenantId: string;
  readonly model: string;
  readonly prompt: PromptEstimate;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
}

/** Port of `estimate/`. Everything in bounded time and memory. */
export interface Estimator {
  prompt(tenantId: string, facts: RequestFacts): PromptEstimate;
  output(tenantId: string, facts: RequestFacts, limits: OutputBounds): OutputEstimate;
  /** Tokens of output text of which no usage was told. `pieces`: in how many it came. */
  countOutput(model: string, text: Readonly<TextCounts>, pieces: number): number;
  /** Learns from true usage only: never call it with our own estimates. */
  learn(observation: Observation): void;
}

export interface OutputBounds {
  /** The model's own limit; null if unknown. */
  readonly maxOutputTokens: number | null;
  /** Where nothing is learned yet. */
  readonly unknownOutputTokens: number;
}

