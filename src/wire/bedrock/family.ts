/**
 * How a model is talked to by InvokeModel, told by its id alone: `claude` by the Messages API; `vectors` puts out no text (embeddings, reranking);
 * `other` are all families whose bodies are read alike, and ids that do not tell their model, such as the ARN of a profile.
 */
export type Family = 'claude' | 'vectors' | 'other';

/** Claude models of before the Messages API, which take a text. */
const CLAUDE_OF_TEXT = /claude-(v\d|instant)/;
const VECTORS = /embed|rerank|marengo/;

/** `model`: an id or ARN such as `us.anthropic.claude-sonnet-4-v1:0`. */
export function familyOf(model: string): Family {
  if (model.includes('anthropic.')) return CLAUDE_OF_TEXT.test(model) ? 'other' : 'claude';
  return VECTORS.test(model) ? 'vectors' : 'other';
}
