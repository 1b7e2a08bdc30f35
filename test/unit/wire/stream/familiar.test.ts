import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/wire/json/json.js';
import { OpenAiAnswer } from '../../../../src/wire/openai/answer.js';
import { responseReader } from '../../../../src/wire/stream/reader.js';
import { countsOf, event, feed, said, USAGE } from '../feed.js';

function read(pieces: readonly (Buffer | string)[]): OpenAiAnswer {
  const answer = new OpenAiAnswer();
  feed(responseReader(answer, { framing: 'sse', hideUsage: false }), pieces);
  return answer;
}

/** How often a part was taken, in whatever way, while the second of these came. */
function takenOf(first: readonly string[], second: readonly string[]): number {
  let taken = 0;
  class Counted extends OpenAiAnswer {
    override take(part: JsonObject): void {
      taken++;
      super.take(part);
    }
  }
  const reader = responseReader(new Counted(), { framing: 'sse', hideUsage: false });
  for (const piece of first) reader.push(Buffer.from(piece));
  taken = 0;
  for (const piece of second) reader.push(Buffer.from(piece));
  return taken;
}

const one = event(said('one'));

describe('an event that differs from one before in its text only', () => {
  it('is counted, and not parsed', () => {
    expect(takenOf([one], [event(said('two')), event(said('"drei"\n')), event(said('四'))])).toBe(0);
    const answer = read([one, event(said('two')), event(said('"drei"\n')), event(said('四'))]);
    expect(answer.output).toEqual(countsOf('onetwo"drei"\n四'));
    expect(answer).toMatchObject({ outputPieces: 4, sawOutput: true, unreadable: false });
  });

  it('is so in chunks of any size', () => {
    const bytes = Buffer.from(one + event(said('two')) + event(said('three')));
    for (const size of [1, 7, 64, 600]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
      expect(read(pieces).output).toEqual(countsOf('onetwothree'));
    }
  });

  it('may differ in what nobody looks at too: times, numbers, padding', () => {
    const padded = (content: string, more: object) => event({ ...(said(content) as object), ...more });
    const seen = [padded('a', { created: 1, obfuscation: 'xy' }), padded('b', { created: 2, obfuscation: 'z' })];
    expect(takenOf(seen, [padded('c', { created: 1.5e9, obfuscation: '' }), padded('d', { created: -0.5, obfuscation: 'é"' })])).toBe(0);
  });

  it.each([
    ['another model', { ...(said('b') as object), model: 'n' }],
    ['usage', { ...(said('b') as object), usage: USAGE.usage }],
    ['an empty text', said('')],
    ['a reason to end', { id: 'c1', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: { content: 'b' }, finish_reason: 'stop' }] }],
  ])('is no such event if it has %s', (_, part) => {
    expect(takenOf([one], [event(part)])).toBeGreaterThan(0);
  });

  it.each(['\\n\\t\\"\\\\\\/', 'a\\u00e9\\n', '\\ud83d\\ude00', 'é\\n'])('may have escapes: %s', (text) => {
    const answer = read([one, one.replace('one', text)]);
    expect(answer).toMatchObject({ unreadable: false, outputPieces: 2 });
    expect(answer.output).toEqual(countsOf(`one${JSON.parse(`"${text}"`) as string}`));
  });

  it.each(['"\n"', '\\x', '\\u12', 'a\tb'])('is no such event if its text is no JSON: %j', (text) => {
    const answer = read([one, one.replace('one', text)]);
    expect(answer).toMatchObject({ unreadable: true, outputPieces: 1 });
  });

  it.each(['01', '1.', '-', '1e', '.5', '+1', '1 2'])('is no such event if a number is none: %s', (number) => {
    const timed = event({ created: 17, ...(said('a') as object) });
    expect(read([timed, timed.replace('17', '18'), timed.replace('17', '19'), timed.replace('17', number)])).toMatchObject({ unreadable: true, outputPieces: 3 });
  });

  it('tells what it tells also where others came between', () => {
    const running = (content: string, tokens: number) => event({ ...(said(content) as object), usage: { prompt_tokens: 5, completion_tokens: tokens } });
    expect(read([running('a', 1), running('b', 2), running('c', 1)]).usage).toMatchObject({ outputTokens: 1 });
  });
});
