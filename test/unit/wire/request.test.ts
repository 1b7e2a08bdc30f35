import { describe, expect, it } from 'vitest';
import type { RequestFacts, RequestFault } from '../../../src/domain/request.js';
import { openaiChat, openaiCompletions } from '../../../src/wire/openai/openai.js';
import type { WireApi } from '../../../src/domain/wire.js';
import { textsOf } from './recorded.js';

const HELLO = [{ role: 'user', content: 'hello' }];

function facts(body: unknown, api: WireApi = openaiChat): RequestFacts {
  const parsed = api.parseRequest(bytes(body));
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.facts;
}

function fault(body: unknown, api: WireApi = openaiChat): RequestFault {
  const parsed = api.parseRequest(bytes(body));
  if (parsed.ok) throw new Error('taken');
  return parsed.fault;
}

function bytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

const chat = (more: object) => facts({ model: 'm', messages: HELLO, ...more });
const completion = (more: object) => facts({ model: 'm', ...more }, openaiCompletions);

describe('facts of a chat request', () => {
  it('reads model, messages and text', () => {
    const read = facts({ model: 'gpt-x', messages: [{ role: 'system', content: 'be brief' }, { role: 'user', name: 'ann', content: 'hi' }] });
    expect(read).toMatchObject({ api: 'openai-chat', model: 'gpt-x', stream: false, usageRequested: false, outputCapTokens: null, choices: 1 });
    expect(read.prompt.messages).toBe(2);
    expect(read.prompt).toMatchObject({ system: textsOf('be brief'), text: textsOf('ann', 'hi') });
  });

  it('takes the larger of two output caps, and the number of choices', () => {
    expect(chat({ max_tokens: 10, max_completion_tokens: 70, n: 3 })).toMatchObject({ outputCapTokens: 70, choices: 3 });
    expect(chat({ max_tokens: null, max_completion_tokens: 7, n: null })).toMatchObject({ outputCapTokens: 7, choices: 1 });
    expect(chat({ n: 2, best_of: 5 }).choices).toBe(5);
    expect(chat({ max_tokens: 1e2 }).outputCapTokens).toBe(100);
  });

  it('lets llama.cpp’s own cap raise the others, or lift them, and never be one by itself', () => {
    expect(chat({ max_tokens: 10, n_predict: 50 }).outputCapTokens).toBe(50);
    expect(chat({ max_tokens: 10, n_predict: 1e300 }).outputCapTokens).toBe(2 ** 31 - 1);
    expect(chat({ max_tokens: 10, n_predict: 5 }).outputCapTokens).toBe(10);
    expect(chat({ max_tokens: 10, n_predict: -1 }).outputCapTokens).toBeNull();
    expect(chat({ n_predict: 5 }).outputCapTokens).toBeNull();
    expect(chat({ max_tokens: 10, n_predict: 'x' }).outputCapTokens).toBe(10);
  });

  it('tells session and kind of work, where the body does', () => {
    expect(chat({ metadata: { session_id: 's1' }, service_tier: 'flex' })).toMatchObject({ session: 's1', work: 'background' });
    expect(chat({ metadata: { session_id: 's'.repeat(300), user_id: 'u' }, service_tier: 'auto' })).toMatchObject({ session: null, work: null });
    expect(chat({ metadata: { user_id: 'u' } }).session).toBeNull();
  });

  it('leaves out what is no part of the prompt: predicted output, and what the answer is to be', () => {
    const more = { prediction: { type: 'content', content: 'much text' }, web_search_options: { search_context_size: 'low' }, modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' }, stop: ['END'], user: 'u' };
    expect(chat(more)).toEqual(chat({}));
  });

  it('takes a chat cap of zero for no cap, as servers do', () => {
    expect(chat({ max_tokens: 0 }).outputCapTokens).toBeNull();
    expect(chat({ max_tokens: 0, max_completion_tokens: 9 }).outputCapTokens).toBe(9);
  });

  it('knows whether the client asked for usage itself', () => {
    expect(chat({ stream: true, stream_options: { include_usage: true } })).toMatchObject({ stream: true, usageRequested: true });
    expect(chat({ stream: true, stream_options: { include_usage: false } }).usageRequested).toBe(false);
    expect(chat({ stream: true, stream_options: null }).usageRequested).toBe(false);
    expect(chat({ stream: null })).toMatchObject({ stream: false, usageRequested: false });
  });

  it('counts content that is null, missing, or a list, and tool calls with their results', () => {
    const call = { id: 'c', type: 'function', function: { name: 'w', arguments: '{"a":1}' } };
    const read = chat({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'ab' }, { type: 'text', text: 'cd' }] }, { role: 'assistant', content: null, tool_calls: [call] }, { role: 'assistant' }, { role: 'tool', tool_call_id: 'c', content: '12' }],
    });
    expect(read.prompt.messages).toBe(4);
    expect(read.prompt.text).toEqual(textsOf('ab', 'cd', 'w', '{"a":1}', '12'));
  });

  it('counts arguments that came as an object by their JSON', () => {
    const call = { function: { name: 'f', arguments: { city: 'Rome', days: 3 } } };
    expect(chat({ messages: [{ role: 'assistant', tool_calls: [call] }] }).prompt.text).toEqual(textsOf('f', '{"city":"Rome","days":3}'));
  });

  it('counts tools and the response schema apart', () => {
    const tools = [{ type: 'function', function: { name: 'f', description: 'does', parameters: { type: 'object', properties: {} } } }];
    const schema = { name: 's', schema: { type: 'object' } };
    const read = chat({ tools, response_format: { type: 'json_schema', json_schema: schema } });
    expect(read.prompt.tools).toBe(1);
    expect(read.prompt).toMatchObject({ toolText: textsOf(JSON.stringify(tools)), schema: textsOf(JSON.stringify(schema)), text: textsOf('hello') });
    expect(chat({ response_format: { type: 'json_object' } }).prompt.schema).toEqual(textsOf());
    const functions = [{ name: 'f', parameters: { type: 'object' } }];
    expect(chat({ functions }).prompt).toMatchObject({ tools: 1, toolText: textsOf(JSON.stringify(functions)) });
  });

  it('counts what vLLM lets a request bring besides its messages', () => {
    expect(chat({ documents: [{ title: 'ab', text: 'cde' }] }).prompt.text).toEqual(textsOf('ab', 'cde', 'hello'));
  });

  it('takes the last of duplicate keys', () => {
    const read = facts('{"model":"a","max_tokens":1,"messages":[],"model":"b","max_tokens":2}');
    expect(read).toMatchObject({ model: 'b', outputCapTokens: 2 });
  });

  it('skips a byte order mark', () => {
    expect(facts(`\uFEFF${JSON.stringify({ model: 'm', messages: HELLO })}`).model).toBe('m');
  });
});

describe('media in a prompt', () => {
  const base64 = 'A'.repeat(4000);
  const user = (...content: unknown[]) => chat({ messages: [{ role: 'user', content }] }).prompt;

  it.each([
    ['image', { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}`, detail: 'high' } }],
    ['image', { type: 'image_url', image_url: `data:image/png;base64,${base64}` }],
    ['video', { type: 'video_url', video_url: { url: `data:video/mp4;base64,${base64}` } }],
    ['audio', { type: 'input_audio', input_audio: { data: base64, format: 'wav' } }],
    ['file', { type: 'file', file: { file_data: base64 } }],
    ['file', { type: 'file', file: { file_data: `data:application/pdf;base64,${base64}` } }],
    ['image', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } }],
    ['image', { type: 'tool_result', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } }] }],
    ['file', { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: base64 } }],
    ['image', { inlineData: { mimeType: 'image/png', data: base64 } }],
    ['image', { image: { format: 'png', source: { bytes: base64 } } }],
    ['file', { type: 'brand_new_kind', payload: `data:application/x-new;base64,${base64}` }],
  ])('knows %s in %o by its bytes and not as text', (kind, block) => {
    const prompt = user(block, { type: 'text', text: 'see' });
    expect(prompt.media).toEqual([expect.objectContaining({ kind, bytes: 3000 })]);
    expect(prompt.text).toEqual(textsOf('see'));
  });

  it('has no length for what is only referred to', () => {
    expect(user({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }).media).toMatchObject([{ kind: 'image', bytes: null }]);
    expect(user({ type: 'file', file: { file_id: 'file-1' } })).toMatchObject({ media: [], references: [{ kind: 'file', id: 'file-1' }] });
  });

  it('counts text as text, whatever it looks like', () => {
    const text = `data:image/png;base64,${base64}`;
    expect(user({ type: 'text', text })).toMatchObject({ media: [] });
    expect(user({ type: 'text', text }).text).toEqual(textsOf(text));
    expect(chat({ messages: [{ role: 'user', content: text }] }).prompt.text).toEqual(textsOf(text));
    expect(user({ type: 'document', source: { type: 'text', data: 'plain words' } }).text).toEqual(textsOf('plain words'));
  });
});

describe('facts of a completions request', () => {
  it('reads a string, a list of strings, token ids and a list of those', () => {
    expect(completion({ prompt: 'abc' }).prompt.text).toEqual(textsOf('abc'));
    expect(completion({ prompt: ['ab', 'cde'], n: 2 })).toMatchObject({ api: 'openai-completions', choices: 4, prompt: { tokenIds: 0 } });
    expect(completion({ prompt: [1, 2, 3] })).toMatchObject({ choices: 1, prompt: { tokenIds: 3 } });
    expect(completion({ prompt: [[1, 2], [3, 4, 5]] })).toMatchObject({ choices: 2, prompt: { tokenIds: 5 } });
    expect(completion({ prompt: [], max_tokens: 0 })).toMatchObject({ choices: 1, outputCapTokens: 0 });
  });

  it('takes a prompt that vLLM gets as a tensor, with and without a text', () => {
    const tensor = 'A'.repeat(4000);
    expect(completion({ prompt_embeds: tensor }).prompt).toMatchObject({ media: [{ kind: 'file', bytes: 3000 }], text: textsOf() });
    expect(completion({ prompt: 'abc', prompt_embeds: [tensor, tensor] }).prompt).toMatchObject({ media: [{ bytes: 3000 }, { bytes: 3000 }], text: textsOf('abc') });
  });

  it.each([[{ a: 1 }], [5], [[1, 'a']], [['a', 1]], [[{}]], [[['a']]]])('refuses the prompt %o', (prompt) => {
    expect(fault({ model: 'm', prompt }, openaiCompletions)).toMatchObject({ kind: 'wrong_type', field: 'prompt' });
  });

  it('refuses no prompt', () => {
    expect(fault({ model: 'm' }, openaiCompletions)).toMatchObject({ kind: 'missing_field', field: 'prompt' });
  });
});

describe('bad input gets a clear fault', () => {
  it.each([
    ['invalid_json', null, '{"model":'],
    ['invalid_json', null, ''],
    ['invalid_json', null, '{"model":NaN}'],
    ['invalid_json', null, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])],
    ['invalid_json', null, Buffer.from(JSON.stringify({ model: 'm', messages: [] }), 'utf16le')],
    ['not_an_object', null, '[]'],
    ['not_an_object', null, 'null'],
    ['not_an_object', null, '"x"'],
    ['too_deep', null, `{"model":"m","messages":${'['.repeat(100)}${']'.repeat(100)}}`],
    ['too_deep', null, '['.repeat(1_000_000)],
    ['too_many', null, `{"model":"m","messages":[${'[],'.repeat(700_000)}[]]}`],
    ['missing_field', 'model', { messages: [] }],
    ['missing_field', 'model', { model: '', messages: [] }],
    ['wrong_type', 'model', { model: 5, messages: [] }],
    ['out_of_range', 'model', { model: 'm'.repeat(257), messages: [] }],
    ['missing_field', 'messages', { model: 'm' }],
    ['missing_field', 'messages', { model: 'm', messages: null }],
    ['wrong_type', 'messages', { model: 'm', messages: 'hi' }],
    ['wrong_type', 'messages[1]', { model: 'm', messages: [{}, 'hi'] }],
    ['wrong_type', 'stream', { model: 'm', messages: [], stream: 'true' }],
    ['wrong_type', 'stream_options', { model: 'm', messages: [], stream_options: [] }],
    ['wrong_type', 'stream_options.include_usage', { model: 'm', messages: [], stream_options: { include_usage: 1 } }],
    ['wrong_type', 'max_tokens', { model: 'm', messages: [], max_tokens: '5' }],
    ['out_of_range', 'max_tokens', { model: 'm', messages: [], max_tokens: -1 }],
    ['out_of_range', 'max_tokens', { model: 'm', messages: [], max_tokens: 1.5 }],
    ['out_of_range', 'max_tokens', { model: 'm', messages: [], max_tokens: 2 ** 31 }],
    ['out_of_range', 'max_tokens', '{"model":"m","messages":[],"max_tokens":1e999}'],
    ['out_of_range', 'max_completion_tokens', { model: 'm', messages: [], max_completion_tokens: -5 }],
    ['out_of_range', 'n', { model: 'm', messages: [], n: 0 }],
    ['out_of_range', 'n', { model: 'm', messages: [], n: 1e9 }],
    ['out_of_range', 'best_of', { model: 'm', messages: [], best_of: 0.5 }],
  ])('%s, field %s', (kind, field, body) => {
    const found = fault(body);
    expect(found).toMatchObject({ kind, field });
    expect(found.message).toMatch(/^The .*\.$/);
    if (field !== null) expect(found.message).toContain(field);
  });

  it.each([
    ['lists', `{"model":"m","messages":[],"x":[${'[],'.repeat(100_001)}1]}`],
    ['members of one object', `{"model":"m","messages":[],${Array.from({ length: 100_001 }, (_, i) => `"k${i}":1`).join(',')}}`],
    ['members of many objects', `{"model":"m","messages":[${Array.from({ length: 60_000 }, (_, i) => `{"k${i}":1}`).join(',')}]}`],
  ])('refuses more parts than a parser is quick with: %s', (_, body) => {
    expect(fault(body)).toMatchObject({ kind: 'too_many', field: null });
  });

  it('takes 99 levels below the body', () => {
    expect(facts(`{"model":"m","messages":[],"x":${'['.repeat(99)}${']'.repeat(99)}}`).model).toBe('m');
  });

  it('is not misled by brackets and quotes inside strings', () => {
    const text = `${'[{'.repeat(200)}\\"${'\\\\'.repeat(40)}" ${'"'.repeat(70)} ${'x'.repeat(200)}"[`;
    expect(chat({ messages: [{ role: 'user', content: text }] }).prompt.text).toEqual(textsOf(text));
  });

  it('reads 400 KB in a few milliseconds', () => {
    const body = bytes({ model: 'm', messages: [{ role: 'user', content: 'some words of text, '.repeat(20_000) }] });
    const times = Array.from({ length: 15 }, () => {
      const start = performance.now();
      openaiChat.parseRequest(body);
      return performance.now() - start;
    });
    expect(Math.min(...times)).toBeLessThan(5);
  });
});
