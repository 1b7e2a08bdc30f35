import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeHeaders } from '../../../src/extproc/decode-headers.js';
import { headersOf } from '../../../src/extproc/headers.js';
import { externalProcessorService, type EnvoyMessage } from '../../../src/extproc/protocol.js';

const { requestSerialize, requestDeserialize: general } = externalProcessorService().Process;

const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const header = fc.record({ key: text, value: text, raw_value: fc.oneof(text.map((some) => Buffer.from(some)), fc.uint8Array({ maxLength: 40 }).map((some) => Buffer.from(some))) }, { requiredKeys: ['key'] });
const headers = fc.record({ headers: fc.record({ headers: fc.array(header, { maxLength: 20 }) }), end_of_stream: fc.boolean() }, { requiredKeys: [] });
const attributes = { filter: { fields: { 'request.id': { stringValue: 'id' } } } };
const others = fc.record({ attributes: fc.constant(attributes), protocol_config: fc.constant({ request_body_mode: 'BUFFERED' as const }), observability_mode: fc.boolean() }, { requiredKeys: [] });
const message = fc.tuple(fc.constantFrom('request_headers' as const, 'response_headers' as const), headers, others).map(([kind, some, more]) => ({ [kind]: some, ...more }));

/** What the session reads of it. */
function told(decoded: EnvoyMessage) {
  const { request_headers: request, response_headers: response, ...rest } = decoded;
  const of = request ?? response;
  return { rest, headers: [...headersOf(of?.headers)], endOfStream: of?.end_of_stream };
}

describe('decoding of headers', () => {
  it('tells what the general decoder tells', () => {
    fc.assert(
      fc.property(message, (some) => {
        const bytes = requestSerialize(some);
        const decoded = decodeHeaders(bytes, general);
        expect(decoded).not.toBeNull();
        expect(told(decoded!)).toEqual(told(general(bytes)));
      }),
    );
  });

  it('leaves other messages and broken bytes to the general decoder', () => {
    expect(decodeHeaders(requestSerialize({ request_body: { body: Buffer.from('x') } }), general)).toBeNull();
    expect(decodeHeaders(Buffer.alloc(0), general)).toBeNull();
    const bytes = requestSerialize({ request_headers: { headers: { headers: [{ key: 'a', raw_value: Buffer.from('value') }] } } });
    for (let cut = 1; cut < bytes.length; cut++) expect(decodeHeaders(bytes.subarray(0, cut), general)).toBeNull();
    for (const filler of [0x80, 0xff]) expect(decodeHeaders(Buffer.concat([Buffer.from([0x12]), Buffer.alloc(9, filler)]), general)).toBeNull();
  });
});
