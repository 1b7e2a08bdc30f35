import { describe, expect, it } from 'vitest';
import { openaiChat } from '../../../src/wire/openai/openai.js';
import { applySplices } from '../../../src/wire/json/splice.js';

function asked(body: string): string {
  const bytes = Buffer.from(body);
  return applySplices(bytes, openaiChat.askForUsage(bytes)).toString();
}

describe('asking for usage by splice', () => {
  it.each([
    ['absent', '{ "model":"m", "stream" : true }', '{"stream_options":{"include_usage":true}, "model":"m", "stream" : true }'],
    ['null', '{"stream":true,"stream_options" : null }', '{"stream":true,"stream_options" : {"include_usage":true} }'],
    ['empty', '{"stream":true,"stream_options":{ }}', '{"stream":true,"stream_options":{"include_usage":true }}'],
    ['other members', '{"stream":true,"stream_options":{"x":1.0}}', '{"stream":true,"stream_options":{"include_usage":true,"x":1.0}}'],
    ['false', '{"stream":true,"stream_options":{"include_usage":false,"x":[{"include_usage":1}]}}', '{"stream":true,"stream_options":{"include_usage":true,"x":[{"include_usage":1}]}}'],
    ['null inside', '{"stream":true,"stream_options":{"include_usage":null}}', '{"stream":true,"stream_options":{"include_usage":true}}'],
    ['duplicates', '{"stream_options":{"include_usage":true},"stream_options":{},"stream":true}', '{"stream_options":{"include_usage":true},"stream_options":{"include_usage":true},"stream":true}'],
    ['duplicates inside', '{"stream":true,"stream_options":{"include_usage":true,"include_usage":false}}', '{"stream":true,"stream_options":{"include_usage":true,"include_usage":true}}'],
    ['an escaped key', '{"stream":true,"stream\\u005foptions":{"include\\u005Fusage":false}}', '{"stream":true,"stream\\u005foptions":{"include\\u005Fusage":true}}'],
    ['a text that looks like it', '{"stream":true,"a":"\\"stream_options\\":{","b":{"stream_options":null}}', '{"stream_options":{"include_usage":true},"stream":true,"a":"\\"stream_options\\":{","b":{"stream_options":null}}'],
    ['a byte order mark', '\uFEFF {"stream":true}', '\uFEFF {"stream_options":{"include_usage":true},"stream":true}'],
  ])('%s', (_, body, expected) => {
    expect(asked(body)).toBe(expected);
  });

  it.each(['{"stream":true,"stream_options":{"include_usage":true}}', '{"stream":false}', '{"model":"m"}', '{}', '{"stream":true,"stream":null}'])('leaves %s alone', (body) => {
    expect(openaiChat.askForUsage(Buffer.from(body))).toEqual([]);
  });

  it.each(['', '[]', '{', '{"stream"', '{"stream":true', '{"stream":true,', '{"stream":true,"stream_options":{', 'x'])('does not throw on %j', (body) => {
    expect(() => openaiChat.askForUsage(Buffer.from(body))).not.toThrow();
  });
});

describe('splices', () => {
  it('apply in any order', () => {
    const body = Buffer.from('abcdef');
    expect(applySplices(body, [{ start: 4, end: 6, insert: 'Z' }, { start: 1, end: 1, insert: 'é' }]).toString()).toBe('aébcdZ');
    expect(applySplices(body, [])).toBe(body);
  });

  it('do not overlap or lie outside', () => {
    const body = Buffer.from('abc');
    expect(() => applySplices(body, [{ start: 0, end: 2, insert: '' }, { start: 1, end: 3, insert: '' }])).toThrow(RangeError);
    expect(() => applySplices(body, [{ start: 2, end: 4, insert: '' }])).toThrow(RangeError);
  });
});
