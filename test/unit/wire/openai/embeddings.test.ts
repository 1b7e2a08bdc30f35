import { describe, expect, it } from 'vitest';
import type { RequestFacts } from '../../../../src/domain/request.js';
import { openaiEmbeddings } from '../../../../src/wire/openai/openai.js';
import { feed } from '../feed.js';
import { textsOf } from '../recorded.js';

const parsed = (body: object) => openaiEmbeddings.parseRequest(Buffer.from(JSON.stringify(body)));

function facts(body: object): RequestFacts {
  const result = parsed({ model: 'm', ...body });
  if (!result.ok) throw new Error(result.fault.message);
  return result.facts;
}

describe('facts of an embeddings request', () => {
  it('are those that a client sends, without any output', () => {
    const read = facts({ input: 'some words', encoding_format: 'base64', dimensions: 256, user: 'u' });
    expect(read).toMatchObject({ api: 'openai-embeddings', model: 'm', stream: false, usageRequested: false, outputCapTokens: 0, choices: 1, background: false });
    expect(read.prompt.text).toEqual(textsOf('some words'));
  });

  it('count each of several inputs once', () => {
    expect(facts({ input: ['ab', 'cde'] })).toMatchObject({ choices: 1, outputCapTokens: 0, prompt: { text: textsOf('ab', 'cde'), tokenIds: 0 } });
    expect(facts({ input: [1, 2, 3] }).prompt.tokenIds).toBe(3);
    expect(facts({ input: [[1, 2], [3, 4, 5]] })).toMatchObject({ choices: 1, prompt: { tokenIds: 5 } });
  });

  it('take what vLLM and llama.cpp take: messages, content, blocks with pictures', () => {
    expect(facts({ messages: [{ role: 'user', content: [{ type: 'text', text: 'ab' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(400)}` } }] }] }).prompt).toMatchObject({
      messages: 1,
      text: textsOf('ab'),
      media: [{ kind: 'image', bytes: 300 }],
    });
    expect(facts({ messages: [{ role: 'user', content: 'ab' }], input: 'cd' }).prompt.text).toEqual(textsOf('ab', 'cd'));
    expect(facts({ content: 'ab' }).prompt.text).toEqual(textsOf('ab'));
    expect(facts({ content: { prompt_string: 'ab' } }).prompt.text).toEqual(textsOf('ab'));
    expect(facts({ input: [{ type: 'text', text: 'ab' }, { type: 'text', text: 'cd' }] }).prompt.text).toEqual(textsOf('ab', 'cd'));
  });

  it.each([
    ['missing_field', 'input', { model: 'm' }],
    ['missing_field', 'model', { input: 'x' }],
    ['wrong_type', 'input', { model: 'm', input: 5 }],
    ['wrong_type', 'input', { model: 'm', input: [[{}]] }],
    ['wrong_type', 'input', { model: 'm', input: ['a', 5] }],
  ])('%s, field %s', (kind, field, body) => {
    expect(parsed(body)).toMatchObject({ ok: false, fault: { kind, field } });
  });
});

describe('an embeddings answer', () => {
  it('costs its input only, however long the vectors are', () => {
    const reader = openaiEmbeddings.responseReader({ framing: 'json', hideUsage: false });
    const body = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: 'A'.repeat(100_000) }, { object: 'embedding', index: 1, embedding: [0.5, -0.25] }], model: 'text-y', usage: { prompt_tokens: 8, total_tokens: 8 } };
    feed(reader, [JSON.stringify(body)]);
    expect(reader.reading).toMatchObject({ complete: true, model: 'text-y', sawOutput: false, usage: { inputTokens: 8, outputTokens: 0 } });
  });

  it('need not be asked for usage', () => {
    expect(openaiEmbeddings.askForUsage(Buffer.from('{"stream":true}'))).toEqual([]);
  });
});
