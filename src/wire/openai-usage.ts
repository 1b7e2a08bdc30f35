import type { Usage } from '../domain/usage.js';
import { isObject, type Json, type JsonObject } from './json.js';

/** More than any answer can cost: larger figures are garbage. */
const MAX_PLAUSIBLE = 2 ** 31 - 1;

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

  /** Takes a `usage` object. */
  take(usage: JsonObject): void {
    const input = detailsOf(usage['prompt_tokens_details']);
    const output = detailsOf(usage['completion_tokens_details']);
    this.#prompt = count(usage['prompt_tokens']) ?? this.#prompt;
    this.#completion = count(usage['completion_tokens']) ?? this.#completion;
    this.#total = count(usage['total_tokens']) ?? this.#total;
    this.#cached = count(input['cached_tokens']) ?? count(usage['prompt_cache_hit_tokens']) ?? count(usage['cached_tokens']) ?? this.#cached;
    this.#cacheWrite = count(input['cache_write_tokens']) ?? count(input['cache_creation_tokens']) ?? this.#cacheWrite;
    this.#reasoning = count(output['reasoning_tokens']) ?? count(usage['reasoning_tokens']) ?? this.#reasoning;
    this.#audioIn = count(input['audio_tokens']) ?? this.#audioIn;
    this.#audioOut = count(output['audio_tokens']) ?? this.#audioOut;
  }

  /** Takes llama.cpp's `timings`, whose `prompt_n` does not include what came from the cache. */
  takeTimings(timings: JsonObject): void {
    const input = count(timings['prompt_n']);
    const output = count(timings['predicted_n']);
    if (input === null || output === null) return;
    const cached = count(timings['cache_n']) ?? 0;
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

/** A number of tokens; null for anything else. */
function count(value: Json): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_PLAUSIBLE ? value : null;
}

function detailsOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}
