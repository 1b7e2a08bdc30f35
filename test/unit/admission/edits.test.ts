import { describe, expect, it } from 'vitest';
import { framingOf, isStreamed } from '../../../src/admission/edits.js';
import type { Api } from '../../../src/domain/request.js';

const answer = (type?: string) => ({ status: 200, headers: new Map(type === undefined ? [] : [['content-type', type]]), endOfStream: false, fromUpstream: true });

describe('how an answer is framed (point 5)', () => {
  it.each([
    ['text/event-stream; charset=utf-8', 'sse'],
    ['TEXT/EVENT-STREAM', 'sse'],
    ['application/vnd.amazon.eventstream', 'eventstream'],
    ['application/x-ndjson', 'ndjson'],
    ['application/ndjson', 'ndjson'],
    ['application/jsonl; charset=utf-8', 'ndjson'],
    ['application/json', 'json'],
    ['application/problem+json', 'json'],
  ])('%s is %s, whatever was asked for', (type, framing) => {
    for (const asked of [true, false]) expect(framingOf(answer(type), 'openai-chat', asked)).toBe(framing);
  });

  it.each([
    ['openai-chat', 'sse', true],
    ['anthropic-messages', 'sse', true],
    ['bedrock-converse', 'eventstream', true],
    ['bedrock-invoke', 'eventstream', true],
    ['ollama-chat', 'ndjson', true],
    ['gemini-generate-content', 'json', true],
  ] as [Api, string, boolean][])('a stream of %s without a content type is %s', (api, framing, streamed) => {
    for (const type of [undefined, 'application/octet-stream']) {
      const told = framingOf(answer(type), api, true);
      expect(told).toBe(framing);
      expect(isStreamed(told, api, true)).toBe(streamed);
      expect(framingOf(answer(type), api, false)).toBe('json');
    }
  });

  it('a server that does not stream where it was asked to sends one body; Gemini’s list is a stream', () => {
    expect(isStreamed('json', 'openai-chat', true)).toBe(false);
    expect(isStreamed('json', 'gemini-generate-content', true)).toBe(true);
    expect(isStreamed('json', 'gemini-generate-content', false)).toBe(false);
  });
});
