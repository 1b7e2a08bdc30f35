import { isObject, type Json, type JsonObject } from '../json/json.js';
import { hiddenText } from '../llama-hidden.js';
import { Answer, nameOf, tokenCount } from '../stream/answer.js';
import { Results, type Figures } from './results.js';

/** What an answer of llama.cpp's `/completion` or `/infill` tells, chunk by chunk or as a whole body; one of several prompts holds several results. */
export class LlamaAnswer extends Answer {
  readonly #results = new Results();
  /** Results that came, and whether each told its end. */
  readonly #ended = new Map<Json, boolean>();

  get usage(): Answer['usage'] {
    return this.#results.usage;
  }

  take(part: JsonObject): void {
    const before = this.texts;
    const index = tokenCount(part['index']) ?? 0;
    this.model = nameOf(part['model']) ?? this.model;
    this.error(part['error']);
    this.#ended.set(index, part['stop'] === true || this.#ended.get(index) === true);
    this.text(part['content'] ?? hiddenText(part));
    if (this.texts > before) this.outputPieces++;
    this.#results.take(index, figuresOf(part));
  }

  /** Every result that began told its end. There is no other mark. */
  override endsWhole(): boolean {
    return this.complete || (this.#ended.size > 0 && !this.sawError && [...this.#ended.values()].every((ended) => ended));
  }
}

/** `timings.prompt_n` is without what came from the cache, `tokens_evaluated` with it. `tokens_cached` is something else. */
function figuresOf(part: JsonObject): Figures {
  const timings = isObject(part['timings']) ? part['timings'] : {};
  const fresh = tokenCount(timings['prompt_n']);
  const cached = tokenCount(timings['cache_n']);
  return {
    input: tokenCount(part['tokens_evaluated']) ?? (fresh === null ? null : fresh + (cached ?? 0)),
    cached,
    output: tokenCount(part['tokens_predicted']) ?? tokenCount(timings['predicted_n']),
  };
}
