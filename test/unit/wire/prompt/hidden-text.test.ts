import { describe, expect, it } from 'vitest';
import { createEstimator } from '../../../../src/estimate/estimator.js';
import { routeOf } from '../../../../src/wire/routes.js';

const WORDS = 'The quick brown fox jumps over the lazy dog. '.repeat(2000);
/** What it is at the very least, by any tokenizer. */
const LEAST = 15_000;
const NUMBERS = Array.from({ length: 20_000 }, (_, i) => i);
const PICTURE = `data:image/png;base64,${WORDS}`;
const ENCODED = Buffer.from(WORDS).toString('base64');

function tokens(path: string, body: object): number {
  const route = routeOf('POST', path);
  if (route.kind !== 'metered') throw new Error(`${path} is ${route.kind}`);
  const parsed = route.api.parseRequest(Buffer.from(JSON.stringify({ model: 'm', ...body })));
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return createEstimator().prompt('a', parsed.facts).tokens;
}
const said = (message: object, content: unknown = 'x') => ({ messages: [{ role: 'user', content, ...message }] });

describe('text in places where a reader may not look for it (no way to a prompt that counts as none)', () => {
  it.each([
    ['a role, which templates show as it is', '/v1/chat/completions', said({ role: WORDS })],
    ['a role of Gemini', '/v1beta/models/m:generateContent', { contents: [{ role: WORDS, parts: [] }] }],
    ['a name that looks like a picture', '/v1/chat/completions', said({ name: PICTURE })],
    ['the output of a function that looks like a picture', '/v1/responses', { input: [{ type: 'function_call_output', call_id: 'c', output: PICTURE }] }],
    ['the input of a tool that looks like a picture', '/v1/responses', { input: [{ type: 'custom_tool_call', call_id: 'c', name: 'n', input: PICTURE }] }],
    ['a variable that looks like a picture', '/v1/responses', { input: 'x', prompt: { id: 'p', variables: { a: PICTURE } } }],
    ['the title of a document that looks like a file', '/v1/messages', said({}, [{ type: 'document', title: `data:,${WORDS}`, source: { type: 'text', data: 'x' } }])],
    ['a prompt of Llama that looks like a picture', '/model/meta.llama3/invoke', { prompt: PICTURE }],
    ['a text of Titan that looks like a file', '/model/amazon.titan/invoke', { inputText: `data:,${WORDS}` }],
    ['a text to rank that looks like a picture', '/rerank', { query: 'q', documents: [{ title: PICTURE }] }],
    ['a plain file', '/v1/chat/completions', said({}, [{ type: 'file', file: { file_data: `data:text/plain;base64,${ENCODED}` } }])],
    ['a plain document', '/model/m.x/converse', said({}, [{ document: { format: 'txt', name: 'n', source: { bytes: ENCODED } } }])],
    ['plain inline data', '/v1beta/models/m:generateContent', { contents: [{ parts: [{ inlineData: { mimeType: 'text/markdown', data: ENCODED } }] }] }],
    ['what is put into a template', '/v1/chat/completions', { ...said({}), chat_template_kwargs: { date_string: WORDS } }],
    ['a list of many numbers as a result', '/model/m.x/converse', said({}, [{ toolResult: { toolUseId: 't', content: [{ json: NUMBERS }] } }])],
    ['a list of many numbers as arguments', '/v1/messages', said({}, [{ type: 'tool_use', id: 'i', name: 'n', input: NUMBERS }])],
    ['a text beside a result', '/v1beta/models/m:generateContent', { contents: [{ parts: [{ text: WORDS, functionResponse: { name: 'n', response: {} } }] }] }],
    ['the other name of the instructions', '/v1beta/models/m:generateContent', { contents: [], systemInstruction: { parts: [] }, system_instruction: { parts: [{ text: WORDS }] } }],
    ['fields for the model’s own API', '/model/m.x/converse', { ...said({}, [{ text: 'x' }]), additionalModelRequestFields: { tools: [{ name: 'n', description: WORDS }] } }],
  ])('%s', (_, path, body) => {
    expect(tokens(path, body)).toBeGreaterThan(LEAST);
  });

  it('pictures in places of pictures are not text', () => {
    const url = `data:image/png;base64,${'AAAA'.repeat(20_000)}`;
    for (const block of [{ type: 'image_url', image_url: { url } }, { type: 'input_image', image_url: url }, { type: 'image', image: url }, { type: 'image', picture: url }]) {
      expect(tokens('/v1/chat/completions', said({}, [block]))).toBeLessThan(2000);
    }
    expect(tokens('/v1/embeddings', { input: { image: url } })).toBeLessThan(2000);
  });
});
