import { describe, expect, it } from 'vitest';
import { MAX_EVENT_BYTES, MAX_HELD_BYTES } from '../../../src/wire/stream/sse-reader.js';
import { countsOf, DONE, event, feed, said, sseReader, USAGE } from './feed.js';

describe('reading a stream', () => {
  it('passes the very same buffer when nothing is hidden', () => {
    const chunk = Buffer.from('data: {"half');
    expect(sseReader().push(chunk)).toBe(chunk);
  });

  it('passes the very same buffer while hiding, when it holds whole events', () => {
    const chunk = Buffer.from(event(said('a')) + event(said('b')));
    expect(sseReader(true).push(chunk)).toBe(chunk);
  });

  it('counts all kinds of output text of all choices', () => {
    const reader = sseReader();
    const delta = { content: 'ab', reasoning_content: 'cd', reasoning: 'cd', refusal: 'ef', tool_calls: [{ function: { name: 'g', arguments: '{}' } }], function_call: { name: 'h', arguments: 'i' } };
    feed(reader, [event({ choices: [{ delta }, { delta: { content: 'jk' } }, { text: 'lm' }] })]);
    expect(reader.reading.output).toEqual(countsOf('abcdefg{}hijklm'));
    expect(reader.reading.sawOutput).toBe(true);
  });

  it('counts a call of a tool that takes any text', () => {
    const reader = sseReader();
    feed(reader, [event({ choices: [{ delta: { tool_calls: [{ type: 'custom', custom: { name: 'g', input: 'print' } }] } }] })]);
    expect(reader.reading.output).toEqual(countsOf('gprint'));
  });

  it.each(['', '\n', '\n\n'])('reads a JSON body that is only called a stream, with %j at its end', (end) => {
    const body = JSON.stringify({ model: 'm', choices: [{ message: { content: 'ab' }, finish_reason: 'stop' }], usage: { prompt_tokens: 3, completion_tokens: 1 } }, null, 1) + end;
    for (const hide of [false, true]) {
      const reader = sseReader(hide);
      expect(feed(reader, [body.slice(0, 9), body.slice(9)].map((piece) => Buffer.from(piece))).toString()).toBe(body);
      expect(reader.reading).toMatchObject({ usage: { inputTokens: 3, outputTokens: 1 }, sawOutput: true, complete: true });
    }
    const lines = sseReader();
    feed(lines, [Buffer.from('{"a":1}\n{"b":2}\n')]);
    expect(lines.reading.unreadable).toBe(true);
  });

  it('does not take a role for output', () => {
    const reader = sseReader();
    feed(reader, [event({ choices: [{ delta: { role: 'assistant', content: '' } }] })]);
    expect(reader.reading.sawOutput).toBe(false);
  });

  it('knows model, tier, and the end', () => {
    const reader = sseReader();
    reader.push(Buffer.from(event({ model: '', choices: [] }) + event({ model: 'gpt-y', service_tier: 'flex', choices: [] })));
    expect(reader.reading).toMatchObject({ model: 'gpt-y', serviceTier: 'flex', complete: false, usage: null });
    reader.push(Buffer.from(DONE));
    expect(reader.reading.complete).toBe(true);
  });

  it.each(['\n', '\r\n', '\r'])('reads events with line ends %j, comments, names, and several data lines', (lineEnd) => {
    const reader = sseReader();
    const text = [': hello', '', 'retry: 5', 'event: x', 'data:{"choices":[],', 'data: "usage":{"prompt_tokens":3,"completion_tokens":1}}', '', ': bye', '', ''].join(lineEnd);
    feed(reader, [text]);
    expect(reader.reading.usage).toMatchObject({ inputTokens: 3, outputTokens: 1 });
    expect(reader.reading.unreadable).toBe(false);
  });

  it('skips a byte order mark', () => {
    const reader = sseReader();
    feed(reader, ['\uFEFF' + event(USAGE)]);
    expect(reader.reading.usage?.inputTokens).toBe(8);
  });

  it('sees an error event in a 200, in both of its forms', () => {
    const named = sseReader();
    feed(named, ['event: error\ndata: {"message":"x"}\n\n']);
    const member = sseReader();
    feed(member, [event(said('a')), event({ error: { message: 'overloaded' } })]);
    expect([named.reading.sawError, member.reading.sawError]).toEqual([true, true]);
    expect(member.reading.complete).toBe(false);
  });

  it('reads on after garbage', () => {
    const reader = sseReader();
    feed(reader, ['data: {"no json\n\n', 'data: 5\n\n', event(USAGE), DONE]);
    expect(reader.reading).toMatchObject({ unreadable: true, complete: true, usage: { inputTokens: 8 } });
  });

  it('is complete at the end after final usage, not after running totals', () => {
    const running = sseReader();
    feed(running, [event({ ...(said('a') as object), usage: { prompt_tokens: 5, completion_tokens: 1 } })]);
    expect(running.reading).toMatchObject({ complete: false, usage: { inputTokens: 5, outputTokens: 1 } });
    const final = sseReader();
    feed(final, [event({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 5, completion_tokens: 1 } })]);
    expect(final.reading.complete).toBe(true);
  });
});

describe('an endless line', () => {
  it('passes, is marked, and the next event is read', () => {
    const reader = sseReader();
    const piece = Buffer.alloc(MAX_EVENT_BYTES / 4, 0x61);
    for (let i = 0; i < 10; i++) expect(reader.push(piece)).toBe(piece);
    expect(reader.reading.unreadable).toBe(true);
    feed(reader, ['\n\n', event(USAGE)]);
    expect(reader.reading.usage?.inputTokens).toBe(8);
  });

  it('is held back only up to its bound while hiding, and no byte is lost', () => {
    const reader = sseReader(true);
    const piece = Buffer.alloc(MAX_HELD_BYTES / 2, 0x61);
    expect(reader.push(piece).length).toBe(0);
    expect(reader.push(piece).length).toBe(0);
    expect(reader.push(piece).length).toBe(3 * piece.length);
    expect(reader.push(piece).length).toBe(piece.length);
    const rest = Buffer.concat([Buffer.alloc(2 * MAX_EVENT_BYTES, 0x62), Buffer.from('\n\n')]);
    expect(reader.push(rest).equals(rest)).toBe(true);
    expect(reader.push(Buffer.from(event(USAGE))).length).toBe(0);
  });

  it('loses nothing of a held start when its rest comes in one large chunk', () => {
    const reader = sseReader(true);
    const start = Buffer.alloc(1000, 0x61);
    const rest = Buffer.concat([Buffer.alloc(2 * MAX_EVENT_BYTES, 0x62), Buffer.from('\n\n')]);
    const passed = Buffer.concat([reader.push(start), reader.push(rest), reader.end()]);
    expect(passed.equals(Buffer.concat([start, rest]))).toBe(true);
    expect(reader.reading.unreadable).toBe(true);
  });
});

describe('hiding the usage event', () => {
  const azureFirst = event({ choices: [], prompt_filter_results: [{}] });
  const azureNull = event({ choices: [], usage: null });
  const finish = event({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 8, completion_tokens: 2 } });

  it('withholds that event alone', () => {
    const reader = sseReader(true);
    const passed = feed(reader, [azureFirst, azureNull, event(said('é')), finish, event(USAGE), DONE]);
    expect(passed.toString()).toBe(azureFirst + azureNull + event(said('é')) + finish + DONE);
    expect(reader.reading).toMatchObject({ complete: true, usage: { inputTokens: 8, outputTokens: 2 } });
  });

  it('withholds it also as the last event without a blank line', () => {
    const reader = sseReader(true);
    expect(feed(reader, [event(said('a')), `data: ${JSON.stringify(USAGE)}`]).toString()).toBe(event(said('a')));
    expect(reader.reading.complete).toBe(true);
  });

  it.each([{ index: 0, delta: {} }, { index: 0, delta: { content: '' }, finish_reason: null }, { index: 0, text: '', logprobs: null, finish_reason: null }])(
    'withholds it also where a choice that says nothing stands beside it, as LiteLLM sends it: %j',
    (choice) => {
      const reader = sseReader(true);
      const passed = feed(reader, [event(said('a')), finish, event({ ...USAGE, choices: [choice] }), DONE]);
      expect(passed.toString()).toBe(event(said('a')) + finish + DONE);
      expect(reader.reading).toMatchObject({ complete: true, usage: { inputTokens: 8, outputTokens: 2 } });
    },
  );

  it('withholds no event that says something beside usage, and none before the end was told', () => {
    const opening = event({ ...USAGE, choices: [{ index: 0, delta: {} }] });
    const late = event({ ...USAGE, choices: [{ index: 0, delta: { content: 'b' } }] });
    const ending = event({ ...USAGE, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    expect(feed(sseReader(true), [opening, finish, late, ending]).toString()).toBe(opening + finish + late + ending);
  });

  it.each([
    ['comes in one piece', 0],
    ['begins with a held piece', 7],
  ])('passes an event that is too long to be read, also where it %s', (_, held) => {
    const long = Buffer.from(`data: ${'x'.repeat(2_000_000)}`);
    const rest = `\n\n${event(said('a'))}${event(USAGE)}${DONE}`;
    const passed = feed(sseReader(true), [long.subarray(0, held), long.subarray(held), rest]);
    expect(passed.toString()).toBe(`${long.toString()}\n\n${event(said('a'))}${DONE}`);
  });

  it('gives back the half event that a stream ends with', () => {
    expect(feed(sseReader(true), [event(said('a')), 'data: {"choi']).toString()).toBe(`${event(said('a'))}data: {"choi`);
  });

  it('does not hide when not told to', () => {
    expect(feed(sseReader(false), [event(USAGE), DONE]).toString()).toBe(event(USAGE) + DONE);
  });

  it.each(['\n', '\r\n', '\r'])('keeps further blank lines after it, line ends %j, cut anywhere', (lineEnd) => {
    const before = event(said('é😀'), lineEnd);
    const after = `${lineEnd}: note${lineEnd}${lineEnd}data: [DONE]${lineEnd}${lineEnd}`;
    const stream = Buffer.from(before + event(USAGE, lineEnd) + after);
    for (let cut = 0; cut <= stream.length; cut++) {
      const passed = feed(sseReader(true), [stream.subarray(0, cut), stream.subarray(cut)]);
      expect(passed.toString()).toBe(before + after);
    }
  });
});
