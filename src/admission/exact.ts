import type { PromptEstimate } from '../domain/estimate.js';
import type { Policy } from '../domain/policy.js';
import type { PromptSink, RequestFacts } from '../domain/request.js';
import type { WireApi } from '../domain/wire.js';
import type { Admission } from './admission.js';

/** The estimate of a prompt, with its text counted exactly where that is configured and done in time. */
export async function exactEstimate(
  { estimator, exactCounter }: Pick<Admission, 'estimator' | 'exactCounter'>,
  { api, policy }: { readonly api: WireApi; readonly policy: Policy },
  body: Buffer,
  facts: RequestFacts,
  estimate: PromptEstimate,
): Promise<PromptEstimate> {
  const { exactCounting: asked } = policy;
  // Token ids are counted as they are.
  if (asked === null || body.length > asked.maxBytes || facts.prompt.tokenIds > 0 || !asked.matches(facts.model)) return estimate;
  const text = new PromptText();
  api.parseRequest(body, text);
  const tokens = await exactCounter.count(text.pieces.join('\n'), asked.timeoutMs);
  return tokens === null ? estimate : estimator.exactly(facts, estimate, tokens);
}

/** Gathers what a model is told in words: tools and marks of messages are shown in forms that only their provider knows. */
class PromptText implements PromptSink {
  readonly pieces: string[] = [];

  add(piece: string, part: Parameters<PromptSink['add']>[1]): void {
    if (part === 'system' || part === 'messages') this.pieces.push(piece);
  }

  media(): void {
    // Its tokens go by its size.
  }
}
