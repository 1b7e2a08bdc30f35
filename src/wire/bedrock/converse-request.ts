import type { ParsedRequest, PromptSink } from '../../domain/request.js';
import { switchesReasoningOn } from '../anthropic/request.js';
import { Fields } from '../json/fields.js';
import { isObject, MAX_DEPTH, parseBody, parseText, type Json, type JsonObject } from '../json/json.js';
import { deeperThan } from '../json/scan.js';
import { PromptCollector } from '../prompt/collector.js';
import { labelsOf } from '../prompt/labels.js';
import { messagesOf } from '../prompt/messages.js';
import { outputCap } from './caps.js';
import { shownBlocks, shownMessage, shownTools } from './content.js';

/** Prompts that are kept with Bedrock and called by their ARN in place of a model: `arn:aws:bedrock:REGION:ACCOUNT:prompt/ID:VERSION`. */
const KEPT_PROMPT = /^arn:[^/]*:prompt\//;

/** Reads a body of Converse or ConverseStream; the path names the model, and which of the two it is. Never throws. */
export function parseConverseRequest(bytes: Buffer, named: string, stream: boolean, sink?: PromptSink): ParsedRequest {
  const parsed = parseBody(bytes);
  if (!parsed.ok) return parsed;
  const body: JsonObject = { ...parsed.value, model: named };
  const fields = new Fields(body);
  const prompt = new PromptCollector(sink, parsed.texts);
  const model = fields.model();
  const outputCapTokens = outputCap(fields);
  const config = fields.object('toolConfig');
  prompt.tools(shownTools(config?.['tools']));
  prompt.schema(schemaOf(body));
  if (KEPT_PROMPT.test(model)) takeKeptPrompt(model, body, prompt);
  prompt.system(shownBlocks(body['system']));
  // What the model's own API takes besides, such as tools that Converse does not know.
  prompt.value('additionalModelRequestFields', body['additionalModelRequestFields']);
  const messages = KEPT_PROMPT.test(model) && (body['messages'] ?? null) === null ? [] : messagesOf(fields, 'messages');
  for (const message of messages) prompt.message(shownMessage(message));
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  return { ok: true, facts: { api: 'bedrock-converse', model, stream, usageRequested: false, outputCapTokens, choices: 1, prompt: prompt.content, ...labels(body), background: false, reasoning: reasons(body['additionalModelRequestFields']) } };
}

/** Each model family has its own name for it. */
function reasons(fields: Json): boolean {
  return isObject(fields) && ['thinking', 'reasoning_config', 'reasoningConfig'].some((name) => switchesReasoningOn(fields[name]));
}

/** Its text is not in the body, only what is put into it. */
function takeKeptPrompt(model: string, body: JsonObject, prompt: PromptCollector): void {
  prompt.reference('file', model);
  prompt.value('promptVariables', body['promptVariables']);
}

/** The schema of `outputConfig.textFormat.structure.jsonSchema`: a text that holds JSON, which is what the model is shown. */
function schemaOf(body: JsonObject): Json {
  const path = ['outputConfig', 'textFormat', 'structure', 'jsonSchema', 'schema'];
  const schema = path.reduce<Json>((value, key) => (isObject(value) ? value[key] : undefined), body);
  const shallow = typeof schema === 'string' && !deeperThan(Buffer.from(schema), MAX_DEPTH);
  return (shallow ? parseText(schema) : undefined) ?? schema;
}

/** Converse has names of its own for what other APIs call `metadata` and `service_tier`. */
function labels({ requestMetadata, serviceTier }: JsonObject): ReturnType<typeof labelsOf> {
  return labelsOf({ metadata: requestMetadata, service_tier: isObject(serviceTier) ? serviceTier['type'] : null }, ['session_id', 'sessionId']);
}
