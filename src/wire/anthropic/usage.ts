import { usageLines, type Usage, type UsageLine } from '../../domain/usage.js';
import { isObject, listOf, type Json, type JsonObject } from '../json/json.js';
import { nameOf, tokenCount } from '../stream/answer.js';

/** Figures of one `usage` object, or of one iteration of it; null: not told. `input` is without what came from or went to the cache. */
class Figures {
  input: number | null = null;
  cacheRead: number | null = null;
  cacheWrite: number | null = null;
  cacheWrite5m: number | null = null;
  cacheWrite1h: number | null = null;
  output: number | null = null;
  thinking: number | null = null;

  /** Takes what `usage` gives; what it does not give, or gives as null or garbage, stays. */
  take(usage: JsonObject): this {
    const byAge = objectOf(usage['cache_creation']);
    const output = objectOf(usage['output_tokens_details']);
    this.input = tokenCount(usage['input_tokens']) ?? this.input;
    this.cacheRead = tokenCount(usage['cache_read_input_tokens']) ?? this.cacheRead;
    this.cacheWrite = tokenCount(usage['cache_creation_input_tokens']) ?? this.cacheWrite;
    this.cacheWrite5m = tokenCount(byAge['ephemeral_5m_input_tokens']) ?? this.cacheWrite5m;
    this.cacheWrite1h = tokenCount(byAge['ephemeral_1h_input_tokens']) ?? this.cacheWrite1h;
    this.output = tokenCount(usage['output_tokens']) ?? this.output;
    this.thinking = tokenCount(output['thinking_tokens']) ?? this.thinking;
    return this;
  }

  /** These figures, each from `older` where it is not told here. The older output is only a placeholder. */
  over(older: Figures): Figures {
    const both = new Figures();
    both.input = this.input ?? older.input;
    both.cacheRead = this.cacheRead ?? older.cacheRead;
    both.cacheWrite = this.cacheWrite ?? older.cacheWrite;
    both.cacheWrite5m = this.cacheWrite5m ?? older.cacheWrite5m;
    both.cacheWrite1h = this.cacheWrite1h ?? older.cacheWrite1h;
    both.output = this.output;
    both.thinking = this.thinking;
    return both;
  }

  get told(): boolean {
    return this.input !== null || this.cacheRead !== null || this.cacheWrite !== null || this.output !== null;
  }

  /** In our terms: the input with all that was read from and written to the cache. */
  get usage(): Usage {
    const cachedInputTokens = this.cacheRead ?? 0;
    const cacheWriteTokens = this.cacheWrite ?? (this.cacheWrite5m ?? 0) + (this.cacheWrite1h ?? 0);
    const outputTokens = this.output ?? 0;
    return {
      inputTokens: (this.input ?? 0) + cachedInputTokens + cacheWriteTokens,
      cachedInputTokens,
      cacheWriteTokens,
      cacheWrite1hTokens: Math.min(cacheWriteTokens, this.cacheWrite1h ?? 0),
      outputTokens,
      reasoningTokens: Math.min(outputTokens, this.thinking ?? 0),
      audioInputTokens: 0,
      audioOutputTokens: 0,
    };
  }
}

/** One pass of a model in an answer that took several. */
interface Iteration {
  /** Named where it is not the model that was asked. */
  readonly model: string | null;
  readonly usage: Usage;
}

/**
 * Puts together what an answer of the Messages API says about its cost. What its end tells replaces what its start told, field by field,
 * also when it is lower; nothing is summed but the iterations of one `usage`, which are what is billed: the figures beside
 * them leave out what other models and compactions took.
 */
export class AnthropicUsage {
  readonly #start = new Figures();
  readonly #end = new Figures();
  #iterations: readonly Iteration[] = [];

  /** Takes the `usage` of `message_start`: its output is a placeholder, and it never replaces what was told at the end. */
  takeStart(usage: JsonObject): void {
    this.#start.take(usage);
  }

  /** Takes a `usage` of `message_delta`, or of a whole body. */
  take(usage: JsonObject): void {
    this.#end.take(usage);
    const iterations = listOf(usage['iterations']).filter(isObject);
    if (iterations.length > 0) this.#iterations = iterations.map(iterationOf);
  }

  /** More was told than at the start. */
  get ended(): boolean {
    return this.#end.told || this.#iterations.length > 0;
  }

  /** The figures so far; null while there are none. While no output is told, `outputTokens` is 0. */
  get usage(): Usage | null {
    const plain = this.#end.over(this.#start);
    if (this.#iterations.length === 0) return plain.told ? plain.usage : null;
    const sum = this.#iterations.map(({ usage }) => usage).reduce(sumOf);
    return { ...sum, reasoningTokens: Math.min(sum.outputTokens, plain.thinking ?? 0) };
  }

  /** The bill by model, where other models than `model` (that of the answer) took part; else null. */
  lines(model: string | null, serviceTier: string | null): readonly UsageLine[] | null {
    if (model === null || this.#iterations.every((one) => (one.model ?? model) === model)) return null;
    const byModel = new Map<string, Usage>();
    for (const one of this.#iterations) {
      const name = one.model ?? model;
      const before = byModel.get(name);
      byModel.set(name, before === undefined ? one.usage : sumOf(before, one.usage));
    }
    const own = byModel.get(model);
    // How much of it was thinking is told for the model that was asked only.
    if (own !== undefined) byModel.set(model, { ...own, reasoningTokens: Math.min(own.outputTokens, this.#end.thinking ?? 0) });
    return [...byModel].flatMap(([name, usage]) => usageLines(usage, name, serviceTier));
  }
}

function iterationOf(iteration: JsonObject): Iteration {
  return { model: nameOf(iteration['model']), usage: new Figures().take(iteration).usage };
}

function sumOf(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    cacheWrite1hTokens: a.cacheWrite1hTokens + b.cacheWrite1hTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    audioInputTokens: 0,
    audioOutputTokens: 0,
  };
}

function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}
