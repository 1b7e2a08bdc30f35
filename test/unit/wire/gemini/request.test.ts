import { describe, expect, it } from 'vitest';
import type { WireApi } from '../../../../src/domain/wire.js';
import { createEstimator } from '../../../../src/estimate/estimator.js';
import { geminiGenerate, geminiEmbed } from '../../../../src/wire/gemini/gemini.js';
import { factsOf, faultOf, isEmpty, promptOf } from '../local/read.js';

const generate = geminiGenerate({ model: 'gemini-2.5-flash', stream: false });
const HELLO = [{ role: 'user', parts: [{ text: 'Hello there' }] }];
const facts = (body: object) => factsOf(generate, { contents: HELLO, ...body });
const estimate = (api: WireApi, body: unknown) => createEstimator().prompt('t', factsOf(api, body)).tokens;

describe('facts of generateContent', () => {
  it('has model and streaming from the path, whatever the body says', () => {
    expect(facts({ model: 'cheap', stream: true })).toMatchObject({ api: 'gemini-generate-content', model: 'gemini-2.5-flash', stream: false, outputCapTokens: null, choices: 1 });
    expect(factsOf(geminiGenerate({ model: 'm', stream: true }), { contents: HELLO })).toMatchObject({ model: 'm', stream: true });
    expect(faultOf(geminiGenerate({ model: 'm'.repeat(300), stream: true }), { contents: HELLO })).toMatchObject({ kind: 'out_of_range', field: 'model' });
  });

  it('has texts by kind, in the order in which the model sees them', () => {
    const body = {
      contents: [...HELLO, { role: 'model', parts: [{ text: 'A thought', thought: true, thoughtSignature: 'SEALED' }, { functionCall: { name: 'look', args: { place: 'Rome' } } }] }],
      systemInstruction: { parts: [{ text: 'Be brief' }] },
      tools: [{ functionDeclarations: [{ name: 'look' }, { name: 'go' }] }, { googleSearch: {} }],
    };
    const { prompt } = factsOf(generate, body);
    expect(prompt).toMatchObject({ messages: 2, tools: 3, tokenIds: 0, media: [], references: [] });
    expect(isEmpty(prompt.toolText) || isEmpty(prompt.system) || isEmpty(prompt.text)).toBe(false);
    const text = promptOf(generate, body);
    const places = ['"look"', '"go"', 'Be brief', 'user', 'Hello there', 'model', 'A thought', '{"place":"Rome"}', 'look'].map((word, index, words) => text.indexOf(word, index === 0 ? 0 : text.indexOf(words[index - 1]!)));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(text).not.toContain('SEALED');
  });

  it.each([['a text', 'Be brief'], ['a content', { role: 'system', parts: [{ text: 'Be brief' }] }], ['a part', { text: 'Be brief' }], ['parts', [{ text: 'Be brief' }]]])('takes a system instruction that is %s', (_, systemInstruction) => {
    const { prompt } = facts({ systemInstruction });
    expect(prompt.system).toEqual(facts({ system_instruction: { parts: { text: 'Be brief' } } }).prompt.system);
    expect(isEmpty(prompt.system)).toBe(false);
  });

  it('takes every field under the name that it has in the protocol as well', () => {
    const camel = {
      contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }, { fileData: { mimeType: 'video/mp4', fileUri: 'files/v' } }, { functionResponse: { name: 'f', response: { ok: true } } }] }],
      systemInstruction: { parts: [{ text: 's' }] },
      tools: [{ functionDeclarations: [{ name: 'f' }] }],
      generationConfig: { maxOutputTokens: 9, candidateCount: 2, responseSchema: { type: 'OBJECT' } },
      cachedContent: 'cachedContents/c',
      serviceTier: 'flex',
    };
    const snake = JSON.stringify(camel).replace(/"([a-z]+[A-Z][A-Za-z]*)":/g, (_, name: string) => `"${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}":`);
    expect(snake).toContain('"max_output_tokens":9');
    expect(factsOf(generate, snake)).toEqual(factsOf(generate, camel));
    expect(factsOf(generate, camel)).toMatchObject({ outputCapTokens: 9, choices: 2, work: 'background', prompt: { media: [{ kind: 'image', bytes: 3 }], references: [{ kind: 'file', id: 'files/v' }, { kind: 'cached_content', id: 'cachedContents/c' }] } });
  });

  it('takes the largest cap, numbers written as texts, and zero for none', () => {
    expect(facts({ generationConfig: { maxOutputTokens: 5, max_output_tokens: '70' } }).outputCapTokens).toBe(70);
    expect(facts({ generationConfig: { maxOutputTokens: 5 }, generation_config: { maxOutputTokens: 80 } }).outputCapTokens).toBe(80);
    expect(facts({ generationConfig: { maxOutputTokens: 0, candidateCount: '3' } })).toMatchObject({ outputCapTokens: null, choices: 3 });
    expect(facts({ generationConfig: null }).outputCapTokens).toBeNull();
  });

  it.each([[-1, 'out_of_range'], [1.5, 'out_of_range'], [1e300, 'out_of_range'], ['1e99', 'out_of_range'], ['many', 'wrong_type'], ['', 'wrong_type'], [true, 'wrong_type'], [[5], 'wrong_type']])('refuses the cap %j, naming the field', (cap, kind) => {
    expect(faultOf(generate, { contents: HELLO, generationConfig: { maxOutputTokens: cap } })).toMatchObject({ kind, field: 'generationConfig.maxOutputTokens' });
  });

  it('keeps the schema apart, and a session that labels name', () => {
    for (const name of ['responseSchema', 'responseJsonSchema', 'response_schema', '_responseJsonSchema']) {
      const { prompt } = facts({ generationConfig: { [name]: { type: 'object' } } });
      expect(isEmpty(prompt.schema)).toBe(false);
      expect(prompt.text).toEqual(facts({}).prompt.text);
    }
    expect(facts({ labels: { session_id: 's1' } }).session).toBe('s1');
  });

  it('has media by kind, and files of unknown length as references', () => {
    const parts = [
      { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } },
      { inlineData: { mimeType: 'text/plain', data: 'AAAA' } },
      { inlineData: { data: 'AAAA' } },
      { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } },
      { fileData: { mimeType: 'image/jpeg', fileUri: 'gs://b/i.jpg' } },
      { fileData: { fileUri: 'https://youtu.be/x' }, videoMetadata: { fps: 1 } },
      { fileData: { mimeType: 'video/mp4', fileUri: `https://x/${'y'.repeat(300)}` } },
    ];
    const { prompt } = factsOf(generate, { contents: [{ parts }] });
    expect(prompt.media.map(({ kind, bytes }) => `${kind} ${bytes}`).sort()).toEqual(['audio 3', 'file 3', 'file 3', 'file 3', 'image null', 'video null']);
    expect(prompt.references).toEqual([{ kind: 'file', id: 'https://youtu.be/x' }]);
    expect(isEmpty(prompt.text)).toBe(true);
  });

  it('QuantumNous/new-api#7148: a picture is not text, also inside a tool result', () => {
    const blob = { inlineData: { mimeType: 'image/png', data: 'A'.repeat(400_000) } };
    for (const part of [blob, { functionResponse: { name: 'shot', response: { result: 'shot taken' }, parts: [blob] } }]) {
      const body = { contents: [{ role: 'user', parts: [{ text: 'shot taken' }, part] }] };
      expect(factsOf(generate, body).prompt.media).toHaveLength(1);
      expect(estimate(generate, body)).toBeLessThanOrEqual(5000);
    }
  });

  it('shows results of tools as JSON, with all of their members', () => {
    const body = { contents: [{ role: 'user', parts: [{ functionResponse: { id: 'x', name: 'look', response: { id: 7, status: 'warm' } } }] }] };
    expect(promptOf(generate, body)).toContain('{"id":7,"status":"warm"}');
  });

  it.each([{}, { contents: null }])('refuses %j: contents are missing', (body) => {
    expect(faultOf(generate, body)).toMatchObject({ kind: 'missing_field', field: 'contents' });
  });

  it('survives what clients should not send', () => {
    for (const contents of ['Hello', { parts: 'Hello' }, [null, 5, 'Hello', { parts: null }, { parts: [null, 'x', [[]]] }], [], [{ parts: [{ inlineData: 5, fileData: 'x', functionResponse: [] }] }], [{ parts: [{ fileData: {} }] }]]) {
      expect(facts({ contents, tools: 7, systemInstruction: 8, generationConfig: [], labels: [], cachedContent: {} }).model).toBe('gemini-2.5-flash');
    }
    expect(faultOf(generate, '{"contents":')).toMatchObject({ kind: 'invalid_json' });
    expect(faultOf(generate, '[]')).toMatchObject({ kind: 'not_an_object' });
  });
});

describe('facts of embeddings', () => {
  it.each([
    ['embedContent', { content: { parts: [{ text: 'Hello' }] } }],
    ['batchEmbedContents', { requests: [{ model: 'models/other', content: { parts: [{ text: 'Hello' }] } }] }],
    ['predict', { instances: [{ content: 'Hello', task_type: 'RETRIEVAL_QUERY' }] }],
    ['predict', { instances: [{ text: 'Hello' }] }],
  ] as const)('%s: the text, and no output', (method, body) => {
    const api = geminiEmbed(method, 'gemini-embedding-001');
    expect(factsOf(api, body)).toMatchObject({ api: 'gemini-embed-content', model: 'gemini-embedding-001', stream: false, outputCapTokens: 0, choices: 1 });
    expect(promptOf(api, body)).toBe('Hello');
  });

  it('has pictures apart', () => {
    const body = { instances: [{ image: { bytesBase64Encoded: 'AAAA', mimeType: 'image/png' }, video: { gcsUri: 'gs://b/v.mp4' } }] };
    expect(factsOf(geminiEmbed('predict', 'multimodalembedding@001'), body).prompt).toMatchObject({ media: [{ kind: 'image', bytes: 3 }], references: [{ kind: 'file', id: 'gs://b/v.mp4' }] });
  });

  it('names what is missing', () => {
    expect(faultOf(geminiEmbed('embedContent', 'm'), {})).toMatchObject({ kind: 'missing_field', field: 'content' });
    expect(faultOf(geminiEmbed('batchEmbedContents', 'm'), { requests: {} })).toMatchObject({ kind: 'wrong_type', field: 'requests' });
  });
});
