import type { ParsedRequest, PromptSink } from '../../domain/request.js';
import { Fields } from '../json/fields.js';
import { isObject, listOf, parseBody, type Json, type JsonObject } from '../json/json.js';
import { PromptCollector } from '../prompt/collector.js';
import { Answer, nameOf, tokenCount } from '../stream/answer.js';
import { largestCap, MAX_CHOICES } from './caps.js';
import { modelOf } from './model.js';
import { takePrompts } from './prompts.js';
import { Results } from './results.js';

/** Where the prompt is: with TGI, SGLang, and vLLM's old server. */
const PROMPTS = ['inputs', 'text', 'input_ids', 'prompt'];

/**
 * Reads a body of `POST /generate`, by which three servers mean the same in other words: TGI (`inputs`, `parameters`), SGLang (`text`
 * or `input_ids`, `sampling_params`) and vLLM's old server (`prompt`). `stream`: the path asks for a stream. Never throws.
 */
export function parseGenerate(stream: boolean, body: Buffer, sink?: PromptSink): ParsedRequest {
  const parsed = parseBody(body);
  if (!parsed.ok) return parsed;
  const fields = new Fields(parsed.value);
  const prompt = new PromptCollector(sink, parsed.texts);
  const model = modelOf(fields);
  const streams = fields.flag('stream') || stream;
  const settings = [parsed.value['parameters'], ...[parsed.value['sampling_params']].flat()].filter(isObject);
  const outputCapTokens = outputCap(fields, settings);
  const choices = Math.max(1, fields.count('n', 0, MAX_CHOICES) ?? 1, ...settings.flatMap(({ n, best_of: best }) => [n, best]).map(choicesOf));
  const prompts = takeAll(fields, prompt);
  for (const [kind, field] of [['image', 'image_data'], ['audio', 'audio_data'], ['video', 'video_data']] as const) prompt.media(kind, parsed.value[field]);
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  const facts = { api: 'openai-completions', model, stream: streams, usageRequested: false, outputCapTokens, choices: choices * prompts, prompt: prompt.content } as const;
  return { ok: true, facts: { ...facts, session: null, work: null, background: false } };
}

/** The largest cap of all prompts. */
function outputCap(fields: Fields, settings: readonly JsonObject[]): number | null {
  const caps = settings.map(({ max_new_tokens }) => largestCap(fields, { max_new_tokens }));
  const top = largestCap(fields, { max_tokens: fields.body['max_tokens'], max_new_tokens: fields.body['max_new_tokens'] });
  const told = [...caps, top].filter((cap) => cap !== null);
  return told.length === 0 ? null : Math.max(...told);
}

function choicesOf(value: Json): number {
  return typeof value === 'number' && value >= 1 ? Math.min(MAX_CHOICES, Math.trunc(value)) : 1;
}

/** Returns the number of prompts. */
function takeAll(fields: Fields, prompt: PromptCollector): number {
  const given = PROMPTS.filter((field) => (fields.body[field] ?? undefined) !== undefined);
  if (given.length === 0) fields.required(PROMPTS[0]!);
  const counts = given.map((field) => {
    const prompts = takePrompts(fields.body[field], prompt);
    if (prompts === null) fields.fail('wrong_type', field, `The field \`${field}\` must be a string, a list of token ids, or a list of those.`);
    return prompts ?? 1;
  });
  return Math.max(1, ...counts);
}

/** What an answer of `/generate` tells, chunk by chunk or as a whole body. */
export class GenerateAnswer extends Answer {
  readonly #results = new Results();
  /** Length of each result's text until now. */
  readonly #longest = new Map<string, number>();
  #sawFinish = false;

  get usage(): Answer['usage'] {
    return this.#results.usage;
  }

  take(part: JsonObject): void {
    const before = this.texts;
    this.model = nameOf(part['model']) ?? this.model;
    this.error(part['error']);
    const { token, details, meta_info: meta } = part;
    // TGI's stream tells each token, and at its end all of them once more.
    if (isObject(token)) this.text(token['text']);
    else this.#texts(part, isObject(meta) ? meta['id'] : null);
    if (this.texts > before) this.outputPieces++;
    if (isObject(details)) this.#tgi(details);
    if (isObject(meta)) this.#sglang(part, meta);
  }

  override endsWhole(): boolean {
    return this.complete || (this.#sawFinish && !this.sawError);
  }

  #texts(part: JsonObject, id: Json): void {
    this.text(part['generated_text']);
    this.#grown(id, 0, part['text']);
    listOf(part['text']).forEach((text, index) => {
      this.#grown(id, index, text);
    });
  }

  /** SGLang and vLLM send all that was said until now, each time: only what is new counts. */
  #grown(id: Json, index: number, text: Json): void {
    if (typeof text !== 'string') return;
    const key = `${typeof id === 'string' ? id : ''} ${index}`;
    const seen = this.#longest.get(key) ?? 0;
    if (text.length <= seen) return;
    if (seen > 0 || this.#longest.size < MAX_CHOICES) this.#longest.set(key, text.length);
    this.text(text.slice(seen));
  }

  #tgi(details: JsonObject): void {
    const prefill = Array.isArray(details['prefill']) && details['prefill'].length > 0 ? details['prefill'].length : null;
    this.#results.take(null, { input: tokenCount(details['input_length']) ?? prefill, cached: null, output: tokenCount(details['generated_tokens']) });
    if (typeof details['finish_reason'] === 'string') this.#sawFinish = true;
  }

  #sglang(part: JsonObject, meta: JsonObject): void {
    this.#results.take(meta['id'] ?? part['index'], { input: tokenCount(meta['prompt_tokens']), cached: tokenCount(meta['cached_tokens']), output: tokenCount(meta['completion_tokens']) });
    if (meta['finish_reason'] !== undefined && meta['finish_reason'] !== null) this.#sawFinish = true;
  }
}
