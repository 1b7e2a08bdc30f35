import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStreamFrames } from '../../src/wire/stream/eventstream.js';
import { EventStreamReader } from '../../src/wire/stream/eventstream-reader.js';
import { ConverseAnswer } from '../../src/wire/bedrock/converse-answer.js';
import { ClaudeAnswer } from '../../src/wire/bedrock/claude-answer.js';
import { InvokeAnswer } from '../../src/wire/bedrock/invoke-answer.js';
import type { JsonObject } from '../../src/wire/json/json.js';
import type { Answer } from '../../src/wire/stream/answer.js';
import { eventStream, type Frame } from '../support/framing.js';
import { figuresOf } from '../unit/wire/recorded.js';

const frames = fc.array(fc.record({ type: fc.string({ maxLength: 20 }), payload: fc.jsonValue() }), { maxLength: 6 });
const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 20 });

function pieces(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const cut: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = lengths[i % lengths.length]!;
    cut.push(bytes.subarray(at, at + length));
    at += length;
  }
  return cut;
}

function told(parts: readonly Buffer[]): string[] {
  const reader = new EventStreamFrames();
  return parts.flatMap((part) => reader.push(part).map(({ event, kind, payload }) => `${kind} ${event} ${payload.toString()}`));
}

describe('an AWS event stream', () => {
  it('gives the same frames however it is cut', () => {
    fc.assert(
      fc.property(frames, sizes, (sent, lengths) => {
        const bytes = eventStream(sent);
        expect(told(pieces(bytes, lengths))).toEqual(sent.map(({ type, payload }) => `event ${type} ${JSON.stringify(payload)}`));
      }),
      { numRuns: 1000 },
    );
  });

  it('never gives a frame that was not sent, whatever bytes are changed, and never throws', () => {
    fc.assert(
      fc.property(frames, sizes, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 3 }), (sent, lengths, changes) => {
        const bytes = eventStream(sent);
        for (const [at, change] of changes) if (bytes.length > 0) bytes[at % bytes.length]! ^= change;
        const sentFrames = new Set(sent.map(({ type, payload }) => `event ${type} ${JSON.stringify(payload)}`));
        expect(told(pieces(bytes, lengths)).filter((frame) => !sentFrames.has(frame))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  it('passes any bytes untouched', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), sizes, (bytes, lengths) => {
        const reader = new EventStreamReader(new ConverseAnswer());
        for (const piece of pieces(Buffer.from(bytes), lengths)) expect(reader.push(piece)).toBe(piece);
        expect(reader.end()).toHaveLength(0);
      }),
      { numRuns: 1000 },
    );
  });
});

const KEYS = [
  'usage', 'metadata', 'message', 'delta', 'start', 'output', 'content', 'text', 'toolUse', 'input', 'name', 'reasoningContent', 'reasoningText', 'type', 'results', 'tokenCount', 'meta', 'tokens',
  'inputTokens', 'outputTokens', 'totalTokens', 'cacheReadInputTokens', 'cacheDetails', 'input_tokens', 'output_tokens', 'prompt_tokens', 'completion_tokens', 'choices', 'trace', 'promptRouter',
  'amazon-bedrock-invocationMetrics', 'inputTokenCount', 'outputTokenCount', 'content_block', 'partial_json', '__proto__',
];
const KINDS = ['message_start', 'message_delta', 'content_block_delta', 'content_block_start', 'message', 'message_stop', 'text', 'error'];
const anyPart = fc.letrec<{ value: unknown; part: JsonObject }>((tie) => ({
  value: fc.oneof({ maxDepth: 5 }, fc.constantFrom(null, 0, 7, -1, 1e300, 0.5, '', 'abc', 'x"\\', ...KINDS), fc.array(tie('value'), { maxLength: 3 }), tie('part')),
  part: fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 6 }) as fc.Arbitrary<JsonObject>,
})).part;

const delta = (member: (text: string) => object) => fc.tuple(fc.nat(2), fc.string(), fc.string({ maxLength: 9 })).map(([contentBlockIndex, text, p]) => ({ type: 'contentBlockDelta', payload: { contentBlockIndex, delta: member(text), p } }));
const converseFrame: fc.Arbitrary<Frame> = fc.oneof(
  { weight: 4, arbitrary: delta((text) => ({ text })) },
  { weight: 2, arbitrary: delta((text) => ({ reasoningContent: { text } })) },
  { weight: 2, arbitrary: delta((text) => ({ toolUse: { input: text } })) },
  delta((text) => ({ text, p: text })),
  fc.string().map((name) => ({ type: 'contentBlockStart', payload: { start: { toolUse: { name } } } })),
  fc.record({ inputTokens: fc.nat(99), outputTokens: fc.nat(99), cacheReadInputTokens: fc.nat(9) }).map((usage) => ({ type: 'metadata', payload: { usage } })),
  fc.constant({ type: 'messageStop', payload: { stopReason: 'end_turn' } }),
);

describe('what is read from an AWS event stream', () => {
  it('is what its parts tell one by one, whether a part is parsed or known by its shape, however the stream is cut', () => {
    fc.assert(
      fc.property(fc.array(converseFrame, { maxLength: 40 }), sizes, (sent, lengths) => {
        const plain = new ConverseAnswer();
        for (const { type, payload } of sent) plain.take(payload as JsonObject, type);
        plain.complete = plain.endsWhole();
        const reader = new EventStreamReader(new ConverseAnswer());
        for (const piece of pieces(eventStream(sent), lengths)) reader.push(piece);
        reader.end();
        expect(figuresOf(reader.reading)).toBe(figuresOf(plain));
      }),
      { numRuns: 1000 },
    );
  });

  it('is never negative, more than a whole, or an exception', () => {
    const wrapped = (part: JsonObject) => ({ bytes: Buffer.from(JSON.stringify(part)).toString('base64') });
    const check = (answer: Answer, parts: readonly JsonObject[], event: string | null) => {
      for (const part of parts) answer.take(part, event);
      const { usage } = answer;
      if (usage === null) return;
      for (const count of Object.values(usage) as number[]) expect(count).toBeGreaterThanOrEqual(0);
      expect(usage.cachedInputTokens + usage.cacheWriteTokens).toBeLessThanOrEqual(usage.inputTokens);
      expect(usage.cacheWrite1hTokens).toBeLessThanOrEqual(usage.cacheWriteTokens);
      expect(usage.reasoningTokens).toBeLessThanOrEqual(usage.outputTokens);
    };
    fc.assert(
      fc.property(fc.array(anyPart, { maxLength: 5 }), (parts) => {
        for (const event of ['metadata', 'contentBlockDelta', null]) check(new ConverseAnswer(), parts, event);
        check(new InvokeAnswer(), parts, null);
        check(new InvokeAnswer(), parts.map(wrapped), 'chunk');
        check(new ClaudeAnswer(), parts, null);
        check(new ClaudeAnswer(), parts.map(wrapped), 'chunk');
      }),
      { numRuns: 3000 },
    );
  });
});
