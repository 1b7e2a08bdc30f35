import type { Usage } from '../../domain/usage.js';
import { listOf, isObject, type Json, type JsonObject } from '../json/json.js';
import { tokenCount } from '../stream/answer.js';

/** Puts together `usageMetadata` of an answer's parts: the last value wins, field by field; nothing is ever summed over parts. */
export class GeminiUsage {
  #prompt: number | null = null;
  #toolUse: number | null = null;
  #candidates: number | null = null;
  #thoughts: number | null = null;
  #total: number | null = null;
  #cached: number | null = null;
  #audioIn: number | null = null;
  #audioOut: number | null = null;

  /** Takes a `usageMetadata` object. */
  take(usage: JsonObject): void {
    this.#prompt = tokenCount(usage['promptTokenCount']) ?? this.#prompt;
    this.#toolUse = tokenCount(usage['toolUsePromptTokenCount']) ?? this.#toolUse;
    this.#candidates = tokenCount(usage['candidatesTokenCount']) ?? this.#candidates;
    this.#thoughts = tokenCount(usage['thoughtsTokenCount']) ?? this.#thoughts;
    this.#total = tokenCount(usage['totalTokenCount']) ?? this.#total;
    this.#cached = tokenCount(usage['cachedContentTokenCount']) ?? this.#cached;
    this.#audioIn = audioTokens(usage['promptTokensDetails']) ?? this.#audioIn;
    this.#audioOut = audioTokens(usage['candidatesTokensDetails']) ?? this.#audioOut;
  }

  /** The figures so far; null while there are none. */
  get usage(): Usage | null {
    if (this.#prompt === null && this.#candidates === null && this.#thoughts === null) return null;
    // What Google's own tools brought stands beside the prompt; without a prompt's figure the estimate is in force for all of it.
    const inputTokens = this.#prompt === null ? 0 : this.#prompt + (this.#toolUse ?? 0);
    const outputTokens = this.#output(inputTokens);
    return {
      inputTokens,
      cachedInputTokens: Math.min(inputTokens, this.#cached ?? 0),
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      outputTokens,
      reasoningTokens: Math.min(outputTokens, this.#thoughts ?? 0),
      audioInputTokens: Math.min(inputTokens, this.#audioIn ?? 0),
      audioOutputTokens: Math.min(outputTokens, this.#audioOut ?? 0),
    };
  }

  /** Thoughts stand beside the candidates, unless the total says that they are inside. Without candidates the total tells the rest. */
  #output(input: number): number {
    const thoughts = this.#thoughts ?? 0;
    if (this.#candidates === null) return Math.max(thoughts, input > 0 ? (this.#total ?? 0) - input : 0);
    return this.#total === input + this.#candidates ? Math.max(this.#candidates, thoughts) : this.#candidates + thoughts;
  }
}

/** Tokens of sound in a list of amounts by modality; null where there is no such list. */
function audioTokens(details: Json): number | null {
  if (!Array.isArray(details)) return null;
  return listOf(details).reduce<number>((sum, item) => sum + (isObject(item) && item['modality'] === 'AUDIO' ? (tokenCount(item['tokenCount']) ?? 0) : 0), 0);
}
