import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStreamFrames } from '../../src/wire/stream/eventstream.js';
import { EventStreamReader } from '../../src/wire/stream/eventstream-reader.js';
import { ConverseAnswer } from '../../src/wire/bedrock/converse-answer.js';
import { eventStream } from '../support/framing.js';

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
