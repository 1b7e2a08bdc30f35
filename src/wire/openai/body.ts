import type { Api, ParsedRequest, PromptSink, RequestFacts } from '../../domain/request.js';
import { fallbackModels } from '../fallbacks.js';
import { Fields } from '../json/fields.js';
import { parseBody, type Json, type JsonObject } from '../json/json.js';
import { PromptCollector } from '../prompt/collector.js';
import { labelsOf } from '../prompt/labels.js';
import { refuseSecondMeanings } from '../second-meanings.js';

/** Whose body it is, and what is known beside it. */
export interface Reading {
  readonly api: Api;
  /** The model that counts, whatever the body says: that of the path, or what `nameOf` makes of the body. Null: the body's own. */
  readonly named: string | null | ((body: JsonObject) => string | null);
  readonly sink: PromptSink | undefined;
}

/** What each API tells in its own fields; the rest is read alike in all of them. */
export type Told = Pick<RequestFacts, 'outputCapTokens' | 'choices'> & Partial<Pick<RequestFacts, 'stream' | 'usageRequested' | 'background'>>;

/** Reads a body of one of OpenAI's APIs. `take` collects its prompt and tells the rest. Never throws. */
export function readBody(bytes: Buffer, { api, named, sink }: Reading, take: (fields: Fields, prompt: PromptCollector) => Told): ParsedRequest {
  const parsed = parseBody(bytes);
  if (!parsed.ok) return parsed;
  const model = typeof named === 'function' ? named(parsed.value) : named;
  const fields = new Fields(model === null ? parsed.value : { ...parsed.value, model });
  const prompt = new PromptCollector(sink, parsed.texts);
  const name = fields.model();
  refuseSecondMeanings(fields);
  const told = take(fields, prompt);
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  return { ok: true, facts: factsOf(api, name, told, fields.body, prompt.content) };
}

/** Field by field, as everything that each request makes: an object spread (`{ ...told }`) lives until the next collection of the old generation. */
function factsOf(api: Api, model: string, told: Told, body: JsonObject, prompt: RequestFacts['prompt']): RequestFacts {
  const { session, work } = labelsOf(body);
  return {
    api,
    model,
    otherModels: fallbackModels(body),
    stream: told.stream ?? false,
    usageRequested: told.usageRequested ?? false,
    outputCapTokens: told.outputCapTokens,
    choices: told.choices,
    background: told.background ?? false,
    prompt,
    session,
    work,
  };
}

/** Adds a prompt as a text, a list of texts, token ids, or a list of those; returns how many prompts there are, null where it is none of these. */
export function takePrompts(value: Json, prompt: PromptCollector): number | null {
  if (typeof value === 'string') {
    prompt.text(value);
    return 1;
  }
  if (!Array.isArray(value)) return null;
  if (typeof value[0] === 'number') return prompt.tokenPrompt(value) ? 1 : null;
  const taken = value.every((item) => {
    if (typeof item === 'string') prompt.text(item);
    return typeof item === 'string' || prompt.tokenPrompt(item);
  });
  return taken ? Math.max(1, value.length) : null;
}
