import { describe, expect, it } from 'vitest';
import { embedding, generate, invocations, llamaCompletion, llamaInfill, rerank } from '../../../../src/wire/local/local.js';
import { openaiCompletions } from '../../../../src/wire/openai/openai.js';
import { openAiRefusal } from '../../../../src/wire/openai/refusal.js';
import { event, feed } from '../feed.js';
import { countsOf } from '../recorded.js';
import { cuts, LIMITED, plain, readingOf, TOO_LARGE } from './read.js';

/** As llama-server sends it. */
const piece = (content: string, n: number, index = 0) => event({ index, content, tokens: [n], stop: false, id_slot: 0, tokens_predicted: n, tokens_evaluated: 42 });
const last = (index = 0, more: object = {}) => event({ index, content: '', tokens: [], id_slot: 0, stop: true, model: 'gemma', tokens_predicted: 5, tokens_evaluated: 42, tokens_cached: 46, stop_type: 'eos', timings: { cache_n: 30, prompt_n: 12, predicted_n: 5 }, ...more });

describe('an answer of llama.cpp', () => {
  it('has its figures at every cut; what came from the cache is inside', () => {
    const stream = Buffer.from(piece('日本', 1) + piece(' and', 2) + last());
    for (const pieces of cuts(stream)) {
      const reader = llamaCompletion.responseReader({ framing: 'sse', hideUsage: false });
      expect(feed(reader, pieces).equals(stream)).toBe(true);
      expect(reader.reading).toMatchObject({ model: 'gemma', complete: true, unreadable: false, outputPieces: 2, output: countsOf('日本', ' and'), usage: { inputTokens: 42, cachedInputTokens: 30, outputTokens: 5 } });
    }
  });

  it('has running figures where it is cut, and is not whole', () => {
    expect(readingOf(llamaCompletion, 'sse', piece('a', 1), piece('b', 2))).toMatchObject({ complete: false, usage: { inputTokens: 42, outputTokens: 2 } });
  });

  it('takes timings where there is nothing else; tokens_cached is no figure of the prompt', () => {
    expect(readingOf(llamaInfill, 'json', JSON.stringify({ content: 'ab', stop: true, tokens_cached: 46, timings: { cache_n: 30, prompt_n: 12, predicted_n: 5 } })).usage).toMatchObject({ inputTokens: 42, cachedInputTokens: 30, outputTokens: 5 });
    expect(readingOf(llamaInfill, 'json', JSON.stringify({ content: 'ab', stop: true, tokens_cached: 46 })).usage).toBeNull();
  });

  it('of several prompts is the sum of its results, each with its last value', () => {
    const stream = [piece('a', 1, 0), piece('b', 1, 1), piece('c', 2, 0), last(0), last(1, { tokens_predicted: 7, timings: null })];
    expect(readingOf(llamaCompletion, 'sse', ...stream)).toMatchObject({ complete: true, usage: { inputTokens: 84, cachedInputTokens: 30, outputTokens: 12 } });
    expect(readingOf(llamaCompletion, 'sse', ...stream.slice(0, 4)).complete).toBe(false);
    const list = [0, 1].map((index) => ({ index, content: 'ab', stop: true, tokens_evaluated: 6, tokens_predicted: 2 }));
    expect(readingOf(llamaCompletion, 'json', JSON.stringify(list))).toMatchObject({ complete: true, output: countsOf('ab', 'ab'), usage: { inputTokens: 12, outputTokens: 4 } });
  });

  it('is not free where the client has only the probabilities of its tokens shown, by either path', () => {
    for (const api of [llamaCompletion, openaiCompletions]) {
      for (const name of ['token', 'content']) {
        const shown = JSON.stringify({ completion_probabilities: [{ id: 1, [name]: 'Hello' }, { id: 2, [name]: ' world' }] });
        expect(readingOf(api, 'json', shown)).toMatchObject({ usage: null, sawOutput: true, output: countsOf('Hello world') });
      }
      expect(readingOf(api, 'json', '{"completion_probabilities":[1,"x",null],"tokens":{}}')).toMatchObject({ usage: null });
    }
  });

  it('is not free where the client has only ids of it shown', () => {
    expect(readingOf(llamaCompletion, 'json', '{"tokens":[5,6,7]}')).toMatchObject({ usage: null, sawOutput: true, output: countsOf(' the the the') });
  });

  it('may be an error', () => {
    const error = { error: { code: 400, message: 'x', type: 'invalid_request_error' } };
    expect(readingOf(llamaCompletion, 'json', JSON.stringify(error))).toMatchObject({ sawError: true, sawOutput: false });
    expect(readingOf(llamaCompletion, 'sse', piece('a', 1), event(error))).toMatchObject({ sawError: true, complete: false });
  });

  it('survives what servers should not send', () => {
    expect(readingOf(llamaCompletion, 'sse', event({ index: 'x', content: 5, tokens: 5, stop: 'yes', timings: [], tokens_predicted: -1, tokens_evaluated: 1e300, error: '' }))).toMatchObject({ usage: null, sawOutput: false, sawError: false, complete: false, unreadable: false });
  });
});

describe('an answer without generated text', () => {
  const usageOf = (body: unknown) => readingOf(rerank, 'json', JSON.stringify(body)).usage;

  it('tells its tokens in the ways of OpenAI and Cohere, or not at all', () => {
    expect(usageOf({ id: 'r', results: [], usage: { prompt_tokens: 20, total_tokens: 20 } })).toMatchObject({ inputTokens: 20, outputTokens: 0 });
    expect(usageOf({ results: [], usage: { total_tokens: 21 } })).toMatchObject({ inputTokens: 21 });
    expect(usageOf({ results: [], meta: { billed_units: { search_units: 1 }, tokens: { input_tokens: 22 } } })).toMatchObject({ inputTokens: 22 });
    expect(usageOf({ results: [], meta: { billed_units: { input_tokens: 23 } } })).toMatchObject({ inputTokens: 23 });
    expect(usageOf({ results: [], meta: { billed_units: { search_units: 1 } } })).toBeNull();
    expect(usageOf([{ index: 0, score: 0.5 }])).toBeNull();
  });

  it('is whole as one body, also as a list', () => {
    for (const body of [{ data: [] }, [{ index: 0, embedding: [[0.1]] }]]) expect(readingOf(embedding, 'json', JSON.stringify(body))).toMatchObject({ complete: true, sawOutput: false, sawError: false });
    expect(readingOf(embedding, 'json', '{"error":"x"}').sawError).toBe(true);
  });
});

describe('an answer of /generate', () => {
  it('of TGI: tokens one by one, and all of them at the end', () => {
    const stream = [event({ index: 1, token: { id: 1, text: 'ab', special: false }, generated_text: null, details: null }), event({ index: 2, token: { id: 2, text: 'cd' }, generated_text: 'abcd', details: { finish_reason: 'length', generated_tokens: 2, input_length: 9 } })];
    expect(readingOf(generate(true), 'sse', ...stream)).toMatchObject({ complete: true, output: countsOf('ab', 'cd'), outputPieces: 2, usage: { inputTokens: 9, outputTokens: 2 } });
    expect(readingOf(generate(false), 'json', '{"generated_text":"abcd","details":{"generated_tokens":2,"finish_reason":"length","prefill":[{},{},{}]}}')).toMatchObject({ output: countsOf('abcd'), usage: { inputTokens: 3, outputTokens: 2 } });
    expect(readingOf(generate(false), 'json', '{"generated_text":"abcd"}')).toMatchObject({ usage: null, sawOutput: true, complete: true });
    expect(readingOf(generate(false), 'json', '{"error":"overloaded","error_type":"overloaded"}')).toMatchObject({ sawError: true, sawOutput: false });
  });

  it('of SGLang: running figures, several results', () => {
    const meta = (id: string, completion_tokens: number, finish_reason: object | null = null) => ({ id, prompt_tokens: 9, cached_tokens: 4, completion_tokens, finish_reason });
    const stream = [event({ text: 'ab', meta_info: meta('a', 1) }), event({ text: 'abcd', meta_info: meta('a', 2, { type: 'stop' }) }), 'data: [DONE]\n\n'];
    expect(readingOf(generate(false), 'sse', ...stream)).toMatchObject({ complete: true, output: countsOf('ab', 'cd'), usage: { inputTokens: 9, cachedInputTokens: 4, outputTokens: 2 } });
    expect(readingOf(generate(false), 'json', JSON.stringify([{ text: 'a', meta_info: meta('a', 3) }, { text: 'b', meta_info: meta('b', 4) }])).usage).toMatchObject({ inputTokens: 18, outputTokens: 7 });
  });

  it('of vLLM’s old server: no figures', () => {
    expect(readingOf(generate(false), 'json', '{"text":["Hello you"]}')).toMatchObject({ usage: null, output: countsOf('Hello you'), complete: true });
    const growing = ['He', 'Hel', 'Hel', 'Hello', 'Hello you'].map((text) => event({ text: [text, 'x'] }));
    expect(readingOf(generate(false), 'sse', ...growing)).toMatchObject({ output: countsOf('He', 'x', 'l', 'lo', ' you'), outputPieces: 4 });
  });
});

describe('refusals of model servers', () => {
  it('have the shape of OpenAI’s', () => {
    for (const api of [llamaCompletion, llamaInfill, rerank, embedding, generate(true), invocations]) {
      for (const refusal of [LIMITED, TOO_LARGE, plain('bad_request', 'prompt')]) expect(api.refuse(refusal)).toEqual(openAiRefusal(refusal));
      expect(JSON.parse(api.refuse(LIMITED).body)).toMatchObject({ error: { type: 'tokens', code: 'rate_limit_exceeded' }, tokenweir: { limit: 'tokens_per_minute', retryAfterMs: 1250 } });
    }
  });

  it('asks for usage where the server tells it only then', () => {
    expect(llamaCompletion.askForUsage(Buffer.from('{"stream":true}'))).toEqual([]);
    expect(invocations.askForUsage(Buffer.from('{"stream":true}'))).toHaveLength(1);
  });
});
