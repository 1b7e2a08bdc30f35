import { describe, expect, it } from 'vitest';
import type { ResponseReading } from '../../../../src/domain/wire.js';
import { openaiChat } from '../../../../src/wire/openai/openai.js';
import { countsOf, feed, said, USAGE } from '../feed.js';
import { factsOf } from '../plain-reader.js';

function read(framing: 'json' | 'ndjson', ...pieces: readonly (string | Buffer)[]): ResponseReading {
  const reader = openaiChat.responseReader({ framing, hideUsage: true });
  const passed = feed(reader, pieces);
  expect(passed.equals(Buffer.concat(pieces.map((piece) => Buffer.from(piece))))).toBe(true);
  return reader.reading;
}

/** The same at every cut, and byte by byte. */
function expectSameCut(framing: 'json' | 'ndjson', text: string): void {
  const bytes = Buffer.from(text);
  const whole = factsOf(read(framing, bytes));
  for (let cut = 0; cut <= bytes.length; cut++) expect(factsOf(read(framing, bytes.subarray(0, cut), bytes.subarray(cut)))).toEqual(whole);
  expect(factsOf(read(framing, ...Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))))).toEqual(whole);
}

const parts = [said('a "]" \\ é'), said('😀[{'), USAGE].map((part) => JSON.stringify(part));

describe('a body that is a list of parts', () => {
  it.each([`[${parts.join(',')}]`, `\uFEFF \r\n[\n${parts.join('\n,\r\n')}\n]\n`, `[${parts.join(' , ')} ]`])('is read part by part: %#', (list) => {
    expect(read('json', list)).toMatchObject({ usage: { inputTokens: 8, outputTokens: 2 }, complete: true, unreadable: false, outputPieces: 2 });
    expect(read('json', list).output).toEqual(countsOf('a "]" \\ é😀[{'));
    expectSameCut('json', list);
  });

  it('tells what it told before it was cut', () => {
    const cut = openaiChat.responseReader({ framing: 'json', hideUsage: false });
    cut.push(Buffer.from(`[${parts[0]},${parts[2]},{"choices":[`));
    expect(cut.reading.usage).toMatchObject({ inputTokens: 8, outputTokens: 2 });
    cut.end();
    expect(cut.reading).toMatchObject({ unreadable: true, outputPieces: 1 });
  });

  it('is not complete without its closing bracket', () => {
    expect(read('json', `[${parts[0]}`)).toMatchObject({ complete: false, unreadable: false });
    expect(read('json', '[]')).toMatchObject({ complete: true, unreadable: false, usage: null });
  });

  it('may hold an error, and parts that are none', () => {
    expect(read('json', '[{"error":{"code":429}}]')).toMatchObject({ sawError: true, complete: true });
    expect(read('json', `[1,"x",[2,[3]],null,${parts[2]}]`)).toMatchObject({ unreadable: true, usage: { inputTokens: 8 } });
  });
});

describe('a body of one part a line', () => {
  it.each(['\n', '\r\n', '\n\n'])('is read line by line, the last without an end too, with line ends %j', (end) => {
    const lines = parts.join(end);
    expect(read('ndjson', lines)).toMatchObject({ usage: { inputTokens: 8, outputTokens: 2 }, unreadable: false, outputPieces: 2 });
    expectSameCut('ndjson', lines);
    expectSameCut('ndjson', lines + end);
  });

  it('is read on after garbage, and after a line that is too deep', () => {
    const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    expect(read('ndjson', `{"half\n${deep}\n5\n${parts[2]}`)).toMatchObject({ unreadable: true, usage: { inputTokens: 8 } });
  });

  it('tells its usage as soon as its line ended', () => {
    const reader = openaiChat.responseReader({ framing: 'ndjson', hideUsage: false });
    reader.push(Buffer.from(`${parts[2]}\n`));
    expect(reader.reading.usage).toMatchObject({ inputTokens: 8 });
  });
});
