import type { Api } from '../../domain/request.js';
import type { WireApi } from '../../domain/wire.js';
import { openAiEnd } from '../endings.js';
import { openaiChat } from '../openai/openai.js';
import { openAiRefusal } from '../openai/refusal.js';
import { responseReader } from '../stream/reader.js';
import { parseCompletion, parseInfill } from './completion.js';
import { GenerateAnswer, parseGenerate } from './generate.js';
import { EMBEDDING, InputOnlyAnswer, parseInputOnly, RERANK, SCORE } from './input-only.js';
import { parseInvocation } from './invocations.js';
import { LlamaAnswer } from './llama-answer.js';

/** llama.cpp's `POST /completion`. Usage always comes. */
export const llamaCompletion: WireApi = {
  api: 'llamacpp-completion',
  parseRequest: parseCompletion,
  askForUsage: () => [],
  responseReader: (options) => responseReader(new LlamaAnswer(), options),
  refuse: openAiRefusal,
  endEvent: openAiEnd,
};

/** llama.cpp's `POST /infill`. */
export const llamaInfill: WireApi = { ...llamaCompletion, parseRequest: parseInfill };

/** What ranks documents by a query: vLLM, llama.cpp, TEI and others, in the manner of Jina and Cohere. */
export const rerank: WireApi = inputOnly('rerank', RERANK);

/** vLLM's `POST /score`, which compares texts by pairs. */
export const score: WireApi = inputOnly('rerank', SCORE);

/** Embeddings, pooling and classes by the APIs that are not OpenAI's. */
export const embedding: WireApi = inputOnly('openai-embeddings', EMBEDDING);

/** SageMaker's `POST /invocations` of a server that speaks OpenAI's APIs. */
export const invocations: WireApi = { ...openaiChat, parseRequest: parseInvocation };

/** `POST /generate` of TGI, SGLang, and vLLM's old server. `stream`: the path asks for a stream. */
export function generate(stream: boolean): WireApi {
  return {
    api: 'openai-completions',
    parseRequest: (body, sink) => parseGenerate(stream, body, sink),
    askForUsage: () => [],
    responseReader: (options) => responseReader(new GenerateAnswer(), options),
    refuse: openAiRefusal,
    endEvent: openAiEnd,
  };
}

function inputOnly(api: Api, wanted: typeof RERANK): WireApi {
  return {
    api,
    parseRequest: (body, sink) => parseInputOnly(api, wanted, body, sink),
    askForUsage: () => [],
    responseReader: (options) => responseReader(new InputOnlyAnswer(), options),
    refuse: openAiRefusal,
    endEvent: openAiEnd,
  };
}
