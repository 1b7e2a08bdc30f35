import { EventStreamCodec } from '@smithy/eventstream-codec';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { EventStreamFrames, MAX_FRAME_BYTES, type EventFrame } from '../../../src/wire/stream/eventstream.js';
import { eventStream } from '../../support/framing.js';

const FOLDER = fileURLToPath(new URL('../../../../shared/fixtures/aws-eventstream-framing/', import.meta.url));
const HANDED = existsSync(FOLDER) ? readdirSync(FOLDER) : [];
const WHERE = HANDED.length === 0 ? ' (skipped: ../shared is missing)' : '';
const REJECTED = /^(corrupted_|duplicate_header|invalid_headers_length)/;
const GOOD = eventStream([{ type: 'after', payload: { a: 1 } }]);

interface Told {
  readonly event: string | null;
  readonly kind: EventFrame['kind'];
  readonly payload: string;
}

/** What comes out, with the payloads copied: they are valid until the next push only. */
function framesOf(pieces: readonly Buffer[]): { frames: Told[]; failed: boolean; atEnd: boolean } {
  const reader = new EventStreamFrames();
  const frames = pieces.flatMap((piece) => reader.push(piece).map(({ payload, ...told }) => ({ ...told, payload: payload.toString() })));
  return { frames, failed: reader.failed, atEnd: reader.atEnd };
}

/** A prelude with a right checksum, whatever it says. */
function prelude(length: number, headers: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(length, 0);
  bytes.writeUInt32BE(headers, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  return bytes;
}

/** A frame with right checksums around any header bytes. */
function frameAround(headers: Buffer, payload = Buffer.from('{}')): Buffer {
  const body = Buffer.concat([prelude(16 + headers.length + payload.length, headers.length), headers, payload]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([body, sum]);
}

describe.skipIf(HANDED.length === 0)(`frames of an AWS event stream that were handed${WHERE}`, () => {
  it('are there', () => {
    expect(HANDED.length).toBeGreaterThan(10);
  });

  it.each(HANDED)('%s: taken or refused as it should, at every cut and byte by byte', (file) => {
    const bytes = Buffer.concat([readFileSync(FOLDER + file), GOOD]);
    const cuts = Array.from({ length: bytes.length }, (_, cut) => [bytes.subarray(0, cut), bytes.subarray(cut)]);
    for (const pieces of [...cuts, Array.from(bytes, (byte) => Buffer.from([byte]))]) {
      const { frames, failed } = framesOf(pieces);
      expect(failed).toBe(REJECTED.test(file));
      expect(frames.map(({ event }) => event === 'after')).toEqual(failed ? [] : [false, true]);
    }
  });

  it('tell what they hold', () => {
    const first = (file: string) => framesOf([readFileSync(FOLDER + file)]).frames[0];
    expect(first('payload_no_headers.bin')).toEqual({ event: null, kind: 'event', payload: "{'foo':'bar'}" });
    expect(first('empty_message.bin')).toEqual({ event: null, kind: 'event', payload: '' });
    expect(first('error_event_message.bin')).toEqual({ event: 'code', kind: 'error', payload: '' });
  });

  it('corrupted_length.bin: neither waits for 16 MiB nor believes in them', () => {
    const reader = new EventStreamFrames();
    reader.push(readFileSync(`${FOLDER}corrupted_length.bin`).subarray(0, 12));
    expect(reader.failed).toBe(true);
    expect(reader.push(GOOD)).toEqual([]);
  });
});

describe('frames of an AWS event stream', () => {
  it('tells an exception by its type', () => {
    const text = (value: string) => ({ type: 'string' as const, value });
    const headers = { ':message-type': text('exception'), ':exception-type': text('throttlingException') };
    const bytes = new EventStreamCodec(toUtf8, fromUtf8).encode({ headers, body: fromUtf8('{"message":"m"}') });
    expect(framesOf([Buffer.from(bytes)]).frames).toEqual([{ event: 'throttlingException', kind: 'exception', payload: '{"message":"m"}' }]);
  });

  it('passes over a frame that is too long to be read, and reads on behind it', () => {
    const long = eventStream([{ type: 'long', payload: 'x'.repeat(MAX_FRAME_BYTES) }]);
    const bytes = Buffer.concat([GOOD, long, GOOD]);
    for (const size of [1000, 65_536, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
      const { frames, failed, atEnd } = framesOf(pieces);
      expect({ events: frames.map(({ event }) => event), failed, atEnd }).toEqual({ events: ['after', 'after'], failed: false, atEnd: true });
    }
  });

  it.each([
    ['shorter than its own frame', prelude(15, 0)],
    ['shorter than its headers', prelude(100, 85)],
    ['with more headers than AWS allows', prelude(300_000, 128 * 1024 + 1)],
    ['longer than AWS allows', prelude(24 * 1024 * 1024 + 17, 0)],
    ['of 4 GiB', prelude(0xffffffff, 0)],
  ])('refuses a frame %s, though its checksum is right', (_name, bytes) => {
    expect(framesOf([bytes])).toMatchObject({ frames: [], failed: true });
  });

  it.each([
    ['a name that runs into the payload', '0a61'],
    ['a text that runs into the payload', '0161070004'],
    ['no length of a text', '01610700'],
    ['an unknown type', '01610a'],
    ['the name of a prototype twice', '095f5f70726f746f5f5f00095f5f70726f746f5f5f00'],
    ['no type', '0161'],
  ])('refuses headers with %s', (_name, hex) => {
    expect(framesOf([frameAround(Buffer.from(hex, 'hex'), Buffer.from('payload payload'))])).toMatchObject({ frames: [], failed: true });
  });

  it('takes a truth value and an empty name for what they are', () => {
    expect(framesOf([frameAround(Buffer.from('01610000' + '00', 'hex'))]).failed).toBe(false);
    expect(framesOf([frameAround(Buffer.from('0b3a6576656e742d7479706500', 'hex'))]).frames).toEqual([{ event: null, kind: 'event', payload: '{}' }]);
  });

  it('knows whether something is missing', () => {
    expect(framesOf([GOOD.subarray(0, 5)]).atEnd).toBe(false);
    expect(framesOf([GOOD.subarray(0, -1)]).atEnd).toBe(false);
    expect(framesOf([GOOD]).atEnd).toBe(true);
    expect(framesOf([]).atEnd).toBe(true);
  });
});
