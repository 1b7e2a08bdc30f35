import { MAX_REFERENCE_LENGTH, type Media, type PromptContent, type PromptSink, type Reference } from '../../domain/request.js';
import { isObject, type Json, type JsonObject } from '../json/json.js';
import { isMarker, LongText, NO_TEXTS, type Long, type Texts } from '../json/texts.js';
import { EngineOrder, type Stage } from './engine-order.js';
import { aroundMember, aroundWithin, mediaElsewhere, mediaOf, NOTHING_AROUND, type Around } from './media.js';
import type { Payload } from './payload.js';
import { countTexts, PromptText, type Piece } from './sample.js';

/** Members that no model sees as text: ids, kinds, marks for the server, and sealed reasoning. */
const NO_TEXT = new Set([
  'id', 'type', 'role', 'index', 'tool_call_id', 'tool_use_id', 'call_id', 'status', 'detail', 'format', 'cache_control', 'media_type', 'mime_type',
  'mimeType', 'annotations', 'signature', 'thought_signature', 'thoughtSignature', 'encrypted_content', 'logprobs',
]);

/** Names a file that the provider keeps: what it costs is remembered, where it was used before. */
const FILE_ID = 'file_id';

/** Longer ones are text. */
const MAX_ROLE_LENGTH = 64;

/** Pictures and sounds whose own headers are read, of one body: no provider takes more but Gemini (3,000), whose pictures cost alike for the most part. */
const MAX_HEADERS = 600;

/** Members whose value, where it is no string, is shown to the model as JSON. */
const SHOWN_AS_JSON = new Set(['arguments', 'input', 'args', 'json']);

/**
 * Collects what a prompt consists of. Never throws, whatever the values are; linear in their size. Texts are only gathered; they are
 * counted, and shown to a sink in the order in which an engine sees them, when `content` is asked for.
 */
export class PromptCollector {
  readonly #system = new PromptText();
  readonly #text = new PromptText();
  readonly #toolText = new PromptText();
  readonly #schema = new PromptText();
  readonly #references: Reference[] = [];
  readonly #media: Media[] = [];
  readonly #order: EngineOrder | null;
  /** Where the text of what is being walked belongs. */
  #target = this.#text;
  #stage: Stage = 'messages';
  #messages = 0;
  #tools = 0;
  #tokenIds = 0;

  /** `sink`: takes the text as well. `texts`: of the body whose values are collected, where it came from `parseBody`. */
  constructor(
    sink?: PromptSink,
    private readonly texts: Texts = NO_TEXTS,
  ) {
    this.#order = sink === undefined ? null : new EngineOrder(sink);
  }

  /** All that was collected. The sink gets it at the first call. */
  get content(): PromptContent {
    const [system, text, toolText, schema] = countTexts([this.#system, this.#text, this.#toolText, this.#schema]);
    this.#order?.flush();
    return {
      system: system!,
      text: text!,
      toolText: toolText!,
      schema: schema!,
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
    this.#stage = 'system';
    this.#walk('system', value, NOTHING_AROUND);
    this.#target = this.#text;
    this.#stage = 'messages';
  }

  /** Something that the body only refers to. A file behind an address too long to remember counts as one of unknown length. */
  reference(kind: Reference['kind'], id: Json): void {
    if (typeof id !== 'string' || id === '') return;
    if (isMarker(id)) this.#media.push(...(kind === 'file' ? [mediaElsewhere('file')] : []));
    else if (id.length <= MAX_REFERENCE_LENGTH) this.#references.push({ kind, id });
  }

  /** One message with its name, content, tool calls and results. */
  message(message: JsonObject): void {
    this.#messages++;
    const { role } = message;
    this.#target = role === 'system' || role === 'developer' ? this.#system : this.#text;
    this.#order?.add(this.#stage, `\n${typeof role === 'string' ? role : ''}\n`, 'role');
    // A role is a word or two, and templates show whatever is in its place.
    if (typeof role === 'string' && (role.length > MAX_ROLE_LENGTH || isMarker(role))) this.text(role);
    this.#members(message, NOTHING_AROUND);
    this.#target = this.#text;
  }

  /** Anything that is shown to the model: all its text, its media apart. */
  value(key: string, value: Json): void {
    this.#walk(key, value, NOTHING_AROUND);
  }

  /** A prompt's text, whatever it looks like. */
  text(text: string): void {
    const long = this.texts.find(text);
    if (long === null || long instanceof LongText) this.#add(long ?? text, this.#target, this.#stage);
    else this.tokenPrompt(text);
  }

  /** A picture, sound, film or file in base64 (or in a `data:` URL), or its address; a list of them as well. */
  media(kind: Media['kind'], value: Json): void {
    if (Array.isArray(value)) for (const item of value) this.media(kind, item);
    else if (typeof value === 'string') this.#string('data', value, { ...NOTHING_AROUND, kind });
  }

  /** So many tokens that were given by number. */
  tokens(count: number): void {
    this.#tokenIds += count;
  }

  /** A prompt that was given as a list of token ids: each is a token. False for anything else, of which nothing is taken. */
  tokenPrompt(value: Json): boolean {
    const long = typeof value === 'string' ? this.texts.find(value) : null;
    if (long !== null && !(long instanceof LongText)) return this.#ids(long.count, long);
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'number')) return false;
    return this.#ids(value.length, null, value);
  }

  /** Tool definitions: a list of them, or whatever the client sent instead. */
  tools(definitions: Json): void {
    if (Array.isArray(definitions)) this.#tools += definitions.length;
    this.#asJson(definitions, this.#toolText, 'tools');
  }

  /** A schema that is shown to the model as JSON. */
  schema(value: Json): void {
    this.#asJson(value, this.#schema, 'schema');
  }

  #ids(count: number, long: Long | null, list: readonly Json[] = []): true {
    this.tokens(count);
    this.#order?.add(this.#stage, long ?? JSON.stringify(list));
    return true;
  }

  #asJson(value: Json, target: PromptText, stage: Stage): void {
    if (value === undefined || value === null) return;
    const json = JSON.stringify(this.#order === null ? value : sorted(value));
    this.texts.inJson(json).forEach((piece, index) => {
      this.#add(piece, target, stage, index > 0);
    });
  }

  #add(piece: Piece, target: PromptText, stage: Stage, joined = false): void {
    target.add(piece, joined);
    this.#order?.add(stage, piece);
  }

  // Recursion is bounded: the body was refused if nested deeper than MAX_DEPTH.
  #walk(key: string, value: Json, around: Around): void {
    if (NO_TEXT.has(key)) return;
    if (typeof value === 'string') this.#string(key, value, around);
    else if (typeof value !== 'object' || value === null) return;
    else if (SHOWN_AS_JSON.has(key)) this.#asJson(value, this.#target, this.#stage);
    else if (Array.isArray(value)) for (const item of value) this.#walk(key, item, around);
    else if (isObject(value)) this.#members(value, aroundMember(key, around));
  }

  #members(object: JsonObject, around: Around): void {
    const within = aroundWithin(object, around);
    const keys = Object.keys(object);
    for (const key of this.#order === null ? keys : keys.sort()) this.#walk(key, object[key], within);
  }

  #string(key: string, value: string, around: Around): void {
    if (key === FILE_ID) {
      this.reference('file', value);
      this.#order?.media(this.#stage, value);
      return;
    }
    const long = this.texts.find(value);
    if (long !== null && !(long instanceof LongText)) {
      if (SHOWN_AS_JSON.has(key)) this.#add(long, this.#target, this.#stage);
      return;
    }
    const written: Payload = long ?? value;
    const media = mediaOf(key, written, around, this.#media.length < MAX_HEADERS);
    if (media === null) {
      this.#add(written, this.#target, this.#stage);
      return;
    }
    this.#media.push(media);
    this.#order?.media(this.#stage, written);
  }
}

/** The same value with its members in the order of their names, so that equal values give equal JSON. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}
