import type { ScriptedAnswer } from '../../../src/upstream/script.js';
import { ndjson } from '../framing.js';
import { member, streamed, TEXT, TOLD, whole, WORDS } from './said.js';

const END = {
  done: true, done_reason: 'stop', total_duration: 9_000_000, load_duration: 1_000_000, prompt_eval_count: TOLD.input,
  prompt_eval_duration: 2_000_000, eval_count: TOLD.output, eval_duration: 5_000_000,
};

/** Ollama's own API; chat and generate are streams unless the request says `stream: false`. */
export function ollamaAnswer(path: string, json: unknown): ScriptedAnswer | null {
  if (path === '/api/embed') return whole({ model: member(json, 'model'), embeddings: [[0.5, -0.25, 1]], prompt_eval_count: TOLD.input });
  if (path !== '/api/chat' && path !== '/api/generate') return null;
  const part = (text: string): object => (path === '/api/chat' ? { message: { role: 'assistant', content: text } } : { response: text });
  const head = { model: member(json, 'model'), created_at: '2025-01-01T00:00:00Z' };
  if (member(json, 'stream') === false) return whole({ ...head, ...part(TEXT), ...END });
  return streamed(ndjson([...WORDS.map((word) => ({ ...head, ...part(word), done: false })), { ...head, ...part(''), ...END }]), 'application/x-ndjson');
}
