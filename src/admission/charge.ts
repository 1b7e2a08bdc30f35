import type { Estimator, PromptEstimate } from '../domain/estimate.js';
import type { Outcome } from '../domain/lease.js';
import { NO_USAGE, withTokens, type Usage } from '../domain/usage.js';
import type { ResponseReading } from '../domain/wire.js';

/** How an exchange came to its end, as far as the stream shows. */
export interface Ending {
  /** Status of the answer; null where none came. */
  readonly status: number | null;
  readonly fromUpstream: boolean;
  /** The answer ran to its end; false where it, or the wait for it, was cut. Not known where `unseen`. */
  readonly whole: boolean;
  /** We ended it. */
  readonly ended: boolean;
  /** The answer's body is not shown to us, nor is its end. */
  readonly unseen: boolean;
  /** The answer comes as it is generated; else all of it was generated before its first byte came. */
  readonly streamed: boolean;
  /** The upstream's own figures: of the answer's body, else of its headers. */
  readonly usage: Usage | null;
  /** What was read of the answer; null where its body is not shown to us, or it has none. */
  readonly reading: ResponseReading | null;
  /** Some of the answer could not be read. */
  readonly unreadable: boolean;
}

/** What a request is charged in the end. */
export interface Charge {
  readonly outcome: Outcome;
  readonly usage: Usage;
  /** True where any figure is ours. */
  readonly estimated: boolean;
  /** True where the figures are the upstream's and may be learned from. */
  readonly teaches: boolean;
}

/** What was expected, to fall back on. */
export interface Expectation {
  readonly model: string;
  readonly prompt: PromptEstimate;
  readonly expectedOutputTokens: number;
  /** The answer is made after the response. */
  readonly background: boolean;
}

/**
 * The true cost of an exchange, in this order: what the upstream told; nothing, where it failed, or we ended it, before any output; else
 * our estimate of the prompt and a count of the output that passed.
 */
export function chargeFor(ending: Ending, expected: Expectation, estimator: Estimator): Charge {
  const outcome = outcomeOf(ending);
  const failed = outcome === 'local_reply' || outcome === 'upstream_failed' || (outcome === 'ended' && ending.reading?.sawOutput !== true);
  const told = ending.usage;
  if (told !== null && !(failed && told.inputTokens + told.outputTokens === 0)) return fromUsage(told, outcome, expected, ending, estimator);
  if (failed) return { outcome, usage: NO_USAGE, estimated: false, teaches: false };
  const usage = withTokens(NO_USAGE, expected.prompt.tokens, outputTokens(ending, expected, estimator));
  return { outcome, usage, estimated: true, teaches: false };
}

/** A prompt is never free: an upstream that tells no input (or zero) leaves the estimate in force for it. */
function fromUsage(told: Usage, outcome: Outcome, expected: Expectation, ending: Ending, estimator: Estimator): Charge {
  const inputTold = told.inputTokens > 0;
  const outputTold = told.outputTokens > 0 || ending.reading?.sawOutput !== true;
  if (inputTold && outputTold) return { outcome, usage: told, estimated: false, teaches: outcome === 'completed' };
  const input = inputTold ? told.inputTokens : expected.prompt.tokens;
  const usage = withTokens(told, input, outputTold ? told.outputTokens : outputTokens(ending, expected, estimator));
  return { outcome, usage, estimated: true, teaches: false };
}

/** A redirect answers nothing either: whoever follows it comes again. */
function outcomeOf({ status, fromUpstream, whole, ended, unseen, reading }: Ending): Outcome {
  if (status !== null && !fromUpstream) return 'local_reply';
  if (status !== null && status >= 300) return 'upstream_failed';
  if (ended) return 'ended';
  if (reading?.sawError === true && !reading.sawOutput) return 'upstream_failed';
  return whole || (unseen && status !== null) ? 'completed' : 'cut';
}

/** Output without usage: counted where the body was seen and could be read; what is usual where it was not. */
function outputTokens({ status, unseen, streamed, reading, whole, unreadable }: Ending, expected: Expectation, estimator: Estimator): number {
  // What is made in the background is made whole, whoever leaves.
  if (expected.background) return expected.expectedOutputTokens;
  if (status === null) return 0;
  if (reading === null) return unseen ? expected.expectedOutputTokens : 0;
  if (reading.sawOutput || !unreadable) return estimator.countOutput(expected.model, reading.output, reading.outputPieces);
  // Leaving just before the last byte of an answer that is not streamed must not make it free.
  return whole || !streamed ? expected.expectedOutputTokens : 0;
}
