import type { UnmeteredKind } from '../domain/decision.js';

/** A version before the API's own path: `/v1`, `/v1beta`, `/v1beta1`, `/v2`. */
const VERSION = /^\/v\d[a-z0-9]*(?=\/)/;

/** Paths without their version; whatever lies below them belongs to them too. */
const TREES: readonly (readonly [UnmeteredKind, readonly string[]])[] = [
  ['count_tokens', ['/messages/count_tokens', '/responses/input_tokens', '/utils/token_counter', '/utils/transform_request', '/tokenize', '/detokenize', '/apply-template']],
  ['realtime', ['/realtime']],
  ['batches', ['/batches', '/messages/batches', '/model-invocation-job', '/model-invocation-jobs', '/async-invoke']],
  ['moderations', ['/moderations', '/chat/moderations', '/apply_guardrail', '/guardrails/apply_guardrail']],
  ['files', ['/files', '/uploads', '/upload', '/vector_stores', '/vector_store', '/cachedContents', '/fileSearchStores', '/corpora']],
  ['media', ['/images', '/audio', '/videos', '/ocr', '/transcribe', '/listen', '/speak']],
  ['assistants', ['/assistants', '/threads', '/interactions', '/a2a', '/agents/completions', '/flows', '/retrieveAndGenerate', '/retrieveAndGenerateStream']],
  ['fine_tuning', ['/fine_tuning', '/fine-tunes', '/tunedModels', '/model-customization-jobs']],
  ['other', ['/rag', '/evals', '/invocations', '/generate', '/generate_stream', '/classify', '/pooling', '/score', '/encode']],
];

/** The same, but for themselves alone: below them lie things that run no model. */
const LEAVES: ReadonlySet<string> = new Set([
  ...['/complete', '/edits', '/responses/compact', '/queue/chat/completions', '/async/chat/completions', '/decisions', '/systemone'],
  ...['/chat', '/embed', '/summarize', '/fim/completions', '/agents/completions', '/rerank', '/reranking', '/embedding', '/completion', '/infill'],
]);

/** Below a model, a project or a name that the path holds: what it ends in decides. */
const ENDS: readonly (readonly [UnmeteredKind, RegExp])[] = [
  ['count_tokens', /:(countTokens|computeTokens)$|\/model\/.+\/count-tokens$|\/models\/count-tokens(@[^/:]*)?:rawPredict$/],
  ['realtime', /BidiGenerateContent|\/invoke-with-bidirectional-stream$|:streamBidi\w*$/],
  ['batches', /:(batchGenerateContent|asyncBatchEmbedContent)$|\/batchPredictionJobs(\/[^/]+)?$|\/v1\/batches(\/|$)/],
  ['moderations', /^\/guardrail\/.+\/apply$/],
  ['files', /\/cachedContents(\/[^/]+)?$|:(uploadToFileSearchStore|importFile)$|\/v1\/files(\/|$)/],
  ['media', /^\/(openai\/deployments|engines)\/.+\/(images|audio|videos)\//],
  ['fine_tuning', /\/tuningJobs(\/[^/]+)?$|:tuneModel$/],
  ['assistants', /\/reasoningEngines\/.+:\w+$|\/agents\/.+\/sessions\/[^/]+\/text$/],
  ['other', /\/models\/[^/:]*embed[^/:]*:predict$|:(raw|streamRaw|direct|directRaw|streamDirect|streamDirectRaw|serverStreaming|streaming)Predict$/],
  ['other', /:(generateAnswer|streamGenerateAnswer|generateText|generateMessage|embedText|batchEmbedText)$/],
  ['other', /\/chat\/completions$|\/model\/.+\/(converse|converse-stream|invoke|invoke-with-response-stream)$|\/(openai\/deployments|engines)\/.+\/(completions|embeddings|responses)$/],
  ['media', /:(predict|predictLongRunning|generateImages|generateVideos)$/],
];

/**
 * What a request is for whose path no provider's table has, by the path in normal form; null where nothing is known of it. Lists
 * what runs models, or prepares it, in the APIs of OpenAI, Azure, Anthropic, Bedrock, Gemini, Vertex, Mistral, Cohere, vLLM, TGI,
 * llama.cpp and LiteLLM.
 */
export function unmeteredKind(path: string): UnmeteredKind | null {
  const bare = path.replace(VERSION, '');
  for (const [kind, roots] of TREES) {
    if (roots.some((root) => bare === root || bare.startsWith(`${root}/`))) return kind;
  }
  if (LEAVES.has(bare)) return 'other';
  return ENDS.find(([, end]) => end.test(path))?.[0] ?? null;
}
