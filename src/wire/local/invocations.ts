import type { ParsedRequest, PromptSink } from '../../domain/request.js';
import { parseBody } from '../json/json.js';
import { openaiApi } from '../openai/openai.js';
import { EMBEDDING, parseInputOnly, RERANK, SCORE } from './input-only.js';
import { UNNAMED_MODEL } from './model.js';

/**
 * Reads a body of `POST /invocations`, SageMaker's one path for all that a server of vLLM can do: here alone the body's fields decide,
 * in the order in which vLLM looks at them. Never throws.
 */
export function parseInvocation(body: Buffer, sink?: PromptSink): ParsedRequest {
  const parsed = parseBody(body);
  if (!parsed.ok) return parsed;
  const has = (name: string) => (parsed.value[name] ?? null) !== null;
  const model = has('model') ? null : UNNAMED_MODEL;
  if (has('messages')) return openaiApi('openai-chat', model).parseRequest(body, sink);
  if (has('prompt')) return openaiApi('openai-completions', model).parseRequest(body, sink);
  if (has('query')) return parseInputOnly('rerank', RERANK, body, sink);
  if (SCORE[0]!.some(has)) return parseInputOnly('rerank', SCORE, body, sink);
  return parseInputOnly('openai-embeddings', EMBEDDING, body, sink);
}
