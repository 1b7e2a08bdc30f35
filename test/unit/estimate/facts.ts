import type { Observation } from '../../../src/domain/estimate.js';
import type { PromptContent, RequestFacts } from '../../../src/domain/request.js';
import { noText, TextCounter, type TextFeatures } from '../../../src/lib/text-features.js';

export function textOf(text: string): TextFeatures {
  const counter = new TextCounter();
  counter.add(text);
  return counter.features;
}

/** A chat request with one message of `text`. */
export function requestOf(text: string, prompt: Partial<PromptContent> = {}, facts: Partial<RequestFacts> = {}): RequestFacts {
  const content: PromptContent = {
    system: noText(),
    text: textOf(text),
    toolText: noText(),
    schema: noText(),
    messages: 1,
    tools: 0,
    tokenIds: 0,
    media: [],
    references: [],
    ...prompt,
  };
  return { api: 'openai-chat', model: 'm', stream: false, usageRequested: false, outputCapTokens: null, choices: 1, prompt: content, session: null, work: null, background: false, ...facts };
}

/** An answer that cost as told, to a prompt that was estimated at `rawTokens`. */
export function answer(rawTokens: number, inputTokens: number, outputTokens = 10, more: Partial<Observation> = {}): Observation {
  const prompt = { tokens: rawTokens, rawTokens, lowerBoundTokens: 1, cachedShare: 0 };
  return { tenantId: 't', model: 'm', prompt, inputTokens, cachedInputTokens: 0, outputTokens, ...more };
}
