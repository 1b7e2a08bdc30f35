import type { Usage } from '../../domain/usage.js';
import { NO_USAGE } from '../../domain/usage.js';

const INPUT = 'x-amzn-bedrock-input-token-count';
const OUTPUT = 'x-amzn-bedrock-output-token-count';
const CACHE_READ = 'x-amzn-bedrock-cache-read-input-token-count';
const CACHE_WRITE = 'x-amzn-bedrock-cache-write-input-token-count';

/**
 * What InvokeModel's headers tell of an answer that is not streamed: Mistral's and some other families' bodies tell nothing. Input is
 * without what came from or went to the cache. Null without them.
 */
export function usageFromHeaders(headers: ReadonlyMap<string, string>): Usage | null {
  const tokens = (name: string): number => {
    const value = headers.get(name);
    return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : 0;
  };
  if (!headers.has(INPUT) && !headers.has(OUTPUT)) return null;
  const cachedInputTokens = tokens(CACHE_READ);
  const cacheWriteTokens = tokens(CACHE_WRITE);
  return { ...NO_USAGE, inputTokens: tokens(INPUT) + cachedInputTokens + cacheWriteTokens, cachedInputTokens, cacheWriteTokens, outputTokens: tokens(OUTPUT) };
}
