/** A path of each API. */
export const PATHS: readonly string[] = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/openai/deployments/gpt/chat/completions',
  '/v1/messages',
  '/model/anthropic.claude-3/converse-stream',
  '/model/anthropic.claude-3/invoke-with-response-stream',
  '/model/amazon.nova-lite-v1:0/invoke-with-response-stream',
  '/model/meta.llama3/invoke',
  '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
  '/v1beta/models/gemini-embedding-001:embedContent',
  '/api/chat',
  '/api/generate',
  '/api/embed',
];

const user = { role: 'user', content: 'Hello' };
const schema = { type: 'object', properties: { city: { type: 'string' } } };

/** Small requests of each API with most that they may hold. */
export const REQUESTS: readonly object[] = [
  { model: 'm', messages: [{ role: 'system', content: 'Be brief.' }, user], stream: true, max_tokens: 10, n: 2 },
  { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: 'What?' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] }], stream_options: { include_usage: false }, stream: true },
  { model: 'm', messages: [user, { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] }, { role: 'tool', tool_call_id: 'c', content: '4' }], tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] },
  { model: 'm', prompt: [[1, 2, 3]], max_tokens: 5, best_of: 2 },
  { model: 'm', prompt: 'Once', stream: true },
  { model: 'm', input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }], instructions: 'Be brief.', max_output_tokens: 9, previous_response_id: 'resp_1' },
  { model: 'm', input: ['a', 'b'] },
  { model: 'm', max_tokens: 20, system: [{ type: 'text', text: 'S', cache_control: { type: 'ephemeral' } }], messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] }], tools: [{ name: 'f', input_schema: schema }] },
  { anthropic_version: 'bedrock-2023-05-31', max_tokens: 9, messages: [user] },
  { messages: [{ role: 'user', content: [{ text: 'Hi' }] }], system: [{ text: 'S' }], inferenceConfig: { maxTokens: 7 }, toolConfig: { tools: [{ toolSpec: { name: 'f', inputSchema: { json: schema } } }] } },
  { prompt: 'Hi', max_gen_len: 12 },
  { contents: [{ role: 'user', parts: [{ text: 'Hi' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }] }], systemInstruction: { parts: [{ text: 'S' }] }, generationConfig: { maxOutputTokens: 8, candidateCount: 2 } },
  { content: { parts: [{ text: 'Hi' }] } },
  { model: 'm', messages: [{ role: 'user', content: 'Hi', images: ['iVBORw0KGgo='] }], options: { num_predict: 4 }, format: schema },
  { model: 'm', prompt: 'Hi', context: [1, 2], stream: false },
  { model: 'm', input: ['a'], truncate: true },
];
