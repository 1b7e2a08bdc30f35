import { isObject, listOf, type Json, type JsonObject } from '../json/json.js';
import { Answer, nameOf } from '../stream/answer.js';
import { BedrockUsage } from './usage.js';

/** What an answer of Converse or ConverseStream tells, event by event or as a whole body. */
export class ConverseAnswer extends Answer {
  readonly #usage = new BedrockUsage();
  #stopped = false;

  get usage(): Answer['usage'] {
    return this.#usage.usage;
  }

  /** Takes one event of a stream, or a whole body. Only their own member `usage` is usage: guardrail traces hold others of that name. */
  take(part: JsonObject, event: string | null): void {
    const before = this.texts;
    const { start, delta, output, usage } = part;
    if (isObject(start)) this.#block(start);
    if (isObject(delta)) this.#delta(delta);
    const message = isObject(output) ? output['message'] : null;
    if (isObject(message)) for (const block of listOf(message['content'])) if (isObject(block)) this.#block(block);
    if (event === 'messageStop') this.#stopped = true;
    if (event === 'metadata' || (event === null && (isObject(output) || isObject(usage)))) this.#metadata(part);
    else if (event === null) this.sawError = true;
    this.complete ||= event === 'metadata';
    if (this.texts > before) this.outputPieces++;
  }

  override endsWhole(): boolean {
    return this.complete || this.#stopped;
  }

  #metadata({ usage, serviceTier, trace }: JsonObject): void {
    this.#usage.take(usage);
    if (isObject(serviceTier)) this.serviceTier = nameOf(serviceTier['type']) ?? this.serviceTier;
    const router = isObject(trace) ? trace['promptRouter'] : null;
    if (isObject(router)) this.model = nameOf(router['invokedModelId']) ?? this.model;
  }

  /** A block of a whole answer, or what the beginning of a streamed one tells: a call's name. */
  #block(block: JsonObject): void {
    this.text(block['text']);
    const { toolUse, reasoningContent, citationsContent } = block;
    if (isObject(toolUse)) {
      this.text(toolUse['name']);
      this.#input(toolUse['input']);
    }
    const reasoning = isObject(reasoningContent) ? reasoningContent['reasoningText'] : null;
    if (isObject(reasoning)) this.text(reasoning['text']);
    if (isObject(citationsContent)) for (const one of listOf(citationsContent['content'])) if (isObject(one)) this.text(one['text']);
  }

  /** Of text, a call's input, or reasoning; signatures, citations and what the server's own tools found are no output. */
  #delta(delta: JsonObject): void {
    this.text(delta['text']);
    const { toolUse, reasoningContent } = delta;
    if (isObject(toolUse)) this.#input(toolUse['input']);
    if (isObject(reasoningContent)) this.text(reasoningContent['text']);
  }

  /** A call's input: pieces of JSON in a stream, else a value. */
  #input(input: Json): void {
    this.text(isObject(input) ? JSON.stringify(input) : input);
  }
}
