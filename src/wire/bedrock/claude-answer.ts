import { AnthropicAnswer } from '../anthropic/answer.js';
import { isObject, type Json, type JsonObject } from '../json/json.js';
import { tokenCount } from '../stream/answer.js';
import { METRICS, modelPart } from './chunk.js';

/** Names of the same figures: in the Messages API, and in Bedrock's metrics. Both tell the input without what the cache had. */
const FIGURES = [
  ['input_tokens', 'inputTokenCount'],
  ['output_tokens', 'outputTokenCount'],
  ['cache_read_input_tokens', 'cacheReadInputTokenCount'],
  ['cache_creation_input_tokens', 'cacheWriteInputTokenCount'],
] as const;

/** What an answer of InvokeModel tells where the model is Claude: the Messages API's answer, its events wrapped in chunks. */
export class ClaudeAnswer extends AnthropicAnswer {
  readonly #told = new Set<string>();

  override take(part: JsonObject, event: string | null): void {
    const inner = modelPart(part, event);
    if (inner === null) {
      this.unreadable = true;
      return;
    }
    super.take(inner, null);
    const { message } = inner;
    // The output that the start tells is a placeholder.
    if (isObject(message)) this.#tells(message['usage'], 'output_tokens');
    this.#tells(inner['usage'], null);
    const metrics = inner[METRICS];
    if (isObject(metrics)) this.#fill(metrics);
    else if (event === null && inner['type'] === undefined && typeof inner['message'] === 'string') this.sawError = true;
  }

  #tells(usage: Json, placeholder: string | null): void {
    if (!isObject(usage)) return;
    for (const [name] of FIGURES) if (name !== placeholder && tokenCount(usage[name]) !== null) this.#told.add(name);
  }

  /** Takes from the metrics what the model's own usage lacks: what both tell are the same tokens. */
  #fill(metrics: JsonObject): void {
    this.figures.take(Object.fromEntries(FIGURES.filter(([name]) => !this.#told.has(name)).map(([name, metric]) => [name, metrics[metric]])));
  }
}
