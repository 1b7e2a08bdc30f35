import { describe, expect, it } from 'vitest';
import { ollamaChat, ollamaEmbed, ollamaGenerate } from '../../../../src/wire/ollama/ollama.js';
import { ollamaRoute } from '../../../../src/wire/ollama/routes.js';
import { factsOf, faultOf, isEmpty, promptOf } from '../local/read.js';

const MESSAGES = [{ role: 'user', content: 'Hello there' }];
const chat = (more: object) => factsOf(ollamaChat, { model: 'llama3', messages: MESSAGES, ...more });
const generate = (more: object) => factsOf(ollamaGenerate, { model: 'llama3', prompt: 'Hello there', ...more });

describe('facts of /api/chat', () => {
  it('streams unless it is told not to', () => {
    expect([undefined, null, true, false].map((stream) => chat({ stream }).stream)).toEqual([true, true, true, false]);
    expect(faultOf(ollamaChat, { model: 'm', stream: 'no' })).toMatchObject({ kind: 'wrong_type', field: 'stream' });
  });

  it('has messages with their calls, tools and pictures', () => {
    const body = {
      model: 'llama3',
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Hello there', images: ['AAAA', 'AAAAAAAA'] },
        { role: 'assistant', content: '', thinking: 'A thought', tool_calls: [{ function: { name: 'look', arguments: { place: 'Rome' } } }] },
        { role: 'tool', tool_name: 'look', content: 'warm' },
      ],
      tools: [{ type: 'function', function: { name: 'look' } }],
    };
    const { prompt, ...facts } = factsOf(ollamaChat, body);
    expect(facts).toMatchObject({ api: 'ollama-chat', model: 'llama3', stream: true, usageRequested: false, outputCapTokens: null, choices: 1 });
    expect(prompt).toMatchObject({ messages: 4, tools: 1, media: [{ kind: 'image', bytes: 3 }, { kind: 'image', bytes: 6 }] });
    expect(isEmpty(prompt.system) || isEmpty(prompt.text) || isEmpty(prompt.toolText)).toBe(false);
    const text = promptOf(ollamaChat, body);
    for (const word of ['Be brief', 'Hello there', 'A thought', '{"place":"Rome"}', 'warm']) expect(text).toContain(word);
  });

  it.each([[100, 100], [7.9, 7], [1e300, 2 ** 31 - 1], [0, null], [-1, null], [-2, null], [null, null], [undefined, null]])('takes num_predict %j for the cap %j', (num_predict, cap) => {
    expect(chat({ options: { num_predict, num_ctx: 4096 } }).outputCapTokens).toBe(cap);
  });

  it('keeps a schema apart; the word json is none', () => {
    expect(isEmpty(chat({ format: { type: 'object' } }).prompt.schema)).toBe(false);
    expect(isEmpty(chat({ format: 'json' }).prompt.schema)).toBe(true);
  });

  it.each([{}, { messages: null }, { messages: [], keep_alive: 0 }])('admits %j: it only loads or unloads the model', (more) => {
    expect(factsOf(ollamaChat, { model: 'llama3', ...more }).prompt.messages).toBe(0);
  });

  it.each([
    [{}, 'missing_field', 'model'],
    [{ model: 'm', messages: 'x' }, 'wrong_type', 'messages'],
    [{ model: 'm', messages: [5] }, 'wrong_type', 'messages[0]'],
    [{ model: 'm', options: 5 }, 'wrong_type', 'options'],
    [{ model: 'm', options: { num_predict: '5' } }, 'wrong_type', 'options.num_predict'],
  ])('refuses %j', (body, kind, field) => {
    expect(faultOf(ollamaChat, body)).toMatchObject({ kind, field });
  });
});

describe('facts of /api/generate', () => {
  it('has prompt, suffix, template and system', () => {
    const body = { model: 'llama3', prompt: 'Hello there', suffix: 'the end', template: 'TEMPLATE', system: 'Be brief', images: ['AAAA'], raw: true };
    expect(factsOf(ollamaGenerate, body)).toMatchObject({ api: 'ollama-generate', stream: true, prompt: { messages: 0, media: [{ kind: 'image', bytes: 3 }] } });
    expect(isEmpty(factsOf(ollamaGenerate, body).prompt.system)).toBe(false);
    for (const word of ['Hello there', 'the end', 'TEMPLATE', 'Be brief']) expect(promptOf(ollamaGenerate, body)).toContain(word);
  });

  it('counts the conversation so far by its ids, however many they are', () => {
    expect(generate({ context: [1, 2, 3] }).prompt.tokenIds).toBe(3);
    expect(generate({ context: [] }).prompt.tokenIds).toBe(0);
    expect(generate({ context: Array.from({ length: 50_000 }, (_, id) => id) }).prompt.tokenIds).toBe(50_000);
    for (const context of ['1', [1, 'x'], {}]) expect(faultOf(ollamaGenerate, { model: 'm', context })).toMatchObject({ kind: 'wrong_type', field: 'context' });
  });

  it('takes a prompt for text, whatever it looks like', () => {
    const prompt = `data:image/png;base64,${'A'.repeat(1000)}`;
    expect(generate({ prompt }).prompt.media).toEqual([]);
    expect(generate({ system: prompt }).prompt.media).toEqual([]);
  });

  it('admits a request without a prompt', () => {
    const { prompt } = factsOf(ollamaGenerate, { model: 'llama3' });
    expect([isEmpty(prompt.text), prompt.tokenIds, prompt.messages]).toEqual([true, 0, 0]);
  });

  it.each(['prompt', 'system', 'suffix', 'template'])('names the field %s where it is no text', (field) => {
    expect(faultOf(ollamaGenerate, { model: 'm', [field]: [1] })).toMatchObject({ kind: 'wrong_type', field });
  });
});

describe('facts of embeddings', () => {
  it.each([{ input: 'Hello' }, { input: ['Hel', 'lo'] }, { prompt: 'Hello' }])('%j: the text, and no output', (body) => {
    expect(factsOf(ollamaEmbed, { model: 'm', ...body })).toMatchObject({ api: 'ollama-embed', stream: false, outputCapTokens: 0, choices: 1 });
    expect(promptOf(ollamaEmbed, { model: 'm', ...body })).toBe('Hello');
  });

  it.each([5, {}, [5], [['x']]])('refuses the input %j', (input) => {
    expect(faultOf(ollamaEmbed, { model: 'm', input })).toMatchObject({ kind: 'wrong_type', field: 'input' });
  });
});

describe('paths of Ollama', () => {
  it.each([['/api/chat', 'ollama-chat'], ['/api/generate', 'ollama-generate'], ['/api/embed', 'ollama-embed'], ['/api/embeddings', 'ollama-embed']])('knows %s', (path, name) => {
    expect(ollamaRoute(path)?.api).toBe(name);
  });

  it.each(['', '/', '/api', '/api/pull', '/api/show', '/api/chat/completions', '/chat', '/API/chat'])('does not know %j', (path) => {
    expect(ollamaRoute(path)).toBeNull();
  });
});
