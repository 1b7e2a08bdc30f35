import type { Media, PromptContent } from '../domain/request.js';
import { countText, noText } from '../lib/text-counts.js';
import { isObject, type Json, type JsonObject } from './json.js';
import { kindWithin, mediaMember, mediaOf } from './media.js';

/** Members that no model sees as text: ids, kinds, marks for the server, and sealed reasoning. */
const NO_TEXT = new Set([
  'id', 'type', 'role', 'index', 'tool_call_id', 'tool_use_id', 'call_id', 'status', 'detail', 'format', 'cache_control', 'media_type', 'mime_type',
  'mimeType', 'annotations', 'signature', 'thought_signature', 'thoughtSignature', 'encrypted_content', 'logprobs',
]);

/** Members whose value, where it is no string, is shown to the model as JSON. */
const SHOWN_AS_JSON = new Set(['arguments', 'input', 'args', 'json']);

/** Collects what a prompt consists of. Never throws, whatever the values are; linear in their size. */
export class PromptCollector {
  readonly #text = noText();
  readonly #schema = noText();
  readonly #media: Media[] = [];
  #messages = 0;
  #tools = 0;
  #tokenIds = 0;

  get content(): PromptContent {
    return { text: this.#text, schema: this.#schema, messages: this.#messages, tools: this.#tools, tokenIds: this.#tokenIds, media: this.#media };
  }

  /** One message with its name, content, tool calls and results. */
  message(message: JsonObject): void {
    this.#messages++;
    this.#members(message, null);
  }

  /** Anything that is shown to the model: all its text, its media apart. */
  value(key: string, value: Json): void {
    this.#walk(key, value, null);
  }

  text(text: string): void {
    countText(text, this.#text);
  }

  /** So many tokens that were given by number. */
  tokens(count: number): void {
    this.#tokenIds += count;
  }

  /** Tool definitions: a list of them, or whatever the client sent instead. */
  tools(definitions: Json): void {
    if (Array.isArray(definitions)) this.#tools += definitions.length;
    this.schema(definitions);
  }

  /** A schema that is shown to the model as JSON. */
  schema(value: Json): void {
    if (value !== undefined && value !== null) countText(JSON.stringify(value), this.#schema);
  }

  // Recursion is bounded: the body was refused if nested deeper than MAX_DEPTH.
  #walk(key: string, value: Json, around: Media['kind'] | null): void {
    if (NO_TEXT.has(key)) return;
    if (typeof value === 'string') this.#string(key, value, around);
    else if (typeof value !== 'object' || value === null) return;
    else if (SHOWN_AS_JSON.has(key)) countText(JSON.stringify(value), this.#text);
    else if (Array.isArray(value)) for (const item of value) this.#walk(key, item, around);
    else if (isObject(value)) this.#members(value, mediaMember(key, value) ?? around);
  }

  #members(object: JsonObject, around: Media['kind'] | null): void {
    const kind = kindWithin(object, around);
    for (const key of Object.keys(object)) this.#walk(key, object[key], kind);
  }

  #string(key: string, value: string, around: Media['kind'] | null): void {
    const media = mediaOf(key, value, around);
    if (media === null) countText(value, this.#text);
    else this.#media.push(media);
  }
}
