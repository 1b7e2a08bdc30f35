import { describe, expect, it } from 'vitest';
import type { Usage } from '../../../src/domain/usage.js';
import type { ResponseReading } from '../../../src/domain/wire.js';
import { MAX_BODY_BYTES } from '../../../src/wire/stream/body-reader.js';
import { openaiChat, openaiCompletions } from '../../../src/wire/openai/openai.js';
import { countsOf, event, feed, sseReader } from './feed.js';

/** Usage after chunks with these members, one after the other. */
function usageOf(...parts: object[]): Usage | null {
  const reader = sseReader();
  feed(reader, parts.map((part) => event({ choices: [], ...part })));
  return reader.reading.usage;
}

const told = (usage: object) => usageOf({ usage });
const plain = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

describe('usage of an answer', () => {
  it('is null while nothing was told', () => {
    expect(usageOf({ usage: null }, { usage: {} }, { usage: [] }, { usage: 'x' }, {})).toBeNull();
  });

  it('takes the last value field by field; null, absence and garbage do not clear', () => {
    const first = { ...plain, prompt_tokens_details: { cached_tokens: 64 }, completion_tokens_details: { reasoning_tokens: 5 } };
    expect(usageOf({ usage: first }, { usage: { completion_tokens: 30, prompt_tokens: null } }, { usage: null }, { usage: { prompt_tokens: 'many', prompt_tokens_details: null } })).toMatchObject({
      inputTokens: 100,
      cachedInputTokens: 64,
      outputTokens: 30,
      reasoningTokens: 5,
    });
  });

  it('may fall: the last value wins and not the largest', () => {
    expect(usageOf({ usage: { prompt_tokens: 9, completion_tokens: 50 } }, { usage: { prompt_tokens: 8, completion_tokens: 40 } })).toMatchObject({ inputTokens: 8, outputTokens: 40 });
  });

  it('never sums running totals', () => {
    expect(usageOf(...[1, 2, 3, 4].map((completion_tokens) => ({ usage: { prompt_tokens: 7, completion_tokens } })))).toMatchObject({ inputTokens: 7, outputTokens: 4 });
  });

  it.each([-1, 1.5, 1e300, 2 ** 31, '5', true, [3], {}])('ignores the figure %j', (figure) => {
    expect(told({ prompt_tokens: figure, completion_tokens: 3 })).toMatchObject({ inputTokens: 0, outputTokens: 3 });
  });

  it('adds reasoning only where the total says that it stands beside', () => {
    const reasoning = (completion_tokens: number, total_tokens: number) => told({ prompt_tokens: 10, completion_tokens, total_tokens, completion_tokens_details: { reasoning_tokens: 7 } })?.outputTokens;
    expect(reasoning(5, 22)).toBe(12);
    expect(reasoning(9, 19)).toBe(9);
    expect(reasoning(9, 0)).toBe(9);
  });

  it('knows cached tokens under the names of DeepSeek and others, and cache writes', () => {
    expect(told({ ...plain, prompt_cache_hit_tokens: 30 })?.cachedInputTokens).toBe(30);
    expect(told({ ...plain, prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 20 } })).toMatchObject({ cachedInputTokens: 10, cacheWriteTokens: 20 });
  });

  it('never has a part larger than its whole', () => {
    const usage = told({ ...plain, prompt_tokens_details: { cached_tokens: 500, audio_tokens: 500, cache_write_tokens: 9 }, completion_tokens_details: { reasoning_tokens: 500, audio_tokens: 500 } });
    expect(usage).toEqual({ inputTokens: 100, cachedInputTokens: 100, cacheWriteTokens: 0, cacheWrite1hTokens: 0, outputTokens: 20, reasoningTokens: 20, audioInputTokens: 100, audioOutputTokens: 20 });
  });

  it('takes what the total leaves where one of two is missing', () => {
    expect(told({ prompt_tokens: 10, total_tokens: 15 })).toMatchObject({ inputTokens: 10, outputTokens: 5 });
    expect(told({ prompt_tokens: 10, total_tokens: 5 })).toMatchObject({ inputTokens: 10, outputTokens: 0 });
  });

  it('knows the places of Groq and Moonshot', () => {
    expect(usageOf({ x_groq: { usage: plain } })?.inputTokens).toBe(100);
    expect(usageOf({ choices: [{ delta: {}, finish_reason: 'stop', usage: plain }] })?.outputTokens).toBe(20);
  });

  it("takes llama.cpp's timings where there is no usage, with the cache apart", () => {
    const timings = { cache_n: 30, prompt_n: 12, predicted_n: 5 };
    expect(usageOf({ timings })).toMatchObject({ inputTokens: 42, cachedInputTokens: 30, outputTokens: 5 });
    expect(usageOf({ usage: { prompt_tokens: 42, completion_tokens: 6 }, timings })).toMatchObject({ inputTokens: 42, cachedInputTokens: 30, outputTokens: 6 });
    expect(usageOf({ timings: { prompt_n: -1, predicted_n: 5 } })).toBeNull();
  });
});

describe('an answer that is one JSON body', () => {
  function read(...pieces: (string | Buffer)[]): ResponseReading {
    const reader = openaiChat.responseReader({ framing: 'json', hideUsage: false });
    feed(reader, pieces);
    return reader.reading;
  }

  const body = JSON.stringify({ model: 'm', service_tier: 'default', choices: [{ message: { content: 'é😀' } }], usage: plain });

  it('is read at any cut, and passes as the same buffers', () => {
    const bytes = Buffer.from(body);
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(read(bytes.subarray(0, cut), bytes.subarray(cut))).toMatchObject({ complete: true, unreadable: false, sawOutput: true, model: 'm', serviceTier: 'default', usage: { inputTokens: 100, outputTokens: 20 } });
    }
    const chunk = Buffer.from('{');
    expect(openaiChat.responseReader({ framing: 'json', hideUsage: true }).push(chunk)).toBe(chunk);
  });

  it('counts all choices, and the text of completions', () => {
    expect(read('{"choices":[{"text":"ab"},{"text":"cd"},{"message":{"content":[{"type":"text","text":"ef"}]}}]}').output).toEqual(countsOf('abcdef'));
  });

  it.each(['', 'upstream connect error', '[1]', '{"choices":[', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`])('that is %j is not complete', (text) => {
    expect(read(text)).toMatchObject({ complete: false, usage: null, unreadable: text !== '' });
  });

  it('may be an error', () => {
    expect(read('{"error":{"message":"x"}}')).toMatchObject({ sawError: true, sawOutput: false, complete: true });
  });

  it('passes unread above the bound', () => {
    const piece = Buffer.alloc(MAX_BODY_BYTES / 2, 0x20);
    expect(read(piece, piece, '{}')).toMatchObject({ unreadable: true, complete: false });
  });

  it('survives what servers should not send', () => {
    expect(read('{"choices":[null,5,"x",{"delta":null,"message":7},{"message":{"tool_calls":[null,{"function":"f"}],"content":5}}],"usage":5,"model":[],"error":null}')).toMatchObject({
      complete: true,
      usage: null,
      sawError: false,
      sawOutput: false,
    });
  });
});

describe('an answer with very many parts', () => {
  const logprobs = Array.from({ length: 120_000 }, () => ({}));
  const bodyOf = (more: object) => JSON.stringify({ model: 'm', choices: [{ message: { content: 'hi' }, logprobs }], ...more });
  const read = (body: string) => {
    const reader = openaiChat.responseReader({ framing: 'json', hideUsage: false });
    feed(reader, [body]);
    return reader.reading;
  };

  it('tells its usage all the same: a client may ask for log probabilities, and must not hide behind them', () => {
    expect(read(bodyOf({ usage: plain }))).toMatchObject({ usage: { inputTokens: 100, outputTokens: 20 }, model: 'm', complete: true, unreadable: false });
  });

  it('is unreadable where it tells none', () => {
    expect(read(bodyOf({ usage: null }))).toMatchObject({ usage: null, unreadable: true });
  });
});

it('counts the text of a server that answers in llama.cpp’s own shape, and takes its timings', () => {
  const reader = openaiCompletions.responseReader({ framing: 'sse', hideUsage: false });
  reader.push(Buffer.from('data: {"content":"Hello there","stop":false}\n\ndata: {"content":" friend","stop":false}\n\n'));
  expect(reader.reading).toMatchObject({ sawOutput: true, outputPieces: 2, usage: null });
  reader.push(Buffer.from('data: {"content":"","stop":true,"timings":{"prompt_n":3,"cache_n":4,"predicted_n":5}}\n\n'));
  reader.end();
  expect(reader.reading).toMatchObject({ outputPieces: 2, usage: { inputTokens: 7, cachedInputTokens: 4, outputTokens: 5 } });
});
