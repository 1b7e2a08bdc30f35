import type { Api } from '../../domain/request.js';
import type { WireApi } from '../../domain/wire.js';
import { askForUsage } from './ask-for-usage.js';
import { openAiRefusal } from './refusal.js';
import { parseChatRequest, parseCompletionsRequest } from './request.js';
import { responseReader } from '../stream/reader.js';
import { OpenAiAnswer } from './answer.js';

/** `POST /v1/chat/completions`. */
export const openaiChat: WireApi = {
  api: 'openai-chat',
  parseRequest: (body, sink) => parseChatRequest(body, null, sink),
  askForUsage,
  responseReader: (options) => responseReader(new OpenAiAnswer(), options),
  refuse: openAiRefusal,
};

/** `POST /v1/completions`, the older API that takes one text. */
export const openaiCompletions: WireApi = { ...openaiChat, api: 'openai-completions', parseRequest: (body, sink) => parseCompletionsRequest(body, null, sink) };

/** The same APIs under a path that names the model, as Azure's do: that model counts, whatever the body says. */
export function openaiDeployment(api: Api, model: string): WireApi {
  if (api === 'openai-chat') return { ...openaiChat, parseRequest: (body, sink) => parseChatRequest(body, model, sink) };
  return { ...openaiCompletions, parseRequest: (body, sink) => parseCompletionsRequest(body, model, sink) };
}
