import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResponseReading } from '../../src/domain/wire.js';
import { openaiChat, openaiCompletions } from '../../src/wire/openai/openai.js';
import { applySplices } from '../../src/wire/json/splice.js';
import { fixtures } from '../unit/wire/handed.js';
import { feed, said, sseReader, USAGE } from '../unit/wire/feed.js';

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const harmless = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }).map((text) => JSON.stringify(said(text))),
  fc.constantFrom(
    JSON.stringify({ choices: [], prompt_filter_results: [] }),
    JSON.stringify({ choices: [], usage: null }),
    JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: USAGE.usage }),
    JSON.stringify({ usage: USAGE.usage }),
    '{"choices":[],"usage":{',
    '[DONE]',
    '',
  ),
);

interface Piece {
  readonly text: string;
  readonly hidden: boolean;
}

const piece: fc.Arbitrary<Piece> = fc.oneof(
  fc.tuple(harmless, lineEnd, fc.constantFrom('data: ', 'data:')).map(([data, end, field]) => ({ text: `${field}${data}${end}${end}`, hidden: false })),
  fc.tuple(lineEnd, fc.constantFrom('data: ', 'data:')).map(([end, field]) => ({ text: `${field}${JSON.stringify(USAGE)}${end}${end}`, hidden: true })),
  lineEnd.map((end) => ({ text: `: keep-alive${end}${end}`, hidden: false })),
);

/** Cuts bytes at the given places (each taken modulo the length). */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return at.map((end, index) => bytes.subarray(index === 0 ? 0 : at[index - 1], end));
}

const places = fc.array(fc.nat(1_000_000), { maxLength: 40 });

function expectSane({ usage, output }: ResponseReading): void {
  for (const count of [...Object.values(usage ?? {}), ...Object.values(output)] as number[]) {
    expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
  }
}

describe('a stream cut anywhere', () => {
  it('loses exactly its usage events when they are hidden', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), places, (pieces, where) => {
        const bytes = Buffer.from(pieces.map(({ text }) => text).join(''));
        const kept = pieces.filter(({ hidden }) => !hidden).map(({ text }) => text).join('');
        expect(feed(sseReader(true), cut(bytes, where)).toString()).toBe(kept);
        expect(feed(sseReader(false), cut(bytes, where)).equals(bytes)).toBe(true);
      }),
      { numRuns: 1500 },
    );
  });

  it('tells the same as when it is whole', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), places, (pieces, where) => {
        const bytes = Buffer.from(pieces.map(({ text }) => text).join(''));
        const [whole, pieced] = [sseReader(), sseReader(true)];
        feed(whole, [bytes]);
        feed(pieced, cut(bytes, where));
        const facts = ({ usage, model, output, sawOutput, sawError, complete, unreadable }: ResponseReading) => ({ usage, model, output, sawOutput, sawError, complete, unreadable });
        expect(facts(pieced.reading)).toEqual(facts(whole.reading));
        expectSane(whole.reading);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('garbage', () => {
  const base = fixtures.length > 0 ? fixtures.map(({ bytes }) => bytes) : [Buffer.from(`data: ${JSON.stringify(USAGE)}\n\n`)];
  const mutated = fc.tuple(fc.constantFrom(...base), fc.array(fc.tuple(fc.nat(1_000_000), fc.nat(255)), { maxLength: 30 })).map(([bytes, changes]) => {
    const copy = Buffer.from(bytes);
    for (const [at, byte] of changes) copy[at % copy.length] = byte;
    return copy;
  });
  const random = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));

  it('from an upstream: never throws, never counts below zero, never changes a byte', () => {
    fc.assert(
      fc.property(fc.oneof(mutated, random), places, fc.constantFrom('sse' as const, 'json' as const), (bytes, where, framing) => {
        const reader = openaiChat.responseReader({ framing, hideUsage: false });
        expect(feed(reader, cut(bytes, where)).equals(bytes)).toBe(true);
        expectSane(reader.reading);
        const hiding = openaiChat.responseReader({ framing, hideUsage: true });
        expect(feed(hiding, cut(bytes, where)).length).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: 600 },
    );
  });

  const field = fc.constantFrom('model', 'messages', 'prompt', 'stream', 'stream_options', 'max_tokens', 'n', 'tools', 'response_format', 'content', 'role', 'tool_calls');
  const request = fc.oneof(random, fc.json().map((text) => Buffer.from(text)), fc.dictionary(field, fc.jsonValue()).map((value) => Buffer.from(JSON.stringify(value))), fc.record({ model: fc.constant('m'), messages: fc.array(fc.dictionary(fc.constantFrom('role', 'content', 'tool_calls', 'name', 'x'), fc.jsonValue())), prompt: fc.jsonValue() }).map((value) => Buffer.from(JSON.stringify(value))));

  it('from a client: never throws, never counts below zero', () => {
    fc.assert(
      fc.property(request, fc.constantFrom(openaiChat, openaiCompletions), (bytes, api) => {
        const parsed = api.parseRequest(bytes);
        applySplices(bytes, api.askForUsage(bytes));
        if (!parsed.ok) expect(parsed.fault.message.length).toBeGreaterThan(10);
        else {
          for (const count of Object.values(parsed.facts.prompt.text)) expect(count).toBeGreaterThanOrEqual(0);
          expect(parsed.facts.choices).toBeGreaterThanOrEqual(1);
        }
      }),
      { numRuns: 1500 },
    );
  });
});
