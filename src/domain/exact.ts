/** Port of exact token counting: slow, bounded, beside the request path's own thread. Never rejects. */
export interface ExactCounter {
  /** Tokens of a text in OpenAI's `o200k`; null where it takes longer than `timeoutMs`, or too many wait. */
  count(text: string, timeoutMs: number): Promise<number | null>;
  close(): Promise<void>;
}

/** What an operator asked of it. */
export interface ExactCounting {
  /** Whether prompts for this model are counted. */
  readonly matches: (model: string) => boolean;
  /** Longest prompt that is counted, in bytes of its body. */
  readonly maxBytes: number;
  /** Longest wait for a count, in milliseconds. */
  readonly timeoutMs: number;
}
