import { isObject, listOf, type Json, type JsonObject } from '../json/json.js';
import { Answer, idOf, nameOf } from '../stream/answer.js';
import { AnthropicUsage } from './usage.js';

/** Blocks that the model itself wrote; others hold what tools of the server found, which is input. */
const WRITTEN = new Set<Json>(['text', 'thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use', 'compaction']);

/** What an answer of the Messages API tells, event by event or as a whole body. */
export class AnthropicAnswer extends Answer {
  protected readonly figures = new AnthropicUsage();

  /** What was told at the start is no cost where an error came before any output. */
  get usage(): Answer['usage'] {
    return this.sawError && !this.sawOutput && !this.figures.ended ? null : this.figures.usage;
  }

  /** Takes one event of a stream, or a whole body. */
  take(part: JsonObject, event: string | null): void {
    const before = this.texts;
    const { delta, message, content_block: block } = part;
    const type = part['type'] ?? event;
    if (type === 'error' || isObject(part['error'])) this.sawError = true;
    else if (type === 'message_start' && isObject(message)) this.#start(message);
    else if (type === 'content_block_start' && isObject(block)) this.#block(block);
    else if (type === 'content_block_delta' && isObject(delta)) this.#delta(delta);
    else if (type === 'message_delta') this.#costs(part['usage']);
    else if (type === 'message_stop') this.complete = true;
    else if (type === 'message' || Array.isArray(part['content'])) this.#whole(part);
    if (this.texts > before) this.outputPieces++;
  }

  #start(message: JsonObject): void {
    this.#names(message);
    const usage = message['usage'];
    if (!isObject(usage)) return;
    this.figures.takeStart(usage);
    this.serviceTier = nameOf(usage['service_tier']) ?? this.serviceTier;
  }

  #whole(message: JsonObject): void {
    this.#names(message);
    for (const block of listOf(message['content'])) if (isObject(block)) this.#block(block);
    this.#costs(message['usage']);
  }

  #names(message: JsonObject): void {
    this.responseId = idOf(message['id']) ?? this.responseId;
    this.model = nameOf(message['model']) ?? this.model;
  }

  #costs(usage: Json): void {
    if (!isObject(usage)) return;
    this.figures.take(usage);
    this.serviceTier = nameOf(usage['service_tier']) ?? this.serviceTier;
    this.lines = this.figures.lines(this.model, this.serviceTier);
  }

  #block(block: JsonObject): void {
    if (!WRITTEN.has(block['type'])) return;
    this.text(block['text']);
    this.text(block['thinking']);
    this.text(block['content']);
    this.text(block['name']);
    const { input } = block;
    // In a stream it is empty here and comes in deltas.
    if (isObject(input) && Object.keys(input).length > 0) this.text(JSON.stringify(input));
  }

  /** Of text, thinking, a call's input, or a summary; signatures and citations are no output. */
  #delta(delta: JsonObject): void {
    this.text(delta['text']);
    this.text(delta['thinking']);
    this.text(delta['partial_json']);
    this.text(delta['content']);
  }
}
