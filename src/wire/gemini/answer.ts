import { isObject, listOf, type Json, type JsonObject } from '../json/json.js';
import { Answer, idOf, nameOf } from '../stream/answer.js';
import { GeminiUsage } from './usage.js';

/** What an answer of `generateContent` or `streamGenerateContent` tells, chunk by chunk or as a whole body. */
export class GeminiAnswer extends Answer {
  readonly #usage = new GeminiUsage();
  /** A candidate told its end, or the prompt was blocked. */
  #sawFinish = false;

  get usage(): Answer['usage'] {
    return this.#usage.usage;
  }

  take(part: JsonObject): void {
    this.responseId = idOf(part['responseId']) ?? this.responseId;
    this.model = nameOf(part['modelVersion']) ?? this.model;
    this.error(part['error']);
    const feedback = part['promptFeedback'];
    if (isObject(feedback) && typeof feedback['blockReason'] === 'string') this.#sawFinish = true;
    for (const candidate of listOf(part['candidates'])) if (isObject(candidate)) this.#candidate(candidate);
    const usage = part['usageMetadata'];
    if (!isObject(usage)) return;
    this.#usage.take(usage);
    this.serviceTier = nameOf(usage['serviceTier']) ?? nameOf(usage['trafficType']) ?? this.serviceTier;
  }

  /** There is no mark of the end but the reason for it. */
  override endsWhole(): boolean {
    return this.complete || (this.#sawFinish && !this.sawError);
  }

  #candidate(candidate: JsonObject): void {
    const before = this.texts;
    const { content } = candidate;
    if (isObject(content)) for (const part of listOf(content['parts'])) if (isObject(part)) this.#part(part);
    if (this.texts > before) this.outputPieces++;
    if (typeof candidate['finishReason'] === 'string') this.#sawFinish = true;
  }

  #part(part: JsonObject): void {
    this.text(part['text']);
    for (const name of ['functionCall', 'toolCall']) this.#call(part[name]);
    const code = part['executableCode'];
    if (isObject(code)) this.text(code['code']);
    // A picture or sound: output that no text tells of.
    if (isObject(part['inlineData'])) this.sawOutput = true;
  }

  #call(call: Json): void {
    if (!isObject(call)) return;
    this.text(call['name']);
    if (isObject(call['args'])) this.text(JSON.stringify(call['args']));
    for (const piece of listOf(call['partialArgs'])) if (isObject(piece)) this.text(piece['stringValue']);
  }
}
