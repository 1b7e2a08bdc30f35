import type { Observation } from '../../../src/domain/estimate.js';
import type { PromptContent, RequestFacts } from '../../../src/domain/request.js';
import { NO_USAGE, type Usage } from '../../../src/domain/usage.js';
import { noText, TextCounter, type TextFeatures } from '../../../src/lib/text-features.js';
import { createEstimator } from '../../../src/estimate/estimator.js';

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

/** An answer to `facts` that cost as told. */
export function answer(facts: RequestFacts, usage: Partial<Usage>, more: Partial<Observation> = {}): Observation {
  const prompt = createEstimator().prompt('t', facts);
  return { tenantId: 't', facts, prompt, usage: { ...NO_USAGE, ...usage }, responseId: null, ...more };
}
