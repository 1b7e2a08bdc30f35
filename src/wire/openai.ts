import type { WireApi } from '../domain/wire.js';
import { askForUsage } from './ask-for-usage.js';
import { openAiRefusal } from './openai-refusal.js';
import { parseChatRequest, parseCompletionsRequest } from './openai-request.js';
import { openAiResponseReader } from './openai-response.js';

/** `POST /v1/chat/completions`. */
export const openaiChat: WireApi = {
  api: 'openai-chat',
  parseRequest: parseChatRequest,
  askForUsage,
  responseReader: openAiResponseReader,
  refuse: openAiRefusal,
};

/** `POST /v1/completions`, the older API that takes one text. */
export const openaiCompletions: WireApi = { ...openaiChat, api: 'openai-completions', parseRequest: parseCompletionsRequest };
