import type { ScriptedAnswer } from '../../../src/upstream/script.js';
import { sseStream } from '../framing.js';
import { member, streamed, TEXT, TOLD, whole, WORDS } from './said.js';

const END = {
  stop: true, stop_type: 'eos', tokens_evaluated: TOLD.input, tokens_predicted: TOLD.output, tokens_cached: TOLD.input + TOLD.output,
  // `prompt_n` is without what the cache had.
  timings: { cache_n: TOLD.cached, prompt_n: TOLD.input - TOLD.cached, predicted_n: TOLD.output },
};

/** What model servers serve of their own: llama.cpp's `/completion`, vLLM's `/v1/rerank`. */
export function localAnswer(path: string, json: unknown): ScriptedAnswer | null {
  if (path === '/v1/rerank') return whole({ id: 'rerank-s', model: member(json, 'model'), results: [{ index: 0, relevance_score: 0.5 }], usage: { prompt_tokens: TOLD.input, total_tokens: TOLD.input } });
  if (path !== '/completion') return null;
  if (member(json, 'stream') !== true) return whole({ index: 0, content: TEXT, ...END });
  return streamed(sseStream([...WORDS.map((content) => ({ data: { index: 0, content, stop: false } })), { data: { index: 0, content: '', ...END } }]));
}
