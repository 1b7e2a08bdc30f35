import { NO_USAGE } from '../../domain/usage.js';
import { isObject, listOf, type Json, type JsonObject } from '../json/json.js';
import { Answer, nameOf, tokenCount } from '../stream/answer.js';

/** What an answer of Ollama tells, line by line or as a whole body. */
export class OllamaAnswer extends Answer {
  #input: number | null = null;
  #output: number | null = null;

  /** No figure for a prompt that came from the cache: then it is zero here, and the estimate stays in force. */
  get usage(): Answer['usage'] {
    if (this.#input === null && this.#output === null) return null;
    return { ...NO_USAGE, inputTokens: this.#input ?? 0, outputTokens: this.#output ?? 0 };
  }

  take(part: JsonObject): void {
    const before = this.texts;
    this.model = nameOf(part['model']) ?? this.model;
    this.error(part['error']);
    this.text(part['response']);
    this.text(part['thinking']);
    const { message } = part;
    if (isObject(message)) this.#said(message);
    if (this.texts > before) this.outputPieces++;
    this.#input = tokenCount(part['prompt_eval_count']) ?? this.#input;
    this.#output = tokenCount(part['eval_count']) ?? this.#output;
    if (part['done'] === true) this.complete = true;
  }

  #said(message: JsonObject): void {
    this.text(message['content']);
    this.text(message['thinking']);
    for (const call of listOf(message['tool_calls'])) if (isObject(call)) this.#call(call['function']);
  }

  #call(called: Json): void {
    if (!isObject(called)) return;
    this.text(called['name']);
    if (isObject(called['arguments'])) this.text(JSON.stringify(called['arguments']));
  }
}
