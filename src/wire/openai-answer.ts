import type { ResponseReading } from '../domain/wire.js';
import { countText, noText } from '../lib/text-counts.js';
import { MAX_MODEL_LENGTH } from './fields.js';
import { isObject, listOf, type Json, type JsonObject } from './json.js';
import { OpenAiUsage } from './openai-usage.js';

/** Collects what an answer tells, chunk by chunk or as a whole body. Never throws, whatever the values are. */
export class OpenAiAnswer implements ResponseReading {
  readonly output = noText();
  readonly #usage = new OpenAiUsage();
  #texts = 0;
  model: string | null = null;
  serviceTier: string | null = null;
  sawOutput = false;
  outputPieces = 0;
  sawError = false;
  complete = false;
  unreadable = false;
  /** A choice told its end. */
  sawFinish = false;
  /** Usage came that nothing follows: with a finish reason, or on its own. Running totals are not that. */
  sawFinalUsage = false;

  get usage(): ResponseReading['usage'] {
    return this.#usage.usage;
  }

  /** Takes one chunk of a stream, or a whole body. */
  take(part: JsonObject): void {
    this.model = name(part['model']) ?? this.model;
    this.serviceTier = name(part['service_tier']) ?? this.serviceTier;
    if (isObject(part['error']) || (typeof part['error'] === 'string' && part['error'] !== '')) this.sawError = true;
    const choices = listOf(part['choices']);
    let finished = choices.length === 0;
    for (const choice of choices) {
      if (!isObject(choice)) continue;
      this.#choice(choice);
      if (typeof choice['finish_reason'] !== 'string') continue;
      finished = true;
      this.sawFinish = true;
    }
    this.#usages(part, choices, finished);
  }

  #usages(part: JsonObject, choices: readonly Json[], finished: boolean): void {
    const first = choices[0];
    const groq = part['x_groq'];
    // Moonshot tells usage inside the choice, Groq in a member of its own.
    for (const usage of [isObject(first) ? first['usage'] : null, isObject(groq) ? groq['usage'] : null, part['usage']]) {
      if (!isObject(usage)) continue;
      this.#usage.take(usage);
      this.sawFinalUsage ||= finished;
    }
    if (isObject(part['timings'])) this.#usage.takeTimings(part['timings']);
  }

  #choice(choice: JsonObject): void {
    const before = this.#texts;
    this.#text(choice['text']);
    const { delta, message } = choice;
    if (isObject(delta)) this.#said(delta);
    if (isObject(message)) this.#said(message);
    if (this.#texts > before) this.outputPieces++;
  }

  #said(said: JsonObject): void {
    this.#textOrParts(said['content']);
    this.#text(said['refusal']);
    // Some servers send reasoning under both names at once: one counts.
    this.#text(said['reasoning_content'] || said['reasoning']);
    for (const call of listOf(said['tool_calls'])) if (isObject(call)) this.#call(call['function']);
    this.#call(said['function_call']);
    const audio = said['audio'];
    if (isObject(audio)) this.#text(audio['transcript']);
  }

  #call(call: Json): void {
    if (!isObject(call)) return;
    this.#text(call['name']);
    this.#text(call['arguments']);
  }

  /** Content is a string, or with some servers a list of parts, which for Mistral may hold a list of thoughts. */
  #textOrParts(value: Json): void {
    this.#text(value);
    for (const part of listOf(value)) {
      if (!isObject(part)) continue;
      this.#text(part['text']);
      for (const thought of listOf(part['thinking'])) if (isObject(thought)) this.#text(thought['text']);
    }
  }

  #text(value: Json): void {
    if (typeof value !== 'string' || value === '') return;
    this.sawOutput = true;
    this.#texts++;
    countText(value, this.output);
  }
}

function name(value: Json): string | null {
  return typeof value === 'string' && value !== '' && value.length <= MAX_MODEL_LENGTH ? value : null;
}
