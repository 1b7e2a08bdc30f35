import type { Usage } from '../../domain/usage.js';
import { tokenCount } from '../stream/answer.js';
import { isObject, type Json, type JsonObject } from '../json/json.js';

/**
 * Puts together what the parts of an answer say about its cost: the last value wins, field by field; a later null or
 * garbage does not clear an earlier value; nothing is ever summed over parts.
 */
export class OpenAiUsage {
  #prompt: number | null = null;
  #completion: number | null = null;
  #total: number | null = null;
  #cached: number | null = null;
  #cacheWrite: number | null = null;
  #reasoning: number | null = null;
  #audioIn: number | null = null;
  #audioOut: number | null = null;
  #timings: { readonly input: number; readonly cached: number; readonly output: number } | null = null;

  /** Takes a `usage` object, in the words of chat completions or in those of the newer Responses API. */
  take(usage: JsonObject): void {
    const input = detailsOf(usage['prompt_tokens_details'] ?? usage['input_tokens_details']);
    const output = detailsOf(usage['completion_tokens_details'] ?? usage['output_tokens_details']);
    this.#prompt = tokenCount(usage['prompt_tokens']) ?? tokenCount(usage['input_tokens']) ?? this.#prompt;
    this.#completion = tokenCount(usage['completion_tokens']) ?? tokenCount(usage['output_tokens']) ?? this.#completion;
    this.#total = tokenCount(usage['total_tokens']) ?? this.#total;
    this.#cached = tokenCount(input['cached_tokens']) ?? tokenCount(usage['prompt_cache_hit_tokens']) ?? tokenCount(usage['cached_tokens']) ?? this.#cached;
    this.#cacheWrite = tokenCount(input['cache_write_tokens']) ?? tokenCount(input['cache_creation_tokens']) ?? this.#cacheWrite;
    this.#reasoning = tokenCount(output['reasoning_tokens']) ?? tokenCount(usage['reasoning_tokens']) ?? this.#reasoning;
    this.#audioIn = tokenCount(input['audio_tokens']) ?? this.#audioIn;
    this.#audioOut = tokenCount(output['audio_tokens']) ?? this.#audioOut;
  }

  /** Takes llama.cpp's `timings`, whose `prompt_n` does not include what came from the cache. */
  takeTimings(timings: JsonObject): void {
    const input = tokenCount(timings['prompt_n']);
    const output = tokenCount(timings['predicted_n']);
    if (input === null || output === null) return;
    const cached = tokenCount(timings['cache_n']) ?? 0;
    this.#timings = { input: input + cached, cached, output };
  }

  /** The figures so far; null while there are none. */
  get usage(): Usage | null {
    const input = this.#prompt ?? this.#rest(this.#completion) ?? this.#timings?.input ?? null;
    const output = this.#completion ?? this.#rest(this.#prompt) ?? this.#timings?.output ?? null;
    if (input === null && output === null) return null;
    const inputTokens = input ?? 0;
    const outputTokens = (output ?? 0) + this.#reasoningBeside();
    const cachedInputTokens = Math.min(inputTokens, this.#cached ?? this.#timings?.cached ?? 0);
    return {
      inputTokens,
      cachedInputTokens,
      cacheWrite1hTokens: 0,
      cacheWriteTokens: Math.min(inputTokens - cachedInputTokens, this.#cacheWrite ?? 0),
      outputTokens,
      reasoningTokens: Math.min(outputTokens, this.#reasoning ?? 0),
      audioInputTokens: Math.min(inputTokens, this.#audioIn ?? 0),
      audioOutputTokens: Math.min(outputTokens, this.#audioOut ?? 0),
    };
  }

  /** What the total leaves beside `known`; null where either is missing. */
  #rest(known: number | null): number | null {
    return this.#total === null || known === null || known > this.#total ? null : this.#total - known;
  }

  /** Reasoning that `completion_tokens` does not include (xAI): only where the total says so. */
  #reasoningBeside(): number {
    const reasoning = this.#reasoning ?? 0;
    if (this.#prompt === null || this.#completion === null) return 0;
    return this.#total === this.#prompt + this.#completion + reasoning ? reasoning : 0;
  }
}

function detailsOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}
