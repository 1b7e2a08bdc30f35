const chat = (choices: object[], more: object = {}) => ({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_750_000_000, model: 'm-1', system_fingerprint: 'fp', choices, ...more });
const choice = (delta: object, more: object = {}) => ({ index: 0, delta, logprobs: null, finish_reason: null, ...more });
const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15, prompt_tokens_details: { cached_tokens: 4 } };
const output = { item_id: 'msg_1', output_index: 0, content_index: 0, sequence_number: 5 };
const block = (delta: object) => ({ type: 'content_block_delta', index: 0, delta });
const gemini = (parts: object[], more: object = {}) => ({ candidates: [{ content: { parts, role: 'model' }, index: 0 }], modelVersion: 'g-1', responseId: 'r', ...more });

/** Parts of streams as the APIs send them, each as its JSON text. */
export const SHAPES: readonly string[] = [
  chat([choice({ role: 'assistant', content: '' })]),
  chat([choice({ content: 'Hello' })]),
  chat([choice({ content: 'Hello' }, { index: 1 })], { usage: null, obfuscation: 'abc' }),
  chat([choice({ content: 'a' }), choice({ content: 'b' }, { index: 1 })]),
  chat([choice({ reasoning: 'Hm', reasoning_content: 'Hm' })]),
  chat([choice({ reasoning: 'Hm', reasoning_details: [{ type: 'reasoning.text', text: 'Hm', index: 0 }] })]),
  chat([choice({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'get', arguments: '' } }] })]),
  chat([choice({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] })]),
  chat([choice({ content: 'a' }, { logprobs: { content: [{ token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [] }] } })]),
  chat([choice({ content: 'run' })], { usage }),
  chat([choice({}, { finish_reason: 'stop' })]),
  chat([choice({ content: '' })], { usage }),
  chat([], { usage }),
  { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'm', choices: [{ text: ' a', index: 0, logprobs: null, finish_reason: null }] },
  { error: { message: 'overloaded', type: 'server_error' } },
  { type: 'response.created', response: { id: 'resp_1', model: 'm', status: 'in_progress', output: [], usage: null }, sequence_number: 0 },
  { type: 'response.output_item.added', output_index: 0, item: { id: 'fc_1', type: 'function_call', name: 'get', arguments: '' }, sequence_number: 2 },
  { type: 'response.output_text.delta', ...output, delta: 'Hello', logprobs: [], obfuscation: 'xyz' },
  { type: 'response.function_call_arguments.delta', ...output, delta: '{"a"' },
  { type: 'response.reasoning_summary_text.delta', ...output, delta: 'Hm' },
  { type: 'response.output_text.done', ...output, text: 'Hello' },
  { type: 'response.output_item.done', output_index: 0, item: { id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] } },
  { type: 'response.output_item.done', output_index: 1, item: { id: 'msg_2', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Bye' }] } },
  { type: 'response.completed', response: { id: 'resp_1', model: 'm', status: 'completed', output: [], usage: { input_tokens: 9, output_tokens: 4, total_tokens: 13 } } },
  { type: 'message_start', message: { id: 'msg_1', model: 'c', content: [], usage: { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 2 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'toolu_1', name: 'get', input: {} } },
  block({ type: 'text_delta', text: 'Hello' }),
  block({ type: 'thinking_delta', thinking: 'Hm' }),
  block({ type: 'input_json_delta', partial_json: '{"a"' }),
  block({ type: 'signature_delta', signature: 'EqQB' }),
  { type: 'ping' },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 15 } },
  { type: 'message_stop' },
  { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
  gemini([{ text: 'Hello' }]),
  gemini([{ text: 'Hm', thought: true }], { usageMetadata: { promptTokenCount: 8, totalTokenCount: 12 } }),
  gemini([{ functionCall: { name: 'get', args: { city: 'Rome' } } }]),
  { model: 'l', created_at: '2024-01-01T00:00:00Z', message: { role: 'assistant', content: 'Hello' }, done: false },
  { model: 'l', created_at: '2024-01-01T00:00:00Z', response: 'Hello', done: false },
  { model: 'l', created_at: '2024-01-01T00:00:00Z', response: '', done: true, prompt_eval_count: 17, eval_count: 5 },
  { index: 0, content: 'Hello', tokens: [1], stop: false, id_slot: 0, tokens_predicted: 1, tokens_evaluated: 5 },
  { index: 0, content: '', tokens: [7, 8], stop: true, timings: { prompt_n: 5, cache_n: 2, predicted_n: 9 } },
  { index: 1, token: { id: 5, text: 'Hello', logprob: -0.5, special: false }, generated_text: null, details: null },
  { index: 2, token: { id: 5, text: '.', logprob: -1, special: false }, generated_text: 'Hello.', details: { finish_reason: 'length', generated_tokens: 2, input_length: 4 } },
  { text: 'Hello', meta_info: { id: 'g1', prompt_tokens: 4, completion_tokens: 1, finish_reason: null } },
  { text: 'Hello world', meta_info: { id: 'g1', prompt_tokens: 4, completion_tokens: 2, finish_reason: null } },
  { text: ['Hello', 'Bye'] },
].map((part) => JSON.stringify(part));

/** Cuts bytes at the given places, each taken modulo the length. */
export function chunk(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return at.map((end, index) => bytes.subarray(index === 0 ? 0 : at[index - 1], end));
}
