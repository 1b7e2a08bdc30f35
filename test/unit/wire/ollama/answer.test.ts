import { describe, expect, it } from 'vitest';
import { chargeFor } from '../../../../src/admission/charge.js';
import type { PlainRefusal } from '../../../../src/domain/refusal.js';
import { createEstimator } from '../../../../src/estimate/estimator.js';
import { ollamaChat, ollamaEmbed, ollamaGenerate } from '../../../../src/wire/ollama/ollama.js';
import { feed } from '../feed.js';
import { cases, WHERE } from '../handed.js';
import { countsOf, recordings, totalsOf } from '../recorded.js';
import { cuts, factsOf, LIMITED, OURS, plain, readingOf, TOO_LARGE } from '../local/read.js';

const recorded = recordings(/^ollama\/.*\.ndjson$/);
const line = (part: object) => `${JSON.stringify(part)}\n`;
const said = (message: object) => line({ model: 'llama3', message, done: false });

describe.skipIf(recorded.length === 0)(`recorded answers of Ollama${WHERE}`, () => {
  it.each(recorded.map((one) => [one.file, one] as const))('%s: the totals, at every cut', (file, { bytes, expected }) => {
    const api = file.includes('generate') ? ollamaGenerate : ollamaChat;
    const whole = readingOf(api, 'ndjson', bytes);
    expect(whole).toMatchObject({ complete: true, sawError: false, unreadable: false, sawOutput: true, model: 'llama3' });
    for (const pieces of cuts(bytes)) {
      const reader = api.responseReader({ framing: 'ndjson', hideUsage: false });
      const passed = feed(reader, pieces);
      expect(totalsOf(reader.reading)).toMatchObject(expected);
      if (!passed.equals(bytes)) expect.fail(`other bytes in ${pieces.length} pieces`);
      expect(reader.reading.output).toEqual(whole.output);
    }
  });
});

describe.skipIf(cases === null)(`faults that users reported${WHERE}`, () => {
  it('ollama/ollama#2068: a cached prompt has no figure, so the estimate stays in force and is marked as one', () => {
    const { input, expected } = cases!.get('ollama/ollama#2068')!;
    const lines = (input as { response_ndjson?: string[] }).response_ndjson!;
    const reading = readingOf(ollamaChat, 'ndjson', ...lines);
    const estimator = createEstimator();
    const facts = factsOf(ollamaChat, input.request);
    const prompt = estimator.prompt('t', facts);
    const ending = { status: 200, fromUpstream: true, whole: reading.complete, ended: false, unseen: false, streamed: true, usage: reading.usage, reading, unreadable: reading.unreadable };
    const charge = chargeFor(ending, { model: facts.model, prompt, expectedOutputTokens: 7, background: false }, estimator);
    expect(charge).toMatchObject({ estimated: true, teaches: false, usage: { inputTokens: prompt.tokens, outputTokens: expected['output_total'] } });
    expect(prompt.tokens).toBeGreaterThan(0);
  });
});

describe('an answer', () => {
  it('counts content, thoughts and calls as output', () => {
    const call = { function: { name: 'look', arguments: { place: 'Rome' } } };
    expect(readingOf(ollamaChat, 'ndjson', said({ content: 'ab' }), said({ content: '', thinking: 'cde' }), said({ content: '', tool_calls: [call] }))).toMatchObject({
      output: countsOf('ab', 'cde', 'look', '{"place":"Rome"}'), outputPieces: 3, sawOutput: true, usage: null, complete: false,
    });
    expect(readingOf(ollamaGenerate, 'ndjson', line({ response: 'ab', thinking: 'cd' })).output).toEqual(countsOf('ab', 'cd'));
  });

  it('may be one body', () => {
    const body = { model: 'llama3', message: { role: 'assistant', content: 'ab' }, done: true, prompt_eval_count: 12, eval_count: 3 };
    expect(readingOf(ollamaChat, 'json', JSON.stringify(body))).toMatchObject({ complete: true, model: 'llama3', usage: { inputTokens: 12, outputTokens: 3 } });
  });

  it('is whole only where it says that it is done', () => {
    expect(readingOf(ollamaChat, 'ndjson', said({ content: 'ab' })).complete).toBe(false);
    expect(readingOf(ollamaChat, 'ndjson', said({ content: 'ab' }), '{"done":true}').complete).toBe(true);
  });

  it('may be an error, also in the midst of a stream', () => {
    expect(readingOf(ollamaChat, 'json', '{"error":"model not found"}')).toMatchObject({ sawError: true, sawOutput: false });
    expect(readingOf(ollamaChat, 'ndjson', said({ content: 'ab' }), line({ error: 'out of memory' }))).toMatchObject({ sawError: true, sawOutput: true, complete: false });
  });

  it('has no figures where it only loaded a model', () => {
    expect(readingOf(ollamaChat, 'json', '{"model":"llama3","message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}')).toMatchObject({ usage: null, sawOutput: false, complete: true });
  });

  it('takes no garbage for figures', () => {
    expect(readingOf(ollamaChat, 'ndjson', line({ prompt_eval_count: 9, eval_count: 4 }), line({ prompt_eval_count: -1, eval_count: null, message: 5, done: 'yes', error: '' }))).toMatchObject({
      usage: { inputTokens: 9, outputTokens: 4 }, complete: false, sawError: false, unreadable: false,
    });
  });

  it('tells the tokens of embeddings, where the API has a figure', () => {
    expect(readingOf(ollamaEmbed, 'json', '{"model":"m","embeddings":[[0.1]],"prompt_eval_count":8}')).toMatchObject({ complete: true, usage: { inputTokens: 8, outputTokens: 0 } });
    expect(readingOf(ollamaEmbed, 'json', '{"embedding":[0.1]}')).toMatchObject({ complete: true, usage: null, sawOutput: false });
  });
});

describe('a refusal', () => {
  it('is a sentence, as Ollama words it, with ours beside it', () => {
    const { status, headers, body } = ollamaChat.refuse(LIMITED);
    expect([status, JSON.parse(body)]).toEqual([429, { error: 'Too much.', tokenweir: OURS }]);
    expect(headers).toEqual([['content-type', 'application/json'], ['retry-after', '2'], ['retry-after-ms', '1250']]);
    expect(ollamaEmbed.refuse(LIMITED)).toEqual(ollamaGenerate.refuse(LIMITED));
  });

  it('of what can never fit does not ask to come again', () => {
    expect(ollamaChat.refuse(TOO_LARGE)).toMatchObject({ status: 400, headers: [['content-type', 'application/json'], ['x-should-retry', 'false']] });
  });

  it.each([['unauthenticated', 401], ['model_not_allowed', 403], ['not_metered', 403], ['bad_request', 400], ['unknown_path', 404], ['body_too_large', 413], ['unsupported_encoding', 415], ['store_unavailable', 503]] as [PlainRefusal['kind'], number][])('%s is %i', (kind, code) => {
    const { status, body } = ollamaChat.refuse(plain(kind));
    expect([status, JSON.parse(body)]).toEqual([code, { error: 'No.', tokenweir: { reason: kind, requestId: 'r1' } }]);
  });
});
