import { describe, expect, it } from 'vitest';
import type { WireApi } from '../../../../src/domain/wire.js';
import { embedding, generate, invocations, llamaCompletion, llamaInfill, rerank, score } from '../../../../src/wire/local/local.js';
import { localRoute } from '../../../../src/wire/local/routes.js';
import { factsOf, faultOf, isEmpty, promptOf } from './read.js';

const complete = (body: object) => factsOf(llamaCompletion, { prompt: 'Hello there', ...body });

describe('facts of /completion', () => {
  it('takes a body without a model for the one model that the server holds', () => {
    expect(complete({})).toMatchObject({ api: 'llamacpp-completion', model: 'default', stream: false, usageRequested: false, outputCapTokens: null, choices: 1, background: false });
    expect(complete({ model: '' }).model).toBe('default');
    expect(complete({ model: 'gemma', stream: true })).toMatchObject({ model: 'gemma', stream: true });
    expect(faultOf(llamaCompletion, { prompt: 'x', model: 5 })).toMatchObject({ kind: 'wrong_type', field: 'model' });
  });

  it.each([
    ['a text', 'Hello', 1, 0, 'Hello'],
    ['token ids', [1, 2, 3], 1, 3, null],
    ['ids and texts mixed', [1, 'Hello', 2, 3], 1, 3, 'Hello'],
    ['several texts', ['Hel', 'lo'], 2, 0, 'Hello'],
    ['several prompts of all kinds', ['Hello', [1, 2], [3, '!'], { prompt_string: '?' }], 4, 3, 'Hello'],
    ['nothing', [], 1, 0, ''],
  ])('takes a prompt that is %s', (_, prompt, choices, tokenIds, text) => {
    expect(complete({ prompt })).toMatchObject({ choices, prompt: { tokenIds, messages: 0 } });
    if (text !== null) expect(promptOf(llamaCompletion, { prompt })).toContain(text);
  });

  it('takes very many ids', () => {
    const ids = Array.from({ length: 50_000 }, (_, id) => id);
    expect(complete({ prompt: ids })).toMatchObject({ choices: 1, prompt: { tokenIds: 50_000 } });
    expect(complete({ prompt: [ids, ids] })).toMatchObject({ choices: 2, prompt: { tokenIds: 100_000 } });
  });

  it('has media apart', () => {
    const { prompt } = complete({ prompt: { prompt_string: 'What is <__media__>', multimodal_data: ['AAAA'] } });
    expect(prompt.media).toMatchObject([{ kind: 'image', bytes: 3 }]);
    expect(complete({ prompt: 'data:image/png;base64,AAAA' }).prompt.media).toEqual([]);
  });

  it.each([
    [{ n_predict: 5 }, 5], [{ n_predict: 5, max_tokens: 70 }, 70], [{ max_completion_tokens: 9 }, 9], [{ n_predict: 0 }, 0], [{ n_predict: -1 }, null], [{ n_predict: -1, max_tokens: 9 }, null],
    [{ n_predict: null }, null], [{ n_predict: 7.9 }, 7], [{ n_predict: 1e300 }, 2 ** 31 - 1],
  ])('takes from %j the cap %j', (body, cap) => {
    expect(complete(body).outputCapTokens).toBe(cap);
  });

  it('multiplies choices by prompts', () => {
    expect(complete({ n: 3, prompt: ['a', 'b'] }).choices).toBe(6);
    expect(complete({ n_cmpl: 4 }).choices).toBe(4);
  });

  it.each([
    [{}, 'missing_field', 'prompt'], [{ prompt: null }, 'missing_field', 'prompt'], [{ prompt: 5 }, 'wrong_type', 'prompt'], [{ prompt: [null] }, 'wrong_type', 'prompt'], [{ prompt: {} }, 'wrong_type', 'prompt'],
    [{ prompt: 'x', n_predict: '5' }, 'wrong_type', 'n_predict'], [{ prompt: 'x', n: 1e9 }, 'out_of_range', 'n'], [{ prompt: 'x', stream: 1 }, 'wrong_type', 'stream'],
  ])('refuses %j', (body, kind, field) => {
    expect(faultOf(llamaCompletion, body)).toMatchObject({ kind, field });
  });

  it('keeps a schema apart', () => {
    expect(isEmpty(complete({ json_schema: { type: 'object' } }).prompt.schema)).toBe(false);
  });
});

describe('facts of /infill', () => {
  it('has what stands around the gap, and in other files', () => {
    const body = { input_prefix: 'def f(', input_suffix: '): pass', input_extra: [{ filename: 'a.py', text: 'import os' }], prompt: 'x', n_predict: 8 };
    expect(factsOf(llamaInfill, body)).toMatchObject({ api: 'llamacpp-completion', model: 'default', outputCapTokens: 8, choices: 1 });
    for (const text of ['def f(', '): pass', 'a.py', 'import os', 'x']) expect(promptOf(llamaInfill, body)).toContain(text);
    expect(faultOf(llamaInfill, { input_prefix: {} })).toMatchObject({ kind: 'wrong_type', field: 'input_prefix' });
  });
});

describe('facts of APIs that read only', () => {
  it.each<[string, WireApi, object, string[]]>([
    ['rerank', rerank, { model: 'm', query: 'Who', documents: ['Anna', { text: 'Bob' }], top_n: 1 }, ['Who', 'Anna', 'Bob']],
    ['rerank', rerank, { model: 'm', query: 'Who', texts: ['Anna'] }, ['Who', 'Anna']],
    ['rerank', score, { model: 'm', text_1: 'Who', text_2: ['Anna', 'Bob'] }, ['Who', 'Anna', 'Bob']],
    ['rerank', score, { model: 'm', queries: ['Who'], documents: ['Anna'] }, ['Who', 'Anna']],
    ['openai-embeddings', embedding, { model: 'm', input: ['Anna', 'Bob'] }, ['Anna', 'Bob']],
    ['openai-embeddings', embedding, { model: 'm', content: 'Anna' }, ['Anna']],
    ['openai-embeddings', embedding, { model: 'm', texts: ['Anna'] }, ['Anna']],
    ['openai-embeddings', embedding, { model: 'm', inputs: 'Anna' }, ['Anna']],
    ['openai-embeddings', embedding, { model: 'm', messages: [{ role: 'user', content: 'Anna' }] }, ['Anna']],
  ])('%s: all texts, and no output', (name, api, body, texts) => {
    expect(factsOf(api, body)).toMatchObject({ api: name, model: 'm', stream: false, outputCapTokens: 0, choices: 1 });
    expect(factsOf(api, { ...body, model: undefined }).model).toBe('default');
    for (const text of texts) expect(promptOf(api, body)).toContain(text);
  });

  it('has ids and pictures apart', () => {
    expect(factsOf(embedding, { input: [[1, 2], [3]] }).prompt.tokenIds).toBe(3);
    expect(factsOf(embedding, { images: ['data:image/png;base64,AAAA'] }).prompt.media).toMatchObject([{ kind: 'image', bytes: 3 }]);
    const picture = { content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] };
    expect(factsOf(score, { data_1: 'Who', data_2: picture }).prompt.media).toMatchObject([{ kind: 'image', bytes: 3 }]);
    expect(factsOf(rerank, { query: 'data:image/png;base64,AAAA', documents: ['x'] }).prompt.media).toEqual([]);
  });

  it.each<[WireApi, object, string]>([[rerank, {}, 'query'], [rerank, { query: 'x' }, 'documents'], [score, {}, 'text_1'], [score, { text_1: 'x' }, 'text_2'], [embedding, { input: null }, 'input']])('names what is missing (%#)', (api, body, field) => {
    expect(faultOf(api, body)).toMatchObject({ kind: 'missing_field', field });
  });

  it('survives what clients should not send', () => {
    for (const value of [5, true, {}, [null, 5, [[[]]]], [{ text: 5 }], '']) {
      expect(factsOf(rerank, { query: value, documents: value }).outputCapTokens).toBe(0);
      expect(factsOf(embedding, { input: value, messages: value, images: value }).outputCapTokens).toBe(0);
    }
  });
});

describe('facts of /generate', () => {
  const body = (more: object) => factsOf(generate(false), more);

  it.each([
    ['TGI', { inputs: 'Hello', parameters: { max_new_tokens: 9, best_of: 2 } }, 9, 2],
    ['SGLang', { text: ['Hello', 'you'], sampling_params: { max_new_tokens: 9, n: 2 }, stream: false }, 9, 4],
    ['SGLang', { text: ['Hello', 'you'], sampling_params: [{ max_new_tokens: 9 }, { max_new_tokens: 20 }] }, 20, 2],
    ['vLLM', { prompt: 'Hello', max_tokens: 9, n: 3 }, 9, 3],
    ['TGI', { inputs: 'Hello', parameters: null }, null, 1],
  ])('of %s', (_, more, outputCapTokens, choices) => {
    expect(body(more)).toMatchObject({ model: 'default', stream: false, outputCapTokens, choices });
    expect(promptOf(generate(false), more)).toContain('Hello');
  });

  it('has ids and media apart, and a stream by path or by field', () => {
    expect(body({ input_ids: [[1, 2], [3]], image_data: ['AAAA'], stream: true })).toMatchObject({ stream: true, choices: 2, prompt: { tokenIds: 3, media: [{ kind: 'image', bytes: 3 }] } });
    expect(factsOf(generate(true), { inputs: 'x' }).stream).toBe(true);
  });

  it('names what is wrong', () => {
    expect(faultOf(generate(false), {})).toMatchObject({ kind: 'missing_field', field: 'inputs' });
    expect(faultOf(generate(false), { text: 5 })).toMatchObject({ kind: 'wrong_type', field: 'text' });
    expect(faultOf(generate(false), { inputs: 'x', parameters: { max_new_tokens: 'x' } })).toMatchObject({ kind: 'wrong_type', field: 'max_new_tokens' });
  });
});

describe('facts of /invocations', () => {
  it.each([
    [{ messages: [{ role: 'user', content: 'Hello' }], prompt: null, max_tokens: 5 }, 'openai-chat'],
    [{ prompt: 'Hello', max_tokens: 5 }, 'openai-completions'],
    [{ prompt: 'Hello', messages: null }, 'openai-completions'],
    [{ query: 'Hello', documents: ['x'] }, 'rerank'],
    [{ text_1: 'Hello', text_2: 'x' }, 'rerank'],
    [{ input: 'Hello' }, 'openai-embeddings'],
  ])('%j is of %s: only here the fields decide', (body, api) => {
    for (const model of [undefined, 'm']) expect(factsOf(invocations, { ...body, model })).toMatchObject({ api, model: model ?? 'default' });
    expect(promptOf(invocations, body)).toContain('Hello');
  });

  it.each(['', '{', '[]', '{"messages":', '\u0000', '{"messages"'])('refuses %j', (body) => {
    expect(invocations.parseRequest(Buffer.from(body)).ok).toBe(false);
  });

  it('reads a field whose name is written with escapes', () => {
    expect(factsOf(invocations, '{"\\u006dessages":[],"model":"m"}').api).toBe('openai-chat');
  });
});

describe('paths of model servers', () => {
  it.each([
    ['/completion', 'llamacpp-completion'], ['/infill', 'llamacpp-completion'], ['/rerank', 'rerank'], ['/v1/rerank', 'rerank'], ['/v2/rerank', 'rerank'], ['/reranking', 'rerank'], ['/v1/reranking', 'rerank'], ['/score', 'rerank'], ['/v1/score', 'rerank'],
    ['/embedding', 'openai-embeddings'], ['/pooling', 'openai-embeddings'], ['/classify', 'openai-embeddings'], ['/v2/embed', 'openai-embeddings'], ['/generate', 'openai-completions'], ['/generate_stream', 'openai-completions'], ['/invocations', 'openai-chat'],
  ])('knows %s', (path, name) => {
    expect(localRoute(path)?.api).toBe(name);
  });

  it.each(['', '/', '/completions', '/embeddings', '/tokenize', '/detokenize', '/apply-template', '/v1/completions/render', '/Completion', '/completion/x'])('does not know %j', (path) => {
    expect(localRoute(path)).toBeNull();
  });
});
