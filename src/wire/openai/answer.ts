import { hiddenText } from '../llama-hidden.js';
import { Answer, idOf, nameOf } from '../stream/answer.js';
import { isObject, listOf, type Json, type JsonObject } from '../json/json.js';
import { OpenAiUsage } from './usage.js';

/** What an answer of chat completions or completions tells, chunk by chunk or as a whole body. */
export class OpenAiAnswer extends Answer {
  readonly #usage = new OpenAiUsage();
  /** A choice told its end. */
  #sawFinish = false;
  /** All had been said before the part that was taken last. */
  #saidAll = false;
  /** Usage came that nothing follows: with a finish reason, or on its own. Running totals are not that. */
  #sawFinalUsage = false;

  get usage(): Answer['usage'] {
    return this.#usage.usage;
  }

  /** Takes one chunk of a stream, or a whole body. */
  take(part: JsonObject): void {
    this.#saidAll = this.#sawFinish;
    this.responseId = idOf(part['id']) ?? this.responseId;
    this.model = nameOf(part['model']) ?? this.model;
    this.serviceTier = nameOf(part['service_tier']) ?? this.serviceTier;
    this.error(part['error']);
    if (part['choices'] === undefined) this.#llama(part);
    const choices = listOf(part['choices']);
    let finished = choices.length === 0;
    for (const choice of choices) {
      if (!isObject(choice)) continue;
      this.#choice(choice);
      if (typeof choice['finish_reason'] !== 'string') continue;
      finished = true;
      this.#sawFinish = true;
    }
    this.#usages(part, choices, finished);
  }

  /**
   * The one event that `include_usage` adds. Azure's first chunk also has no choices, but it has no usage either. LiteLLM
   * puts a choice that says nothing beside its usage: after the end of an answer that is the same event.
   */
  override isOurs = (part: JsonObject): boolean => {
    const choices = part['choices'];
    if (!Array.isArray(choices) || !isObject(part['usage'])) return false;
    return choices.length === 0 || (this.#saidAll && choices.every(saysNothing));
  };

  override endsWhole(): boolean {
    return this.complete || this.#sawFinalUsage;
  }

  #usages(part: JsonObject, choices: readonly Json[], finished: boolean): void {
    const first = choices[0];
    const groq = part['x_groq'];
    // Moonshot tells usage inside the choice, Groq in a member of its own.
    for (const usage of [isObject(first) ? first['usage'] : null, isObject(groq) ? groq['usage'] : null, part['usage']]) {
      if (!isObject(usage)) continue;
      this.#usage.take(usage);
      this.#sawFinalUsage ||= finished;
    }
    if (isObject(part['timings'])) this.#usage.takeTimings(part['timings']);
  }

  /** llama.cpp answers `/completions` without a version in its own shape; its `timings` come with the last part. */
  #llama(part: JsonObject): void {
    const before = this.texts;
    this.text(part['content'] ?? hiddenText(part));
    if (this.texts > before) this.outputPieces++;
  }

  #choice(choice: JsonObject): void {
    const before = this.texts;
    this.text(choice['text']);
    const { delta, message } = choice;
    if (isObject(delta)) this.#said(delta);
    if (isObject(message)) this.#said(message);
    if (this.texts > before) this.outputPieces++;
  }

  #said(said: JsonObject): void {
    this.#textOrParts(said['content']);
    this.text(said['refusal']);
    // Some servers send reasoning under both names at once: one counts.
    this.text(said['reasoning_content'] || said['reasoning']);
    for (const call of listOf(said['tool_calls'])) if (isObject(call)) this.#call(call['function'] ?? call['custom']);
    this.#call(said['function_call']);
    const audio = said['audio'];
    if (isObject(audio)) this.text(audio['transcript']);
  }

  #call(call: Json): void {
    if (!isObject(call)) return;
    this.text(call['name']);
    this.text(call['arguments'] ?? call['input']);
  }

  /** Content is a string, or with some servers a list of parts, which for Mistral may hold a list of thoughts. */
  #textOrParts(value: Json): void {
    this.text(value);
    for (const part of listOf(value)) {
      if (!isObject(part)) continue;
      this.text(part['text']);
      for (const thought of listOf(part['thinking'])) if (isObject(thought)) this.text(thought['text']);
    }
  }
}

/** A choice without text, calls or an end of its own. */
function saysNothing(choice: Json): boolean {
  if (!isObject(choice)) return false;
  const { delta, text, finish_reason: finish } = choice;
  return isBlank(finish) && isBlank(text) && (isBlank(delta) || (isObject(delta) && Object.values(delta).every(isBlank)));
}

function isBlank(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '';
}
