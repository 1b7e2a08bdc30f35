import { MAX_REFERENCE_LENGTH, type Media, type PromptContent, type PromptSink, type Reference } from '../../domain/request.js';
import { TextCounter } from '../../lib/text-features.js';
import { isObject, type Json, type JsonObject } from '../json/json.js';
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
  readonly #system = new TextCounter();
  readonly #text = new TextCounter();
  readonly #toolText = new TextCounter();
  readonly #schema = new TextCounter();
  readonly #references: Reference[] = [];
  readonly #media: Media[] = [];
  /** Where the text of what is being walked belongs. */
  #target = this.#text;
  #messages = 0;
  #tools = 0;
  #tokenIds = 0;

  /** `sink`: takes the text as well, in this order. */
  constructor(private readonly sink?: PromptSink) {}

  get content(): PromptContent {
    return {
      system: this.#system.features,
      text: this.#text.features,
      toolText: this.#toolText.features,
      schema: this.#schema.features,
      messages: this.#messages,
      tools: this.#tools,
      tokenIds: this.#tokenIds,
      media: this.#media,
      references: this.#references,
    };
  }

  /** Instructions that stand apart from the messages. */
  system(value: Json): void {
    this.#target = this.#system;
    this.#walk('system', value, null);
    this.#target = this.#text;
  }

  /** Something that the body only refers to. */
  reference(kind: Reference['kind'], id: Json): void {
    if (typeof id === 'string' && id !== '' && id.length <= MAX_REFERENCE_LENGTH) this.#references.push({ kind, id });
  }

  /** One message with its name, content, tool calls and results. */
  message(message: JsonObject): void {
    this.#messages++;
    const { role } = message;
    this.#target = role === 'system' || role === 'developer' ? this.#system : this.#text;
    this.sink?.add(`\n${typeof role === 'string' ? role : ''}\n`);
    this.#members(message, null);
    this.#target = this.#text;
  }

  /** Anything that is shown to the model: all its text, its media apart. */
  value(key: string, value: Json): void {
    this.#walk(key, value, null);
  }

  text(text: string): void {
    this.#add(text, this.#target);
  }

  /** So many tokens that were given by number. */
  tokens(count: number): void {
    this.#tokenIds += count;
  }

  /** Tool definitions: a list of them, or whatever the client sent instead. */
  tools(definitions: Json): void {
    if (Array.isArray(definitions)) this.#tools += definitions.length;
    this.#asJson(definitions, this.#toolText);
  }

  /** A schema that is shown to the model as JSON. */
  schema(value: Json): void {
    this.#asJson(value, this.#schema);
  }

  #asJson(value: Json, target: TextCounter): void {
    if (value !== undefined && value !== null) this.#add(JSON.stringify(value), target);
  }

  #add(text: string, target: TextCounter): void {
    target.add(text);
    this.sink?.add(text);
  }

  // Recursion is bounded: the body was refused if nested deeper than MAX_DEPTH.
  #walk(key: string, value: Json, around: Media['kind'] | null): void {
    if (NO_TEXT.has(key)) return;
    if (typeof value === 'string') this.#string(key, value, around);
    else if (typeof value !== 'object' || value === null) return;
    else if (SHOWN_AS_JSON.has(key)) this.#asJson(value, this.#target);
    else if (Array.isArray(value)) for (const item of value) this.#walk(key, item, around);
    else if (isObject(value)) this.#members(value, mediaMember(key, value) ?? around);
  }

  #members(object: JsonObject, around: Media['kind'] | null): void {
    const kind = kindWithin(object, around);
    for (const key of Object.keys(object)) this.#walk(key, object[key], kind);
  }

  #string(key: string, value: string, around: Media['kind'] | null): void {
    const media = mediaOf(key, value, around);
    if (media === null) this.#add(value, this.#target);
    else this.#media.push(media);
  }
}
