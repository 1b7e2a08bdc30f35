import type { BatchingSpec } from './engine.js';

/** Defaults of vLLM: blocks of 16 tokens, chunked prefill with 2,048 tokens a step. */
const VLLM = { kind: 'batching', blockTokens: 16, maxBatchedTokens: 2048 } as const;

/**
 * Engines that somebody measured, one node each. The A100 ones are fits of the same form to profiles of vLLM that DistServe (Zhong et al.,
 * OSDI '24) publishes with its simulator (`simdistserve/estimators/profile_data`: profiler-a100-80g.vllm.json, small batches;
 * KV tokens from max_num_tokens.csv). `slots` is an assumption. `llama-cpp-270m` was measured by `npm run sim:engine-check`.
 */
export const ENGINE_PRESETS = {
  /** OPT-13B on one A100 80 GB. */
  'a100-13b': { ...VLLM, slots: 64, kvTokens: 66_144, prefillTokensPerSecond: 6_642, stepMs: 19.56, perSequenceMs: 0.0506, perKvTokenMs: 0.000494 },
  /** OPT-66B on four A100 80 GB (tensor parallel). */
  'a100-66b-tp4': { ...VLLM, slots: 64, kvTokens: 78_496, prefillTokensPerSecond: 6_577, stepMs: 32.98, perSequenceMs: 0.1132, perKvTokenMs: 0.000579 },
  /** Gemma 3 270M (Q4) on two CPU cores: llama.cpp with four slots. */
  'llama-cpp-270m': { kind: 'batching', slots: 4, kvTokens: 8_192, blockTokens: 1, maxBatchedTokens: 2048, prefillTokensPerSecond: 800, stepMs: 2.5, perSequenceMs: 9.4, perKvTokenMs: 0 },
} as const satisfies Readonly<Record<string, BatchingSpec>>;

export type EnginePreset = keyof typeof ENGINE_PRESETS;
