import { describe, expect, it } from 'vitest';
import { geminiEmbed, geminiGenerate } from '../../../../src/wire/gemini/gemini.js';
import { event, feed } from '../feed.js';
import { cases, WHERE } from '../handed.js';
import { countsOf, recordings, totalsOf } from '../recorded.js';
import { cuts, readingOf } from '../local/read.js';

const generate = geminiGenerate({ model: 'm', stream: true });
const told = (...metadata: object[]) => readingOf(generate, 'sse', ...metadata.map((usageMetadata) => event({ usageMetadata }))).usage;
const said = (...parts: object[]) => ({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] });

const recorded = recordings(/^gemini\//);

describe.skipIf(recorded.length === 0)(`recorded answers of Gemini${WHERE}`, () => {
  it.each(recorded.map((one) => [one.file, one] as const))('%s: the totals, at every cut', (_, { bytes, expected, file }) => {
    const whole = readingOf(generate, 'sse', bytes);
    expect(whole).toMatchObject({ complete: true, sawError: false, unreadable: false, sawOutput: true });
    expect(whole.responseId).not.toBeNull();
    for (const pieces of cuts(bytes)) {
      const reader = generate.responseReader({ framing: 'sse', hideUsage: true });
      const passed = feed(reader, pieces);
      expect(totalsOf(reader.reading), file).toMatchObject(expected);
      if (!passed.equals(bytes)) expect.fail(`other bytes in ${pieces.length} pieces`);
      expect(reader.reading.output).toEqual(whole.output);
    }
  });

  it.each(recorded.map((one) => [one.file, one] as const))('%s: the same as a JSON list', (_, { bytes, expected }) => {
    const parts = bytes.toString().split(/\r?\n\r?\n/).filter((part) => part !== '').map((part) => part.slice('data: '.length));
    const reading = readingOf(generate, 'json', `[${parts.join(',\r\n')}]`);
    expect(totalsOf(reading)).toMatchObject(expected);
    expect(reading.complete).toBe(true);
  });
});

describe.skipIf(cases === null)(`faults that users reported${WHERE}`, () => {
  it('router-for-me/CLIProxyAPI#5733: an answer that is only thoughts', () => {
    const { input, expected } = cases!.get('router-for-me/CLIProxyAPI#5733')!;
    expect(totalsOf(readingOf(generate, 'sse', ...input.response_chunks!))).toMatchObject(expected);
  });
});

describe('usage of an answer', () => {
  it('is null while nothing was told', () => {
    expect(told({}, { promptTokenCount: null }, { promptTokenCount: -1, candidatesTokenCount: 1.5 })).toBeNull();
  });

  it('takes the last value field by field, also a lower one; null and garbage do not clear', () => {
    expect(told({ promptTokenCount: 15, cachedContentTokenCount: 4 }, { promptTokenCount: 13, candidatesTokenCount: 8 }, { promptTokenCount: null, candidatesTokenCount: 'x' })).toMatchObject({ inputTokens: 13, cachedInputTokens: 4, outputTokens: 8 });
  });

  it('adds thoughts to the candidates, unless the total says that they are inside', () => {
    expect(told({ promptTokenCount: 10, candidatesTokenCount: 20, thoughtsTokenCount: 5, totalTokenCount: 35 })).toMatchObject({ outputTokens: 25, reasoningTokens: 5 });
    expect(told({ promptTokenCount: 10, candidatesTokenCount: 20, thoughtsTokenCount: 5, totalTokenCount: 30 })).toMatchObject({ outputTokens: 20, reasoningTokens: 5 });
    expect(told({ promptTokenCount: 10, toolUsePromptTokenCount: 100, candidatesTokenCount: 20, thoughtsTokenCount: 5, totalTokenCount: 130 })).toMatchObject({ inputTokens: 110, outputTokens: 20 });
    expect(told({ promptTokenCount: 10, candidatesTokenCount: 20, thoughtsTokenCount: 5 })).toMatchObject({ outputTokens: 25 });
  });

  it('takes what the total leaves where candidates are missing', () => {
    expect(told({ promptTokenCount: 10, totalTokenCount: 17 })).toMatchObject({ inputTokens: 10, outputTokens: 7 });
    expect(told({ promptTokenCount: 10, totalTokenCount: 3 })).toMatchObject({ outputTokens: 0 });
  });

  it('tells sound apart, and never a part larger than its whole', () => {
    const usage = { promptTokenCount: 10, candidatesTokenCount: 5, cachedContentTokenCount: 99, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 4 }, { modality: 'AUDIO', tokenCount: 6 }], candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 50 }, null] };
    expect(told(usage)).toMatchObject({ audioInputTokens: 6, audioOutputTokens: 5, cachedInputTokens: 10 });
  });

  it('leaves the estimate in force where no prompt is told', () => {
    expect(told({ candidatesTokenCount: 5, toolUsePromptTokenCount: 9, totalTokenCount: 50 })).toMatchObject({ inputTokens: 0, outputTokens: 5 });
  });
});

describe('an answer', () => {
  it('counts text, thoughts, calls and code as output', () => {
    const parts = [{ text: 'abc' }, { text: 'de', thought: true }, { functionCall: { name: 'f', args: { ghi: 1 } } }, { executableCode: { language: 'PYTHON', code: 'jk' } }, { codeExecutionResult: { output: 'not the model' } }];
    const reading = readingOf(generate, 'json', JSON.stringify(said(...parts)));
    expect(reading.output).toEqual(countsOf('abc', 'de', 'f', '{"ghi":1}', 'jk'));
    expect(reading.outputPieces).toBe(1);
    expect(readingOf(generate, 'sse', event(said({ functionCall: { name: 'f', partialArgs: [{ jsonPath: '$.x', stringValue: 'abcd' }] } }))).output).toEqual(countsOf('f', 'abcd'));
  });

  it('counts calls that differ in their arguments only, each by its own', () => {
    const call = (place: string) => event(said({ functionCall: { name: 'f', args: { a: place } } }));
    const places = ['bb', 'ccc', 'dddd', 'eeeee', 'ffffff', 'g'];
    expect(readingOf(generate, 'sse', ...places.map(call)).output).toEqual(countsOf(...places.flatMap((place) => ['f', `{"a":"${place}"}`])));
  });

  it('has a model, an id and a tier', () => {
    const part = { ...said({ text: 'x' }), responseId: 'r', modelVersion: 'gemini-x', usageMetadata: { trafficType: 'ON_DEMAND' } };
    expect(readingOf(generate, 'sse', event(part))).toMatchObject({ responseId: 'r', model: 'gemini-x', serviceTier: 'ON_DEMAND', complete: true, usage: null });
  });

  it('is cut where nothing told its end', () => {
    expect(readingOf(generate, 'sse', event({ candidates: [{ content: { parts: [{ text: 'x' }] } }], usageMetadata: { promptTokenCount: 3 } }))).toMatchObject({ complete: false, sawOutput: true });
  });

  it('may be a block of the prompt: no output, and the prompt is charged', () => {
    const part = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 } };
    expect(readingOf(generate, 'sse', event(part))).toMatchObject({ complete: true, sawOutput: false, sawError: false, usage: { inputTokens: 7, outputTokens: 0 } });
  });

  it('may be an error, also in a list and in the midst of a stream', () => {
    const error = { error: { code: 503, message: 'x', status: 'UNAVAILABLE' } };
    expect(readingOf(generate, 'json', JSON.stringify(error))).toMatchObject({ sawError: true, sawOutput: false });
    expect(readingOf(generate, 'json', JSON.stringify([error]))).toMatchObject({ sawError: true, sawOutput: false });
    expect(readingOf(generate, 'sse', event(said({ text: 'x' })), event(error))).toMatchObject({ sawError: true, sawOutput: true, complete: false });
  });

  it('may hold a picture, which is output without text', () => {
    expect(readingOf(generate, 'sse', event(said({ inlineData: { mimeType: 'image/png', data: 'AAAA' } })))).toMatchObject({ sawOutput: true });
  });

  it('survives what servers should not send', () => {
    const part = { candidates: [null, 5, { content: 5 }, { content: { parts: [null, 'x', { text: 5, functionCall: 'f', executableCode: [] }] } }], usageMetadata: [], promptFeedback: 'x', error: null, responseId: 5 };
    expect(readingOf(generate, 'sse', event(part))).toMatchObject({ usage: null, sawOutput: false, sawError: false, unreadable: false });
  });
});

describe('an answer with embeddings', () => {
  const read = (body: object) => readingOf(geminiEmbed('embedContent', 'm'), 'json', JSON.stringify(body));

  it('tells its usage in the ways of Gemini and Vertex, or not at all', () => {
    expect(read({ embedding: { values: [0.1] } })).toMatchObject({ usage: null, complete: true, sawOutput: false });
    expect(read({ embedding: { values: [0.1] }, usageMetadata: { promptTokenCount: 6 } }).usage).toMatchObject({ inputTokens: 6, outputTokens: 0 });
    expect(read({ predictions: [3, 4, null].map((token_count) => ({ embeddings: { values: [], statistics: { token_count, truncated: false } } })) }).usage).toMatchObject({ inputTokens: 7 });
  });

  it('may be an error', () => {
    expect(read({ error: { code: 400 } }).sawError).toBe(true);
  });
});
