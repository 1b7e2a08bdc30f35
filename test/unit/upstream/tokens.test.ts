import { expect, test } from 'vitest';
import { countTokens, tokenText } from '../../../src/upstream/tokens.js';
import { readRequest } from '../../../src/upstream/request.js';

test.each([
  ['', 0],
  ['a', 1],
  ['four', 1],
  ['fives', 2],
  ['two words', 3],
  ['Hi, you!', 4],
  ['日本', 2],
  ['😀', 1],
  [' \n\t', 0],
])('%j is %i tokens', (text, tokens) => {
  expect(countTokens(text)).toBe(tokens);
});

test('an answer counts as many tokens as it has pieces', () => {
  for (const seed of [0, 17, 999_999]) {
    const answer = Array.from({ length: 200 }, (_, index) => tokenText(seed, index)).join('');
    expect(countTokens(answer)).toBe(200);
  }
});

test('a chat prompt is its texts, four a message and three', () => {
  const messages = [
    { role: 'system', content: 'be kind' },
    { role: 'user', content: [{ type: 'text', text: 'hello' }, { type: 'image_url', image_url: { url: 'x' } }] },
  ];
  expect(readRequest('chat', { model: 'm', messages })).toMatchObject({ promptTokens: 3 + 4 + 2 + 4 + 2, maxTokens: null, choices: 1, stream: false });
});

test.each([
  [{}, 'model'],
  [{ model: 'm' }, 'messages'],
  [{ model: 'm', messages: [{ role: 'user', content: 'x' }], stream_options: { include_usage: true } }, 'stream_options'],
  [{ model: 'm', messages: [{ role: 'user', content: 'x' }], max_tokens: -1 }, 'max_tokens'],
  [{ model: 'm', messages: [{ role: 'user', content: 'x' }], n: 0 }, 'n'],
])('%j is refused for %s', (json, param) => {
  expect(readRequest('chat', json)).toMatchObject({ status: 400, param });
});
