import { Answer, idOf, nameOf } from '../stream/answer.js';
import { isObject, listOf, type Json, type JsonObject } from '../json/json.js';
import { OpenAiUsage } from './usage.js';

/** Events that carry the response as a whole, and end it. */
const LAST = new Set<Json>(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']);

/** Sound in base64: its words come in deltas of their own. */
const NOT_TEXT = 'response.audio.delta';

/** What an answer of the Responses API tells, event by event or as a whole body. */
export class ResponsesAnswer extends Answer {
  readonly #usage = new OpenAiUsage();
  /** Items of which deltas came, by their index: the events that repeat them whole add nothing. */
  readonly #heard = new Set<Json>();

  get usage(): Answer['usage'] {
    return this.#usage.usage;
  }

  /** Takes one event of a stream, or a whole body. */
  take(part: JsonObject, event: string | null): void {
    const before = this.texts;
    const { response, item } = part;
    const type = part['type'] ?? event;
    if (type === 'error' || isObject(part['error'])) this.sawError = true;
    if (typeof type === 'string' && type.endsWith('.delta')) this.#delta(part, type);
    else if (type === 'response.output_item.added' && isObject(item)) this.text(item['name']);
    else if (type === 'response.output_item.done' && isObject(item)) this.#done(item, part['output_index']);
    else if (isObject(response)) this.#response(response, type);
    else if (Array.isArray(part['output']) || isObject(part['usage'])) this.#response(part, null);
    if (this.texts > before) this.outputPieces++;
  }

  #delta(part: JsonObject, type: string): void {
    if (type === NOT_TEXT) return;
    this.text(part['delta']);
    this.#heard.add(part['output_index']);
  }

  /** Some servers tell an item only when it is whole. Its name was told as it was added. */
  #done(item: JsonObject, index: Json): void {
    if (this.#heard.has(index)) return;
    this.#heard.add(index);
    this.#item({ ...item, name: undefined });
  }

  /** The response itself; its output where no event told it before. */
  #response(response: JsonObject, type: Json): void {
    const { status, usage, output } = response;
    this.responseId = idOf(response['id']) ?? this.responseId;
    this.model = nameOf(response['model']) ?? this.model;
    this.serviceTier = nameOf(response['service_tier']) ?? this.serviceTier;
    if (type === 'response.failed' || status === 'failed' || isObject(response['error'])) this.sawError = true;
    if (isObject(usage)) this.#usage.take(usage);
    if (LAST.has(type)) this.complete = true;
    if (!this.sawOutput) for (const item of listOf(output)) if (isObject(item)) this.#item(item);
  }

  /** All that the model wrote of an item. What the server's tools found, what is sealed, and what the user said before is not. */
  #item(item: JsonObject): void {
    if ((typeof item['role'] === 'string' && item['role'] !== 'assistant') || isResult(item['type'])) return;
    for (const name of ['name', 'arguments', 'input', 'code']) this.text(item[name]);
    for (const part of [...listOf(item['summary']), ...listOf(item['content'])]) {
      if (!isObject(part)) continue;
      this.text(part['text']);
      this.text(part['refusal']);
      this.text(part['transcript']);
    }
  }
}

function isResult(type: Json): boolean {
  return typeof type === 'string' && type.endsWith('_output');
}
