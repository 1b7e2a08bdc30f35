import type { ParsedRequest, PromptSink } from '../../domain/request.js';
import { NO_USAGE } from '../../domain/usage.js';
import { Fields } from '../json/fields.js';
import { isObject, listOf, parseBody, type Json, type JsonObject } from '../json/json.js';
import { PromptCollector } from '../prompt/collector.js';
import { Answer, nameOf, tokenCount } from '../stream/answer.js';
import { shownContent } from './contents.js';

/** Ways to ask for embeddings, by the last word of the path. */
export type EmbedMethod = 'embedContent' | 'batchEmbedContents' | 'predict';

/** The member that holds what is embedded. */
const HOLDS: Record<EmbedMethod, string> = { embedContent: 'content', batchEmbedContents: 'requests', predict: 'instances' };

/** Reads a body that asks for embeddings. `model`: named by the path. Never throws. */
export function parseEmbed(body: Buffer, method: EmbedMethod, model: string, sink?: PromptSink): ParsedRequest {
  const parsed = parseBody(body);
  if (!parsed.ok) return parsed;
  const fields = new Fields({ ...parsed.value, model });
  const prompt = new PromptCollector(sink, parsed.texts);
  const named = fields.model();
  const held = fields.required(HOLDS[method]);
  if (method !== 'embedContent' && held !== undefined && !Array.isArray(held)) fields.fail('wrong_type', HOLDS[method], `The field \`${HOLDS[method]}\` must be a list.`);
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  for (const item of method === 'embedContent' ? [parsed.value] : listOf(held)) if (isObject(item)) takeItem(item, prompt);
  const facts = { api: 'gemini-embed-content', model: named, stream: false, usageRequested: false, outputCapTokens: 0, choices: 1, prompt: prompt.content } as const;
  return { ok: true, facts: { ...facts, session: null, work: null, background: false } };
}

/** One text, or what else is embedded; Vertex names a picture's bytes in a way of its own. */
function takeItem(item: JsonObject, prompt: PromptCollector): void {
  prompt.value('title', item['title']);
  prompt.value('content', shownContent(item['content'], prompt));
  prompt.value('text', item['text']);
  for (const kind of ['image', 'video'] as const) {
    const media = item[kind];
    if (!isObject(media)) continue;
    prompt.media(kind, media['bytesBase64Encoded']);
    prompt.reference('file', media['gcsUri']);
  }
}

/** What an answer with embeddings tells. Gemini's own tells no usage in most versions; Vertex tells it for each text. */
export class GeminiEmbedAnswer extends Answer {
  #input: number | null = null;

  get usage(): Answer['usage'] {
    return this.#input === null ? null : { ...NO_USAGE, inputTokens: this.#input };
  }

  take(part: JsonObject): void {
    if (isObject(part['error'])) this.sawError = true;
    this.model = nameOf(part['modelVersion']) ?? this.model;
    const usage = part['usageMetadata'];
    const told = isObject(usage) ? tokenCount(usage['promptTokenCount']) : null;
    this.#input = told ?? predictedTokens(part['predictions']) ?? this.#input;
  }
}

/** Tokens of all texts of one answer; null where it tells none. */
function predictedTokens(predictions: Json): number | null {
  const told = listOf(predictions).map(statisticsTokens).filter((count) => count !== null);
  return told.length === 0 ? null : tokenCount(told.reduce((sum, count) => sum + count, 0));
}

function statisticsTokens(prediction: Json): number | null {
  const embeddings = isObject(prediction) ? prediction['embeddings'] : null;
  const statistics = isObject(embeddings) ? embeddings['statistics'] : null;
  return isObject(statistics) ? tokenCount(statistics['token_count']) : null;
}
