import type { NodeSpec } from './engine.js';

/** Mean lengths of requests, in tokens. `uncachedTokens`: the part of the prompt that has to be computed. */
export interface MeanRequest {
  readonly promptTokens: number;
  readonly uncachedTokens: number;
  readonly outputTokens: number;
}

/**
 * Requests a second that a node can serve at most, all of them of this mean: with a full batch of n, a request takes `output` steps shared
 * with the prefill of n / output requests each. n is what slots and KV cache allow (half of the output in the cache, on average).
 */
export function requestsPerSecond(spec: NodeSpec, { promptTokens, uncachedTokens, outputTokens }: MeanRequest): number {
  if (spec.kind === 'constant') return (spec.slots * 1000) / spec.serviceMs;
  const kvEach = promptTokens + outputTokens / 2 + spec.blockTokens / 2;
  const batch = Math.max(1, Math.min(spec.slots, spec.kvTokens === null ? Infinity : spec.kvTokens / kvEach));
  const stepMs = spec.stepMs + spec.perSequenceMs * batch + spec.perKvTokenMs * batch * kvEach;
  const busyMs = (outputTokens * stepMs) / batch + (uncachedTokens * 1000) / spec.prefillTokensPerSecond;
  return 1000 / busyMs;
}
