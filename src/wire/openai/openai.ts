import type { ParsedRequest, PromptSink } from '../../domain/request.js';
import type { WireApi } from '../../domain/wire.js';
import { openAiEnd, responsesEnd } from '../endings.js';
import { responseReader } from '../stream/reader.js';
import { OpenAiAnswer } from './answer.js';
import { askForUsage } from './ask-for-usage.js';
import { parseEmbeddingsRequest } from './embeddings.js';
import { openAiRefusal } from './refusal.js';
import { parseChatRequest, parseCompletionsRequest } from './request.js';
import { ResponsesAnswer } from './responses-answer.js';
import { parseResponsesRequest } from './responses-request.js';

/** The APIs of OpenAI that are read. */
export type OpenAiApi = 'openai-chat' | 'openai-completions' | 'openai-responses' | 'openai-embeddings';

const PARSERS: Record<OpenAiApi, (body: Buffer, model: string | null, sink?: PromptSink) => ParsedRequest> = {
  'openai-chat': parseChatRequest,
  'openai-completions': parseCompletionsRequest,
  'openai-responses': parseResponsesRequest,
  'openai-embeddings': parseEmbeddingsRequest,
};

/** `POST /v1/chat/completions`. */
export const openaiChat = openaiApi('openai-chat', null);

/** `POST /v1/completions`, the older API that takes one text. */
export const openaiCompletions = openaiApi('openai-completions', null);

/** `POST /v1/responses`, and `/v1/responses/compact`, which takes and tells the same. */
export const openaiResponses = openaiApi('openai-responses', null);

/** `POST /v1/embeddings`, with what vLLM and llama.cpp take besides: `messages`, `content`. */
export const openaiEmbeddings = openaiApi('openai-embeddings', null);

/** The API under a path that names the model, as Azure's do: that model counts, whatever the body says. Null: the body names it. */
export function openaiApi(api: OpenAiApi, model: string | null): WireApi {
  const tellsUnasked = api === 'openai-responses' || api === 'openai-embeddings';
  return {
    api,
    parseRequest: (body, sink) => PARSERS[api](body, model, sink),
    askForUsage: tellsUnasked ? () => [] : askForUsage,
    responseReader: (options) => responseReader(api === 'openai-responses' ? new ResponsesAnswer() : new OpenAiAnswer(), options),
    refuse: openAiRefusal,
    endEvent: api === 'openai-responses' ? responsesEnd : openAiEnd,
  };
}

