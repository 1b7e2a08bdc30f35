import type { Usage } from '../../domain/usage.js';
import { isObject, listOf, type Json, type JsonObject } from '../json/json.js';
import { OpenAiUsage } from '../openai/usage.js';
import { Answer, idOf, nameOf, tokenCount } from '../stream/answer.js';
import { METRICS, modelPart } from './chunk.js';
import { BedrockUsage } from './usage.js';

/** Members whose strings are output: of Nova, Llama, Titan, Mistral, Cohere, AI21, and of all that answer like OpenAI. */
const OUTPUT = new Set([
  'text', 'outputText', 'generation', 'completion', 'content', 'refusal', 'reasoning_content', 'reasoning', 'thinking', 'partial_json', 'arguments',
  'input', 'name', 'generated_text',
]);
/** Members in which output stands. What is in no such member is not looked at: prompts told back, traces, vectors, what tools found. */
const AROUND = new Set([
  'choices', 'delta', 'message', 'output', 'outputs', 'results', 'generations', 'completions', 'data', 'content', 'tool_calls', 'toolCalls', 'function',
  'start', 'toolUse', 'thinking', 'reasoningContent', 'reasoningText', 'contentBlockStart', 'contentBlockDelta', 'content_block',
]);

/** What an answer of InvokeModel tells, whatever family its model is of but Claude: their figures have names that do not clash. */
export class InvokeAnswer extends Answer {
  readonly #figures = new BedrockUsage();
  readonly #metrics = new BedrockUsage();
  readonly #openAi = new OpenAiUsage();

  /** The model's own figures, and Bedrock's where those lack one. */
  get usage(): Usage | null {
    return this.#openAi.usage ?? this.#figures.orElse(this.#metrics).usage;
  }

  take(part: JsonObject, event: string | null): void {
    const inner = modelPart(part, event);
    if (inner === null) {
      this.unreadable = true;
      return;
    }
    const before = this.texts;
    this.model = nameOf(inner['model']) ?? this.model;
    this.responseId = idOf(inner['id']) ?? this.responseId;
    this.#costs(inner);
    this.#said(inner);
    if (isObject(inner['error']) || inner['type'] === 'error' || (event === null && typeof inner['message'] === 'string')) this.sawError = true;
    if (this.texts > before) this.outputPieces++;
  }

  /** Guardrail traces hold objects named usage as well: only those at their own places are taken. */
  #costs(part: JsonObject): void {
    const { usage, metadata, message, meta, results } = part;
    const started = isObject(message) ? message['usage'] : null;
    // Claude's output at its start is a placeholder.
    if (isObject(started)) this.#figures.take({ ...started, output_tokens: null });
    for (const told of [part, isObject(metadata) ? metadata['usage'] : null, usage]) this.#figures.take(told);
    // Elsewhere than in OpenAI's chat, `input_tokens` is without what the cache had.
    if (isObject(usage) && usage['prompt_tokens'] !== undefined) this.#openAi.take(usage);
    for (const cohere of [meta, usage]) if (isObject(cohere)) this.#figures.take(cohere['tokens'] ?? cohere['billed_units']);
    // Titan counts each of its results.
    const counts = listOf(results).map((result) => (isObject(result) ? tokenCount(result['tokenCount']) : null));
    if (counts.some((count) => count !== null)) this.#figures.takeOutput(counts.reduce<number>((sum, count) => sum + (count ?? 0), 0));
    const metrics = part[METRICS];
    this.#metrics.take(metrics);
    this.complete ||= isObject(metrics);
  }

  // Recursion is bounded: nothing nested deeper than MAX_DEPTH is taken. Some servers send reasoning under both its names at once: one counts.
  #said(value: Json): void {
    if (Array.isArray(value)) for (const item of value) this.#said(item);
    if (!isObject(value)) return;
    for (const key of Object.keys(value)) {
      const member = value[key];
      if (typeof member === 'string') {
        if (OUTPUT.has(key) && !(key === 'reasoning' && value['reasoning_content'])) this.text(member);
      } else if (key === 'input' && isObject(member)) this.text(JSON.stringify(member));
      else if (AROUND.has(key)) this.#said(member);
    }
  }
}
