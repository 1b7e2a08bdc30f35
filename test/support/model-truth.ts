import type { Recorded } from './recorder.js';

/** Tokens of one answer, as the model server itself counted them. */
export interface ModelTruth {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

interface LlamaPart {
  readonly usage?: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details?: { cached_tokens?: number } } | null;
  readonly timings?: { cache_n?: number; prompt_n: number; predicted_n: number };
}

/** The JSON of each event of a recorded answer, or of the whole where it was not streamed. */
export function partsOf({ answer }: Pick<Recorded, 'answer'>): readonly Record<string, unknown>[] {
  if (!answer.startsWith('data:') && !answer.startsWith(':')) return [JSON.parse(answer) as Record<string, unknown>];
  const events = answer.split('\n').filter((line) => line.startsWith('data: {'));
  return events.map((line) => JSON.parse(line.slice('data: '.length)) as Record<string, unknown>);
}

/** What llama.cpp told of a whole answer: its usage, and its timings, which must agree. */
export function modelTruth(recorded: Recorded): ModelTruth {
  const parts = partsOf(recorded) as readonly LlamaPart[];
  const usage = parts.findLast((part) => part.usage !== undefined && part.usage !== null)?.usage;
  const timings = parts.findLast((part) => part.timings !== undefined)?.timings;
  if (!usage || !timings) throw new Error('the model server told no usage');
  const truth = { promptTokens: usage.prompt_tokens, cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0, outputTokens: usage.completion_tokens };
  const timed = { promptTokens: timings.prompt_n + (timings.cache_n ?? 0), cachedTokens: timings.cache_n ?? 0, outputTokens: timings.predicted_n };
  if (JSON.stringify(truth) !== JSON.stringify(timed)) throw new Error(`usage and timings differ: ${JSON.stringify([truth, timed])}`);
  return truth;
}

/** Counters of the model server over all it did: prompts are counted without what came from its cache. */
export async function modelCounters(llamaUrl: string): Promise<{ promptTokens: number; outputTokens: number }> {
  const text = await (await fetch(`${llamaUrl}/metrics`)).text();
  const counter = (name: string): number => Number(new RegExp(`^llamacpp:${name} (\\d+)`, 'm').exec(text)?.[1] ?? 'NaN');
  return { promptTokens: counter('prompt_tokens_total'), outputTokens: counter('tokens_predicted_total') };
}
