import type { Api } from '../domain/request.js';
import type { WireApi } from '../domain/wire.js';
import { askForUsage } from './ask-for-usage.js';
import { openAiRefusal } from './openai-refusal.js';
import { parseChatRequest, parseCompletionsRequest } from './openai-request.js';
import { openAiResponseReader } from './openai-response.js';

/** `POST /v1/chat/completions`. */
export const openaiChat: WireApi = {
  api: 'openai-chat',
  parseRequest: (body) => parseChatRequest(body),
  askForUsage,
  responseReader: openAiResponseReader,
  refuse: openAiRefusal,
};

/** `POST /v1/completions`, the older API that takes one text. */
export const openaiCompletions: WireApi = { ...openaiChat, api: 'openai-completions', parseRequest: (body) => parseCompletionsRequest(body) };

/** The same APIs under a path that names the model, as Azure's do: that model counts, whatever the body says. */
export function openaiDeployment(api: Api, model: string): WireApi {
  if (api === 'openai-chat') return { ...openaiChat, parseRequest: (body) => parseChatRequest(body, model) };
  return { ...openaiCompletions, parseRequest: (body) => parseCompletionsRequest(body, model) };
}
