import { EventStreamCodec } from '@smithy/eventstream-codec';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Framing, ResponseReader } from '../../../src/domain/wire.js';
import { routeOf } from '../../../src/wire/routes.js';
import { restOfEvent } from '../../../src/wire/stream/rest-of-event.js';
import { eventStream, jsonList, ndjson, sseStream } from '../../support/framing.js';

const ENDING = { requestId: 'r-1', why: 'reclaimed', message: 'It was ended.' } as const;

function apiAt(path: string) {
  const route = routeOf('POST', path);
  if (route.kind !== 'metered') throw new Error(path);
  return route.api;
}

const said = (n: number) => ({ choices: [{ index: 0, delta: { content: `piece ${n} {"\\n` } }] });
const many = <T>(make: (n: number) => T): T[] => [0, 1, 2, 3].map(make);

/** A stream of each framing, and how its client reads what it got: the values of all its parts. Throws where something is no part. */
const FRAMINGS: Record<Framing, { path: string; stream: Buffer; read(bytes: Buffer): unknown[] }> = {
  sse: {
    path: '/v1/chat/completions', stream: sseStream(many((n) => ({ data: said(n) }))),
    read: (bytes) => bytes.toString().split(/\r?\n\r?\n/).filter((event) => event !== '').map((event) => JSON.parse(event.replace(/^data: /, '')) as unknown),
  },
  ndjson: {
    path: '/api/chat', stream: ndjson(many((n) => ({ message: { content: `piece ${n}` }, done: false }))),
    read: (bytes) => bytes.toString().trimEnd().split('\n').map((line) => JSON.parse(line) as unknown),
  },
  json: {
    path: '/v1beta/models/g:streamGenerateContent', stream: jsonList(many((n) => ({ candidates: [{ content: { parts: [{ text: `}], ${n}` }] } }] }))),
    read: (bytes) => JSON.parse(bytes.toString()) as unknown[],
  },
  eventstream: {
    path: '/model/m/converse-stream', stream: eventStream(many((n) => ({ type: 'contentBlockDelta', payload: { delta: { text: `piece ${n}` } } }))),
    read: framesOf,
  },
};

function framesOf(bytes: Buffer): unknown[] {
  const codec = new EventStreamCodec(toUtf8, fromUtf8);
  const values: unknown[] = [];
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
    const { headers, body } = codec.decode(bytes.subarray(at, at + bytes.readUInt32BE(at)));
    values.push({ ...(JSON.parse(toUtf8(body)) as object), exception: headers[':exception-type']?.value });
  }
  return values;
}

function readerAt(framing: Framing, hideUsage = false): ResponseReader {
  return apiAt(FRAMINGS[framing].path).responseReader({ framing, hideUsage });
}

describe.each(Object.keys(FRAMINGS) as Framing[])('a stream that is ended, %s', (framing) => {
  const { path, stream, read } = FRAMINGS[framing];
  const last = apiAt(path).endEvent(ENDING);

  it('cut anywhere, in chunks of any size: what the client gets is whole parts and the error', () => {
    fc.assert(fc.property(fc.nat(stream.length - 2), fc.integer({ min: 1, max: 40 }), fc.boolean(), (cut, size, hideUsage) => {
      const reader = readerAt(framing, hideUsage);
      const got: Buffer[] = [];
      let at = 0;
      for (; at < cut; at += size) got.push(reader.push(stream.subarray(at, Math.min(cut, at + size))));
      at = Math.min(cut, at);
      for (; reader.midEvent && at < stream.length; at += size) got.push(restOfEvent(reader, framing, stream.subarray(at, at + size)));
      const end = reader.endWith(last);
      // The list may have come to its own end.
      if (end === null) expect(read(Buffer.concat(got)).length).toBe(4);
      else {
        const parts = read(Buffer.concat([...got, end]));
        expect(parts.at(-1)).toMatchObject({ tokenweir: { reason: 'stream_ended', why: 'reclaimed', requestId: 'r-1' } });
        expect(parts.slice(0, -1)).toEqual(read(stream).slice(0, parts.length - 1));
        // Counted is what the client got.
        expect(reader.reading.outputPieces).toBe(parts.length - 1);
      }
    }), { numRuns: 400 });
  });

  it('before its first byte', () => {
    const end = readerAt(framing).endWith(last)!;
    expect(read(end)).toMatchObject([{ tokenweir: { reason: 'stream_ended' } }]);
  });
});

describe('within an event', () => {
  it('events and lines are closed; within a frame or a part of a list nothing can be said', () => {
    const begun = (framing: Framing): ResponseReader => {
      const reader = readerAt(framing);
      reader.push(FRAMINGS[framing].stream.subarray(0, 20));
      expect(reader.midEvent).toBe(true);
      return reader;
    };
    const end = (framing: Framing) => begun(framing).endWith(apiAt(FRAMINGS[framing].path).endEvent(ENDING));
    expect(String(end('sse'))).toMatch(/^\n\ndata: \{"error"/);
    expect(String(end('ndjson'))).toMatch(/^\n\{"error"/);
    expect(end('eventstream')).toBeNull();
    expect(end('json')).toBeNull();
  });

  it('what is no event stream has no place for a frame', () => {
    const reader = readerAt('eventstream');
    reader.push(Buffer.alloc(64, 1));
    expect(reader.endWith(apiAt('/model/m/converse-stream').endEvent(ENDING))).toBeNull();
  });
});

describe("each API's own words", () => {
  const CASES: [path: string, name: string | null, data: object][] = [
    ['/v1/chat/completions', null, { error: { message: 'It was ended.', type: 'server_error', code: 'stream_ended', param: null } }],
    ['/v1/completions', null, { error: { code: 'stream_ended' } }],
    ['/completion', null, { error: { code: 'stream_ended' } }],
    ['/v1/responses', 'error', { type: 'error', code: 'stream_ended', message: 'It was ended.', error: { code: 'stream_ended' } }],
    ['/v1/messages', 'error', { type: 'error', error: { type: 'overloaded_error', message: 'It was ended.' }, request_id: 'r-1' }],
    ['/v1beta/models/g:streamGenerateContent', null, { error: { code: 503, status: 'UNAVAILABLE', message: 'It was ended.' } }],
    ['/api/generate', null, { error: 'It was ended.' }],
    ['/model/m/invoke-with-response-stream', null, { message: 'It was ended.' }],
  ];
  it.each(CASES)('%s', (path, name, data) => {
    const event = apiAt(path).endEvent(ENDING);
    expect(event.name).toBe(name);
    expect(event.data).toMatchObject(data);
    expect(event.data).toHaveProperty('tokenweir');
  });
});
