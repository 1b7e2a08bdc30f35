/** What an answer cost, as its upstream tells. Totals: `inputTokens` includes cache reads and writes, `outputTokens` the reasoning. */
export interface Usage {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  /** Part of `cacheWriteTokens` that is kept for an hour. */
  readonly cacheWrite1hTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
}

/** One line of a bill: so many tokens of a kind, by a model. The kinds do not overlap. */
export interface UsageLine {
  readonly model: string;
  readonly serviceTier: string | null;
  readonly kind: UsageKind;
  readonly tokens: number;
}

export type UsageKind =
  | 'input'
  | 'cached_input'
  | 'cache_write_5m'
  | 'cache_write_1h'
  | 'output'
  | 'reasoning'
  | 'audio_input'
  | 'audio_output'
  | 'image';

export const NO_USAGE: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

/** The same with other totals. */
export function withTokens(usage: Usage, inputTokens: number, outputTokens: number): Usage {
  const { cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens, reasoningTokens, audioInputTokens, audioOutputTokens } = usage;
  return { inputTokens, cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens, reasoningTokens, audioInputTokens, audioOutputTokens };
}

/** Splits totals into lines that do not overlap; lines of zero tokens are left out. */
export function usageLines(usage: Usage, model: string, serviceTier: string | null): UsageLine[] {
  const input = usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens - usage.audioInputTokens;
  const output = usage.outputTokens - usage.reasoningTokens - usage.audioOutputTokens;
  const lines: UsageLine[] = [];
  const add = (kind: UsageKind, tokens: number): void => {
    if (tokens > 0) lines.push({ model, serviceTier, kind, tokens });
  };
  add('input', input);
  add('cached_input', usage.cachedInputTokens);
  add('cache_write_5m', usage.cacheWriteTokens - usage.cacheWrite1hTokens);
  add('cache_write_1h', usage.cacheWrite1hTokens);
  add('audio_input', usage.audioInputTokens);
  add('output', output);
  add('reasoning', usage.reasoningTokens);
  add('audio_output', usage.audioOutputTokens);
  return lines;
}
