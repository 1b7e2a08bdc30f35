import { isObject, type Json, type JsonObject } from '../json/json.js';
import type { PromptCollector } from '../prompt/collector.js';

/**
 * Adds prompts in any form that llama.cpp takes: a text, token ids, both mixed in one list, a text with its media, or a list of
 * those. Returns how many prompts there are; null where it has none of those forms.
 */
export function takePrompts(value: Json, prompt: PromptCollector): number | null {
  if (!Array.isArray(value) || value.some((item) => typeof item === 'number')) return takePrompt(value, prompt) ? 1 : null;
  return value.every((item) => takePrompt(item, prompt)) ? Math.max(1, value.length) : null;
}

function takePrompt(value: Json, prompt: PromptCollector): boolean {
  if (isObject(value)) return takeWithMedia(value, prompt);
  if (!Array.isArray(value)) return typeof value === 'string' && takePiece(value, prompt);
  return prompt.tokenPrompt(value) || value.every((piece) => takePiece(piece, prompt));
}

/** A text, or one token of a list that is mixed. */
function takePiece(piece: Json, prompt: PromptCollector): boolean {
  if (typeof piece === 'string') prompt.text(piece);
  else if (typeof piece === 'number') prompt.tokens(1);
  else return false;
  return true;
}

/** What the media are does not show before they are read; pictures for the most part. */
function takeWithMedia(value: JsonObject, prompt: PromptCollector): boolean {
  const { prompt_string: text, content } = value;
  if (typeof text === 'string') prompt.text(text);
  prompt.media('image', value['multimodal_data']);
  prompt.value('content', content);
  return typeof text === 'string' || (content !== undefined && content !== null);
}
