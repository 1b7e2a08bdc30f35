import type { ParsedRequest, PromptSink } from '../../domain/request.js';
import { Fields } from '../json/fields.js';
import { isObject, listOf, parseBody, type Json, type JsonObject } from '../json/json.js';
import { PromptCollector } from '../prompt/collector.js';
import { labelsOf } from '../prompt/labels.js';
import { shownContent, takeContent } from './contents.js';
import { member, members, protoCount } from './proto.js';

/** Most answers one request may ask for; Google takes eight. */
const MAX_CANDIDATES = 4096;

/** What the path of a call tells. */
export interface Called {
  readonly model: string;
  readonly stream: boolean;
}

/** Reads a body of `generateContent` or `streamGenerateContent`. Never throws. */
export function parseGenerateContent(body: Buffer, { model, stream }: Called, sink?: PromptSink): ParsedRequest {
  const parsed = parseBody(body);
  if (!parsed.ok) return parsed;
  const fields = new Fields({ ...parsed.value, model });
  const prompt = new PromptCollector(sink, parsed.texts);
  const configs = members(parsed.value, 'generationConfig').filter(isObject);
  const named = fields.model();
  const outputCapTokens = largestCap(fields, configs);
  const choices = Math.max(1, ...configs.map((config) => protoCount(fields, member(config, 'candidateCount'), 'generationConfig.candidateCount', 0, MAX_CANDIDATES) ?? 1));
  takePrompt(fields, configs, prompt);
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  const labels = geminiLabels(parsed.value);
  return { ok: true, facts: { api: 'gemini-generate-content', model: named, stream, usageRequested: false, outputCapTokens, choices, prompt: prompt.content, ...labels, background: false } };
}

/** In the order in which the model sees it. */
function takePrompt(fields: Fields, configs: readonly JsonObject[], prompt: PromptCollector): void {
  const { body } = fields;
  const contents = fields.required('contents');
  if (contents === undefined) return;
  if (body['tools'] !== undefined && body['tools'] !== null) prompt.tools(definitionsOf(body['tools']));
  for (const instruction of members(body, 'systemInstruction')) prompt.system(shownContent(instruction, prompt));
  for (const content of Array.isArray(contents) ? contents : [contents]) takeContent(content, prompt);
  for (const config of configs) {
    for (const name of ['responseSchema', 'responseJsonSchema'] as const) prompt.schema(member(config, name));
    prompt.schema(config['_responseJsonSchema']);
  }
  prompt.reference('cached_content', member(body, 'cachedContent'));
}

/** The largest cap of all places, thoughts included (Google counts them against it); null without one. Zero is none. */
function largestCap(fields: Fields, configs: readonly JsonObject[]): number | null {
  const caps = configs.flatMap((config) => members(config, 'maxOutputTokens')).map((cap) => protoCount(fields, cap, 'generationConfig.maxOutputTokens', 0) ?? 0);
  return Math.max(0, ...caps) || null;
}

/** Functions one by one, out of the groups in which they come; tools of Google's own as they are. */
function definitionsOf(tools: Json): Json[] {
  return (Array.isArray(tools) ? tools : [tools]).flatMap((tool) => {
    const functions = isObject(tool) ? listOf(member(tool, 'functionDeclarations')) : [];
    return functions.length > 0 ? functions : [tool];
  });
}

/** Session and kind of work: Vertex has `labels`, Gemini a service tier. */
function geminiLabels(body: JsonObject): ReturnType<typeof labelsOf> {
  const tier = member(body, 'serviceTier');
  return labelsOf({ metadata: isObject(body['labels']) ? body['labels'] : body['metadata'], service_tier: typeof tier === 'string' ? tier.toLowerCase() : null });
}
