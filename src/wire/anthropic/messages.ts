import type { WireApi } from '../../domain/wire.js';
import { anthropicEnd } from '../endings.js';
import { responseReader } from '../stream/reader.js';
import { AnthropicAnswer } from './answer.js';
import { anthropicRefusal } from './refusal.js';
import { parseMessagesRequest } from './request.js';

/** `POST /v1/messages`. Its answers always tell their usage. */
export const anthropicMessages: WireApi = {
  api: 'anthropic-messages',
  parseRequest: (body, sink) => parseMessagesRequest(body, undefined, sink),
  askForUsage: () => [],
  responseReader: (options) => responseReader(new AnthropicAnswer(), options),
  refuse: anthropicRefusal,
  endEvent: anthropicEnd,
};

/** The same API as Vertex serves it (`publishers/anthropic/models/MODEL:rawPredict` and `:streamRawPredict`): the path tells model and stream. */
export function anthropicOnVertex(model: string, stream: boolean): WireApi {
  return { ...anthropicMessages, parseRequest: (body, sink) => parseMessagesRequest(body, { model, stream }, sink) };
}
