import type { ScriptedAnswer } from '../../../src/upstream/script.js';
import { sseStream, type Told } from '../framing.js';
import { member, streamed, TEXT, TOLD, whole, WORDS, type TypedEvent } from './said.js';

const USAGE = {
  prompt_tokens: TOLD.input, completion_tokens: TOLD.output, total_tokens: TOLD.input + TOLD.output,
  prompt_tokens_details: { cached_tokens: TOLD.cached, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: TOLD.reasoning, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
};

/** Chat, completions, responses and embeddings, also by Azure's paths, whose streams begin with a chunk of its own. */
export function openaiAnswer(path: string, json: unknown): ScriptedAnswer | null {
  const model = member(json, 'model') ?? 'of-the-deployment';
  const stream = member(json, 'stream') === true;
  const asked = member(member(json, 'stream_options'), 'include_usage') === true;
  if (path.endsWith('/chat/completions')) return stream ? streamed(chatStream(model, asked, path.includes('/deployments/'))) : whole(chatWhole(model));
  if (path.endsWith('/completions')) return stream ? streamed(completionStream(model, asked)) : whole(completion(model, TEXT, 'stop', USAGE));
  if (path.endsWith('/responses')) return stream ? streamed(sseStream(responseEvents(model))) : whole(response(model, 'completed'));
  if (path.endsWith('/embeddings')) return whole(embeddings(model, json));
  return null;
}

function chatWhole(model: unknown): object {
  const message = { role: 'assistant', content: TEXT, refusal: null, annotations: [] };
  return { id: 'chatcmpl-s', object: 'chat.completion', created: 1, model, choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }], usage: USAGE };
}

function chatStream(model: unknown, asked: boolean, azure: boolean): Buffer {
  const chunk = (choices: readonly object[], usage: object | null): Told => ({
    data: { id: 'chatcmpl-s', object: 'chat.completion.chunk', created: 1, model, choices, ...(asked ? { usage } : {}) },
  });
  const choice = (delta: object, finish_reason: string | null = null): object => ({ index: 0, delta, logprobs: null, finish_reason });
  const filters: Told = { data: { id: '', object: '', created: 0, model: '', choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }] } };
  return sseStream([
    ...(azure ? [filters] : []),
    chunk([choice({ role: 'assistant', content: '', refusal: null })], null),
    ...WORDS.map((content) => chunk([choice({ content })], null)),
    chunk([choice({}, 'stop')], null),
    ...(asked ? [chunk([], USAGE)] : []),
    { data: '[DONE]' },
  ]);
}

function completion(model: unknown, text: string, finish_reason: string | null, usage?: object | null): object {
  return { id: 'cmpl-s', object: 'text_completion', created: 1, model, choices: [{ index: 0, text, logprobs: null, finish_reason }], ...(usage === undefined ? {} : { usage }) };
}

function completionStream(model: unknown, asked: boolean): Buffer {
  const none = asked ? null : undefined;
  return sseStream([
    ...WORDS.map((text) => ({ data: completion(model, text, null, none) })),
    { data: completion(model, '', 'stop', none) },
    ...(asked ? [{ data: { ...completion(model, '', null, USAGE), choices: [] } }] : []),
    { data: '[DONE]' },
  ]);
}

const PART = { type: 'output_text', text: TEXT, annotations: [], logprobs: [] };
const ITEM = { type: 'message', id: 'msg_s', status: 'completed', role: 'assistant', content: [PART] };

/** A response object; `queued` is what `background: true` is answered with. */
export function response(model: unknown, status: 'in_progress' | 'completed' | 'queued'): object {
  const done = status === 'completed';
  const usage = {
    input_tokens: TOLD.input, input_tokens_details: { cached_tokens: TOLD.cached }, output_tokens: TOLD.output,
    output_tokens_details: { reasoning_tokens: TOLD.reasoning }, total_tokens: TOLD.input + TOLD.output,
  };
  return {
    id: 'resp_s', object: 'response', created_at: 1, status, error: null, incomplete_details: null, instructions: null, model,
    output: done ? [ITEM] : [], parallel_tool_calls: true, previous_response_id: null, tool_choice: 'auto', tools: [], metadata: {}, usage: done ? usage : null,
  };
}

function responseEvents(model: unknown): Told[] {
  const place = { item_id: 'msg_s', output_index: 0, content_index: 0 };
  const events: TypedEvent[] = [
    { type: 'response.created', response: response(model, 'in_progress') },
    { type: 'response.in_progress', response: response(model, 'in_progress') },
    { type: 'response.output_item.added', output_index: 0, item: { ...ITEM, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, part: { ...PART, text: '' } },
    ...WORDS.map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...place, text: TEXT, logprobs: [] },
    { type: 'response.content_part.done', ...place, part: PART },
    { type: 'response.output_item.done', output_index: 0, item: ITEM },
    { type: 'response.completed', response: response(model, 'completed') },
  ];
  return events.map((event, sequence_number) => ({ event: event.type, data: { ...event, sequence_number } }));
}

const VECTOR = [0.5, -0.25, 1];

function embeddings(model: unknown, json: unknown): object {
  const input = member(json, 'input');
  const base64 = member(json, 'encoding_format') === 'base64';
  const embedding = base64 ? Buffer.from(new Float32Array(VECTOR).buffer).toString('base64') : VECTOR;
  const data = (Array.isArray(input) ? input : [input]).map((_, index) => ({ object: 'embedding', index, embedding }));
  return { object: 'list', data, model, usage: { prompt_tokens: TOLD.input, total_tokens: TOLD.input } };
}
