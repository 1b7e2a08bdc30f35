import type { WireApi } from '../../domain/wire.js';
import { bedrockEnd } from '../endings.js';
import { responseReader } from '../stream/reader.js';
import { ClaudeAnswer } from './claude-answer.js';
import { ConverseAnswer } from './converse-answer.js';
import { parseConverseRequest } from './converse-request.js';
import { familyOf } from './family.js';
import { InvokeAnswer } from './invoke-answer.js';
import { usageFromHeaders } from './headers.js';
import { parseInvokeRequest } from './invoke-request.js';
import { bedrockRefusal } from './refusal.js';

/** `POST /model/MODEL/converse` and `…/converse-stream`. Answers always tell their usage. */
export function bedrockConverse(model: string, stream: boolean): WireApi {
  return {
    api: 'bedrock-converse',
    parseRequest: (body, sink) => parseConverseRequest(body, model, stream, sink),
    askForUsage: () => [],
    responseReader: (options) => responseReader(new ConverseAnswer(), options),
    refuse: bedrockRefusal,
    endEvent: bedrockEnd,
  };
}

/** `POST /model/MODEL/invoke` and `…/invoke-with-response-stream`: the model family's own body and answer. */
export function bedrockInvoke(model: string, stream: boolean): WireApi {
  return {
    api: 'bedrock-invoke',
    parseRequest: (body, sink) => parseInvokeRequest(body, model, stream, sink),
    askForUsage: () => [],
    responseReader: (options) => responseReader(familyOf(model) === 'claude' ? new ClaudeAnswer() : new InvokeAnswer(), options),
    usageFromHeaders,
    refuse: bedrockRefusal,
    endEvent: bedrockEnd,
  };
}
