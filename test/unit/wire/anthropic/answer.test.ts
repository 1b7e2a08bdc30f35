import { describe, expect, it } from 'vitest';
import type { Usage } from '../../../../src/domain/usage.js';
import type { ResponseReading } from '../../../../src/domain/wire.js';
import { anthropicMessages } from '../../../../src/wire/anthropic/messages.js';
import { feed } from '../feed.js';
import { cases, WHERE, type Case } from '../handed.js';
import { countsOf, figuresOf, namedEvents, recordings, totalsOf } from '../recorded.js';

function read(...pieces: (string | Buffer)[]): ResponseReading {
  const reader = anthropicMessages.responseReader({ framing: 'sse', hideUsage: false });
  feed(reader, pieces);
  return reader.reading;
}

function body(message: object): ResponseReading {
  const reader = anthropicMessages.responseReader({ framing: 'json', hideUsage: false });
  feed(reader, [JSON.stringify(message)]);
  return reader.reading;
}

const start = (usage: unknown, more: object = {}) => ({ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', content: [], usage, ...more } });
const text = (value: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: value } });
const delta = (usage: unknown) => ({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
const STOP = { type: 'message_stop' };
const usageOf = (...events: object[]): Usage | null => read(namedEvents(...events)).usage;

describe('usage of a streamed message', () => {
  it('is the input of the start with the output of the end: neither is added to the other', () => {
    expect(usageOf(start({ input_tokens: 633, output_tokens: 22 }), delta({ output_tokens: 75 }), STOP)).toMatchObject({ inputTokens: 633, outputTokens: 75 });
    expect(usageOf(start({ input_tokens: 633, output_tokens: 22 }), delta({ input_tokens: 633, output_tokens: 75 }), STOP)).toMatchObject({ inputTokens: 633, outputTokens: 75 });
  });

  it('does not take the placeholder at the start for the output', () => {
    expect(usageOf(start({ input_tokens: 9, output_tokens: 88 }), text('some words'))).toMatchObject({ inputTokens: 9, outputTokens: 0 });
  });

  it('grows with running totals and is not their sum', () => {
    expect(usageOf(start({ input_tokens: 5, output_tokens: 1 }), delta({ output_tokens: 10 }), delta({ output_tokens: 20 }))?.outputTokens).toBe(20);
  });

  it('has the input with all that was read from and written to the cache', () => {
    const usage = { input_tokens: 4, cache_read_input_tokens: 1165, cache_creation_input_tokens: 30, cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 }, output_tokens: 1 };
    expect(usageOf(start(usage), delta({ output_tokens: 7 }))).toMatchObject({ inputTokens: 1199, cachedInputTokens: 1165, cacheWriteTokens: 30, cacheWrite1hTokens: 20, outputTokens: 7 });
  });

  it('knows cache writes that are told by their age only, and no age larger than the whole', () => {
    expect(usageOf(delta({ input_tokens: 1, cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 }, output_tokens: 1 }))).toMatchObject({ inputTokens: 31, cacheWriteTokens: 30, cacheWrite1hTokens: 20 });
    expect(usageOf(start({ input_tokens: 1, cache_creation: { ephemeral_1h_input_tokens: 20 }, output_tokens: 1 }), delta({ cache_creation_input_tokens: 5, output_tokens: 2 }))).toMatchObject({ inputTokens: 6, cacheWrite1hTokens: 5 });
  });

  it('is what the end told, also when a second start follows', () => {
    expect(usageOf(start({ input_tokens: 17, output_tokens: 1 }), start({ input_tokens: 17, output_tokens: 1 }), delta({ output_tokens: 65 }))).toMatchObject({ inputTokens: 17, outputTokens: 65 });
    expect(usageOf(delta({ input_tokens: 18, output_tokens: 65 }), start({ input_tokens: 8834, output_tokens: 1 }))).toMatchObject({ inputTokens: 18, outputTokens: 65 });
  });

  it('is not cleared by null, absence and garbage', () => {
    const garbage = { input_tokens: null, cache_read_input_tokens: -3, cache_creation: 'x', output_tokens: '7', iterations: [] };
    expect(usageOf(start({ input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 1 }), delta({ output_tokens: 6 }), delta(garbage), delta(null), delta([]), { type: 'message_delta' })).toMatchObject({
      inputTokens: 13,
      cachedInputTokens: 4,
      outputTokens: 6,
    });
    expect(usageOf(start(null), delta({}), STOP)).toBeNull();
  });

  it('knows how much of the output was thinking, never more than all of it', () => {
    expect(usageOf(delta({ input_tokens: 1, output_tokens: 50, output_tokens_details: { thinking_tokens: 47 } }))).toMatchObject({ outputTokens: 50, reasoningTokens: 47 });
    expect(usageOf(delta({ input_tokens: 1, output_tokens: 5, output_tokens_details: { thinking_tokens: 47 } }))?.reasoningTokens).toBe(5);
  });
});

describe('an answer that took several passes', () => {
  const passes = [
    { type: 'message', input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 },
    { type: 'advisor_message', model: 'claude-big', input_tokens: 50, output_tokens: 5, cache_read_input_tokens: 7 },
    { type: 'message', input_tokens: 200, output_tokens: 20 },
  ];
  const usage = { input_tokens: 300, output_tokens: 30, output_tokens_details: { thinking_tokens: 8 }, iterations: passes };

  it('costs the sum of its passes, those of other models too', () => {
    expect(usageOf(start({ input_tokens: 100, output_tokens: 2 }), delta(usage))).toMatchObject({ inputTokens: 362, cachedInputTokens: 10, cacheWriteTokens: 2, outputTokens: 35, reasoningTokens: 8 });
  });

  it('has a bill by model', () => {
    const { lines } = read(namedEvents(start({ input_tokens: 100, output_tokens: 2, service_tier: 'priority' }), delta(usage)));
    const line = (model: string, kind: string, tokens: number) => ({ model, serviceTier: 'priority', kind, tokens });
    expect(lines).toEqual([
      line('claude-x', 'input', 300),
      line('claude-x', 'cached_input', 3),
      line('claude-x', 'cache_write_5m', 2),
      line('claude-x', 'output', 22),
      line('claude-x', 'reasoning', 8),
      line('claude-big', 'input', 50),
      line('claude-big', 'cached_input', 7),
      line('claude-big', 'output', 5),
    ]);
  });

  it('has none where only one model took part, and counts a compaction all the same', () => {
    const compacted = { input_tokens: 10, output_tokens: 3, iterations: [{ type: 'compaction', input_tokens: 9000, output_tokens: 400 }, { type: 'message', input_tokens: 10, output_tokens: 3 }, null, 5] };
    const reading = body({ type: 'message', id: 'm', model: 'claude-x', content: [], usage: compacted });
    expect(reading).toMatchObject({ lines: null, usage: { inputTokens: 9010, outputTokens: 403 } });
  });
});

describe('the output of a streamed message', () => {
  const block = (content_block: object) => ({ type: 'content_block_start', index: 0, content_block });
  const piece = (one: object) => ({ type: 'content_block_delta', index: 0, delta: one });

  it('is text, thinking and the input of calls; not signatures, sealed thinking, citations and what server tools found', () => {
    const reading = read(
      namedEvents(
        start({ input_tokens: 1, output_tokens: 1 }),
        block({ type: 'thinking', thinking: '', signature: '' }),
        piece({ type: 'thinking_delta', thinking: 'ab' }),
        piece({ type: 'signature_delta', signature: 'zzzz' }),
        block({ type: 'redacted_thinking', data: 'zzzz' }),
        block({ type: 'text', text: '' }),
        piece({ type: 'text_delta', text: 'cd' }),
        piece({ type: 'citations_delta', citation: { type: 'char_location', cited_text: 'zzzz' } }),
        block({ type: 'tool_use', id: 'toolu_1', name: 'ef', input: {} }),
        piece({ type: 'input_json_delta', partial_json: '{"g":' }),
        piece({ type: 'input_json_delta', partial_json: '"h"}' }),
        block({ type: 'web_search_tool_result', tool_use_id: 't', content: [{ type: 'web_search_result', title: 'zzzz' }] }),
        block({ type: 'advisor_tool_result', content: { type: 'advisor_result', text: 'zzzz' } }),
      ),
    );
    expect(reading.output).toEqual(countsOf('ab', 'cd', 'ef', '{"g":', '"h"}'));
    expect(reading).toMatchObject({ sawOutput: true, outputPieces: 5, complete: false });
  });

  it('knows id, model and tier', () => {
    expect(read(namedEvents(start({ input_tokens: 1, output_tokens: 1, service_tier: 'standard' })))).toMatchObject({ responseId: 'msg_1', model: 'claude-x', serviceTier: 'standard', sawOutput: false });
  });

  it('is whole at `message_stop`, and only there', () => {
    expect(read(namedEvents(start({}), text('a'), delta({ output_tokens: 1 }))).complete).toBe(false);
    expect(read(namedEvents(start({}), text('a'), delta({ output_tokens: 1 }), STOP)).complete).toBe(true);
  });

  it('may end in an error, with and without the event’s name', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    for (const said of [namedEvents(error), `data: ${JSON.stringify(error)}\n\n`]) expect(read(namedEvents(start({}), text('a')), said)).toMatchObject({ sawError: true, sawOutput: true, complete: false });
  });

  it('costs nothing where the error came before any output and no end was told, and what was told else', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const begun = start({ input_tokens: 9, output_tokens: 1 });
    expect(usageOf(begun, error)).toBeNull();
    expect(usageOf(begun, text('a'), error)).toMatchObject({ inputTokens: 9, outputTokens: 0 });
    expect(usageOf(begun, delta({ output_tokens: 3 }), error)).toMatchObject({ inputTokens: 9, outputTokens: 3 });
  });

  it('is read without spaces and names, between comments, and with events named in `event` only', () => {
    const pieces = [start({ input_tokens: 3, output_tokens: 0 }), text('é'), delta({ output_tokens: 2 }), STOP].map((one) => `: keep-alive\n\ndata:${JSON.stringify(one)}\r\n\r\n`);
    expect(read(...pieces)).toMatchObject({ complete: true, unreadable: false, usage: { inputTokens: 3, outputTokens: 2 } });
    expect(read('event: message_delta\ndata: {"usage":{"input_tokens":1,"output_tokens":2}}\n\nevent: message_stop\ndata: {}\n\n')).toMatchObject({ complete: true, usage: { outputTokens: 2 } });
  });

  it('survives what servers should not send', () => {
    const odd = [{ type: 'message_start' }, { type: 'message_start', message: [] }, { type: 'content_block_start', content_block: null }, { type: 'content_block_delta', delta: { text: 5, thinking: {}, partial_json: [] } }, { type: 7 }, {}, { type: '__proto__' }];
    expect(read(namedEvents(...odd))).toMatchObject({ usage: null, sawOutput: false, sawError: false, unreadable: false });
  });
});

describe('a message that is one JSON body', () => {
  const content = [{ type: 'thinking', thinking: 'ab', signature: 'zz' }, { type: 'text', text: 'cd' }, { type: 'tool_use', id: 'toolu_1', name: 'ef', input: { g: 'h' } }];

  it('tells usage, names and output', () => {
    const reading = body({ id: 'msg_2', type: 'message', role: 'assistant', model: 'claude-y', content, usage: { input_tokens: 5, cache_read_input_tokens: 6, output_tokens: 7 } });
    expect(reading).toMatchObject({ responseId: 'msg_2', model: 'claude-y', complete: true, sawOutput: true, lines: null, usage: { inputTokens: 11, cachedInputTokens: 6, outputTokens: 7 } });
    expect(reading.output).toEqual(countsOf('ab', 'cd', 'ef', '{"g":"h"}'));
  });

  it('may be an error', () => {
    expect(body({ type: 'error', error: { type: 'invalid_request_error', message: 'x' }, request_id: 'r' })).toMatchObject({ sawError: true, sawOutput: false, usage: null, complete: true });
  });
});

describe.skipIf(cases === null)(`faults that users reported${WHERE}`, () => {
  const CASES = ['envoyproxy/ai-gateway#2290', 'maximhq/bifrost#5355'];
  const found = (id: string): Case => cases!.get(id)!;

  it.each(CASES)('%s, cut anywhere', (id) => {
    const { input, expected } = found(id);
    const stream = Buffer.from((input.response_chunks ?? []).join(''));
    for (let cut = 0; cut <= stream.length; cut++) {
      const reading = read(stream.subarray(0, cut), stream.subarray(cut));
      expect(totalsOf(reading)).toMatchObject(Object.fromEntries(Object.entries(expected).filter(([, value]) => typeof value === 'number')));
      expect(reading.complete).toBe(true);
    }
  });
});

describe.skipIf(cases === null)(`recorded messages${WHERE}`, () => {
  const files = recordings(/^anthropic\//);
  /** Longer recordings are cut at as many places as keep this file quick. */
  const EVERY_BYTE_UP_TO = 4_000;

  it('are there', () => {
    expect(files.length).toBeGreaterThan(8);
  });

  it.each(files.map((one) => [one.file, one] as const))('%s: totals, output and end at every cut', (_, { bytes, expected, chars }) => {
    const whole = read(bytes);
    expect(totalsOf(whole)).toMatchObject(expected);
    expect(whole).toMatchObject({ complete: true, unreadable: false, sawError: false });
    if (chars > 0) expect(whole.sawOutput).toBe(true);
    const figures = figuresOf(whole);
    const step = bytes.length <= EVERY_BYTE_UP_TO ? 1 : Math.ceil(bytes.length / 700);
    for (let cut = 0; cut <= bytes.length; cut += step) {
      const reading = read(bytes.subarray(0, cut), bytes.subarray(cut));
      if (figuresOf(reading) !== figures) expect.fail(`other figures when cut at ${cut}`);
    }
  });

  it('bill the advisor’s model apart', () => {
    const { lines, model } = read(files.find(({ file }) => file.includes('advisor'))!.bytes);
    expect(lines?.map(({ model: name, kind, tokens }) => [name === model, kind, tokens])).toEqual([[true, 'input', 2411], [true, 'output', 98], [true, 'reasoning', 47], [false, 'input', 2543], [false, 'output', 18]]);
  });
});
