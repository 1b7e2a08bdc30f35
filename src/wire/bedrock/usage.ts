import type { Usage } from '../../domain/usage.js';
import { isObject, listOf, type Json, type JsonObject } from '../json/json.js';
import { tokenCount } from '../stream/answer.js';

/** The same figures by their names in Converse and Nova, in `amazon-bedrock-invocationMetrics`, and in the answers of model families. */
const INPUT = ['inputTokens', 'inputTokenCount', 'input_tokens', 'prompt_token_count', 'inputTextTokenCount'];
const CACHE_READ = ['cacheReadInputTokens', 'cacheReadInputTokenCount', 'cache_read_input_tokens'];
const CACHE_WRITE = ['cacheWriteInputTokens', 'cacheWriteInputTokenCount', 'cache_creation_input_tokens'];
const OUTPUT = ['outputTokens', 'outputTokenCount', 'output_tokens', 'generation_token_count', 'totalOutputTextTokenCount'];
const TOTAL = ['totalTokens'];

/**
 * Puts together what the parts of an answer say about its cost: the last value wins, field by field; nothing is summed over parts. Input is
 * without what came from or went to the cache, as Bedrock tells it.
 */
export class BedrockUsage {
  #input: number | null = null;
  #cacheRead: number | null = null;
  #cacheWrite: number | null = null;
  #cacheWrite1h: number | null = null;
  #output: number | null = null;
  #total: number | null = null;

  /** Takes an object with some of the figures, by whatever names; anything else is nothing. */
  take(figures: Json): void {
    if (!isObject(figures)) return;
    this.#input = told(figures, INPUT) ?? this.#input;
    this.#cacheRead = told(figures, CACHE_READ) ?? this.#cacheRead;
    this.#cacheWrite = told(figures, CACHE_WRITE) ?? this.#cacheWrite;
    this.#cacheWrite1h = writtenForAnHour(figures['cacheDetails']) ?? this.#cacheWrite1h;
    this.#output = told(figures, OUTPUT) ?? this.#output;
    this.#total = told(figures, TOTAL) ?? this.#total;
  }

  /** Takes tokens of output that an answer tells in a way of its own. */
  takeOutput(tokens: number | null): void {
    this.#output = tokens ?? this.#output;
  }

  /** These figures, each from `other` where it is not told here: the same tokens are told twice, so they are never added. */
  orElse(other: BedrockUsage): BedrockUsage {
    const both = new BedrockUsage();
    both.#input = this.#input ?? other.#input;
    both.#cacheRead = this.#cacheRead ?? other.#cacheRead;
    both.#cacheWrite = this.#cacheWrite ?? other.#cacheWrite;
    both.#cacheWrite1h = this.#cacheWrite1h ?? other.#cacheWrite1h;
    both.#output = this.#output ?? other.#output;
    both.#total = this.#total ?? other.#total;
    return both;
  }

  /** In our terms: the input with all that was read from and written to the cache. Null while nothing was told. */
  get usage(): Usage | null {
    if (this.#input === null && this.#cacheRead === null && this.#cacheWrite === null && this.#output === null && this.#total === null) return null;
    const cachedInputTokens = this.#cacheRead ?? 0;
    const cacheWriteTokens = this.#cacheWrite ?? this.#cacheWrite1h ?? 0;
    const cached = cachedInputTokens + cacheWriteTokens;
    const inputTokens = this.#input === null ? Math.max(cached, (this.#total ?? 0) - (this.#output ?? 0)) : this.#input + cached;
    return {
      inputTokens,
      cachedInputTokens,
      cacheWriteTokens,
      cacheWrite1hTokens: Math.min(cacheWriteTokens, this.#cacheWrite1h ?? 0),
      outputTokens: this.#output ?? Math.max(0, (this.#total ?? inputTokens) - inputTokens),
      reasoningTokens: 0,
      audioInputTokens: 0,
      audioOutputTokens: 0,
    };
  }
}

function told(figures: JsonObject, names: readonly string[]): number | null {
  for (const name of names) {
    const count = tokenCount(figures[name]);
    if (count !== null) return count;
  }
  return null;
}

/** Of `cacheDetails`, a list of what was written by how long it is kept; null where it does not say. */
function writtenForAnHour(details: Json): number | null {
  const hour = listOf(details).find((detail) => isObject(detail) && detail['ttl'] === '1h');
  return isObject(hour) ? tokenCount(hour['inputTokens']) : null;
}
