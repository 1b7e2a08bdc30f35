import type { ParsedRequest, PromptSink } from '../../domain/request.js';
import { parseMessagesRequest } from '../anthropic/request.js';
import { Fields } from '../json/fields.js';
import { isObject, listOf, parseBody, type Json } from '../json/json.js';
import { PromptCollector } from '../prompt/collector.js';
import { labelsOf } from '../prompt/labels.js';
import { outputCap } from './caps.js';
import { markedMedia, shownBlocks, shownMessage, shownTools } from './content.js';
import { familyOf } from './family.js';

/** Read by their own rules, before all other members. */
const STRUCTURE = new Set(['model', 'tools', 'toolConfig', 'response_format', 'system', 'messages']);
/** What no model sees as text. All else is taken for text: a family's new member must not be a way past the limits. */
const PARAMETERS = new Set([
  'anthropic_version', 'anthropic_beta', 'schemaVersion', 'metadata', 'service_tier', 'inferenceConfig', 'textGenerationConfig', 'imageGenerationConfig', 'stop', 'stop_sequences',
  'stopSequences', 'tool_choice', 'toolChoice', 'truncate', 'input_type', 'embedding_types', 'embeddingTypes', 'embeddingConfig', 'taskType', 'task_type', 'api_version',
  'return_likelihoods', 'reasoning_effort', 'thinking', 'logit_bias', 'prompt_truncation', 'output_format', 'aspect_ratio', 'style_preset', 'mode', 'amazon-bedrock-guardrailConfig',
]);
/** Names of how many answers are generated. */
const CHOICES = ['n', 'best_of', 'num_generations', 'numResults', 'num_return_sequences'];
const MAX_CHOICES = 4096;

/**
 * Reads a body of InvokeModel; the path names the model. Claude's bodies are those of the Messages API, all other families' are read alike:
 * their members do not clash, and whatever is no known parameter counts as text. Never throws.
 */
export function parseInvokeRequest(bytes: Buffer, named: string, stream: boolean, sink?: PromptSink): ParsedRequest {
  const family = familyOf(named);
  if (family === 'claude') {
    const read = parseMessagesRequest(bytes, { model: named, stream }, sink);
    return read.ok ? { ok: true, facts: { ...read.facts, api: 'bedrock-invoke' } } : read;
  }
  const parsed = parseBody(bytes);
  if (!parsed.ok) return parsed;
  const fields = new Fields({ ...parsed.value, model: named });
  const prompt = new PromptCollector(sink, parsed.texts);
  const model = fields.model();
  const cap = outputCap(fields);
  const choices = Math.max(1, ...CHOICES.map((name) => fields.count(name, 0, MAX_CHOICES) ?? 1));
  takePrompt(fields, prompt);
  if (fields.fault !== null) return { ok: false, fault: fields.fault };
  const outputCapTokens = family === 'vectors' ? 0 : cap;
  const labels = labelsOf(fields.body, ['session_id', 'user_id']);
  return { ok: true, facts: { api: 'bedrock-invoke', model, stream, usageRequested: false, outputCapTokens, choices, prompt: prompt.content, ...labels, background: false } };
}

function takePrompt({ body }: Fields, prompt: PromptCollector): void {
  const { toolConfig, response_format: format, messages } = body;
  prompt.tools(body['tools']);
  prompt.tools(shownTools(isObject(toolConfig) ? toolConfig['tools'] : null));
  prompt.schema(isObject(format) ? (format['json_schema'] ?? format['schema']) : null);
  prompt.system(shownBlocks(body['system']));
  // In an order that does not depend on that of the body.
  for (const key of Object.keys(body).sort()) if (!STRUCTURE.has(key) && !PARAMETERS.has(key)) prompt.value(key, markedMedia(key, body[key]));
  if (!Array.isArray(messages)) prompt.value('messages', messages);
  for (const message of listOf(messages)) takeMessage(message, prompt);
}

function takeMessage(message: Json, prompt: PromptCollector): void {
  if (isObject(message)) prompt.message(shownMessage(message));
  else prompt.value('messages', message);
}
