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
  // Calls of LiteLLM's own that put a caller's text to a model.
  ...['/prompts/test', '/usage/ai/chat', '/health/test_connection', '/auto_router/test_routing', '/policy/templates/enrich', '/policy/templates/enrich/stream', '/policy/templates/suggest'],
  ...['/chat', '/embed', '/summarize', '/fim/completions', '/agents/completions', '/rerank', '/reranking', '/embedding', '/completion', '/infill'],
]);

/** Calls of Google's APIs, by the word behind the last colon. */
const CALLS: readonly (readonly [UnmeteredKind, readonly string[]])[] = [
  ['count_tokens', ['countTokens', 'computeTokens']],
  ['batches', ['batchGenerateContent', 'asyncBatchEmbedContent']],
  ['files', ['uploadToFileSearchStore', 'importFile']],
  ['media', ['predict', 'predictLongRunning', 'generateImages', 'generateVideos']],
  ['fine_tuning', ['tuneModel']],
  ['other', ['rawPredict', 'streamRawPredict', 'directPredict', 'directRawPredict', 'streamDirectPredict', 'streamDirectRawPredict', 'serverStreamingPredict', 'streamingPredict']],
  ['other', ['generateAnswer', 'streamGenerateAnswer', 'generateText', 'generateMessage', 'embedText', 'batchEmbedText']],
];
const KIND_OF_CALL: ReadonlyMap<string, UnmeteredKind> = new Map(CALLS.flatMap(([kind, names]) => names.map((name): [string, UnmeteredKind] => [name, kind])));

/** Around a model, a project or a name that the path holds. Absent parts may be anything. */
interface Shape {
  readonly start?: string;
  readonly within?: string;
  readonly end?: string;
}
const SHAPES: readonly (readonly [UnmeteredKind, Shape])[] = [
  ['count_tokens', { within: '/model/', end: '/count-tokens' }],
  ['realtime', { within: 'BidiGenerateContent' }],
  ['realtime', { end: '/invoke-with-bidirectional-stream' }],
  ['batches', { within: '/batchPredictionJobs' }],
  ['moderations', { start: '/guardrail/', end: '/apply' }],
  ['files', { within: '/cachedContents' }],
  ...['/openai/deployments/', '/engines/'].flatMap((start) => ['/images/', '/audio/', '/videos/'].map((within): [UnmeteredKind, Shape] => ['media', { start, within }])),
  ['fine_tuning', { within: '/tuningJobs' }],
  ['assistants', { within: '/reasoningEngines/' }],
  ['assistants', { start: '/agents/', within: '/sessions/', end: '/text' }],
  ['other', { end: '/chat/completions' }],
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
  return kindOfCall(path) ?? SHAPES.find(([, shape]) => fits(path, shape))?.[0] ?? null;
}

function kindOfCall(path: string): UnmeteredKind | null {
  const colon = path.lastIndexOf(':');
  const slash = path.lastIndexOf('/');
  if (colon < slash) return null;
  const [name, call] = [path.slice(slash + 1, colon), path.slice(colon + 1)];
  // Vertex counts tokens by a model of that name, and has models that embed by the call that others draw with.
  if (call === 'rawPredict' && /^count-tokens(@|$)/.test(name)) return 'count_tokens';
  if (call === 'predict' && name.includes('embed')) return 'other';
  return KIND_OF_CALL.get(call) ?? null;
}

/** No pattern but plain parts: paths may be 60 KB long, and a pattern that looks for its start everywhere takes seconds for those. */
function fits(path: string, { start = '', within = '', end = '' }: Shape): boolean {
  return path.startsWith(start) && path.endsWith(end) && path.includes(within);
}
